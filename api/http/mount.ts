import { zValidator } from '@hono/zod-validator';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import type { Scope } from '../../commands/access/authorize.ts';
import type { Loaded } from '../../commands/context.ts';
import type { AnyAggregate } from '../../domain/aggregate.ts';
import { comparePositions, PLATFORM, type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import type { Principal } from '../../domain/principal.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import type { Reads } from '../../projections/read-model.ts';
import { AS_OF_PROJECTION, assertWithinLog, resolvePosition } from './as-of.ts';
import { revisionsIn } from './etag.ts';
import { readJsonBody } from './json-body.ts';
import { pathParameters } from './json-schema.ts';
import type { Ctx } from './operation.ts';
import { isRead, needsBody, type Operation, type Operations } from './operation.ts';
import { parseOrRefuse, refusalFrom } from './problem.ts';
import type { ReadYourWrites } from './read-your-writes.ts';
import { expandPath, mutationResponse, readResponse, stateResponse } from './response.ts';

/** What one request says about itself, beside path and body. */
export type RequestInfo = {
  readonly principal: Principal;
  readonly tenant: string;
  readonly requestId: string;
  readonly ip: string | null;
  readonly userAgent: string | null;
  /** The revisions that If-Match names; '*': any, as long as there is one. */
  readonly ifMatch: readonly number[] | '*' | null;
  /** The position as of which a read looks; null: now. */
  readonly asOf?: Position | null;
  /** Fold from the log itself: the caller knows of something that this process may not have heard of yet. */
  readonly bypassCache?: boolean;
};

/** A mutation under an Idempotency-Key: the same key, route and caller name the same request. */
export type IdempotentRequest = {
  readonly key: string;
  readonly route: string;
  readonly body: Uint8Array;
  readonly oneTimeSecret: boolean;
};

/** What the platform does for the operations; infra/ puts it together. */
export type Runtime = {
  /** Finds out who asks, within their limits. @throws Refusal unauthorized and its like, rate_limited */
  readonly authenticate: (c: Context) => Promise<Principal>;
  readonly authorize: (principal: Principal, permit: Operation['permit'], place: Scope) => Promise<'guest' | undefined>;
  readonly context: (asked: RequestInfo) => Ctx;
  /** Runs a mutation once under its key; `locate` says where its result lies. */
  readonly runIdempotent: <T extends Loaded<unknown>>(
    asked: RequestInfo,
    once: IdempotentRequest,
    run: (ctx: Ctx) => Promise<T>,
    locate: (loaded: T) => string | null,
  ) => Promise<T>;
  /** Tells a tenant that a super-admin has looked into it. */
  readonly recordSuperAdminRead: (asked: RequestInfo, what: string) => Promise<void>;
  readonly address: (c: Context) => string | null;
  /** Told of an answer that had begun and could not be ended. */
  readonly onBrokenResponse: (c: Context, error: unknown) => void;
  readonly reads: Reads;
  /** Where the last event lies of an aggregate that memory holds. */
  readonly cachedPosition: (aggregate: AnyAggregate, tenant: string, id: string) => Position | null;
  /** What callers wrote last, so that they read it. */
  readonly readYourWrites: ReadYourWrites;
};

const anonymous = { kind: 'system', name: 'nobody' } as const;
const NoFields = z.strictObject({});
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

const ifMatchOf = (header: string | undefined): RequestInfo['ifMatch'] => {
  if (header === undefined) return null;
  if (header.trim() === '*') return '*';
  const revisions = revisionsIn(header.trim());
  if (revisions.length === 0) throw new Refusal('precondition_failed', 'If-Match must be the ETag of an earlier answer');
  return revisions;
};

/** Ids in a path that can't be one name nothing: 404, as for any other that is not there. */
const assertIds = (names: readonly string[], params: Record<string, string>): void => {
  for (const name of names) if (!isId25(params[name] ?? '')) throw notFound();
};

type AuthorizedRequest = {
  readonly info: RequestInfo;
  readonly params: Record<string, string>;
  /** The path's last parameter. */
  readonly id: string | undefined;
};

/**
 * The last event of what is asked for, where memory holds that and the view has not come there yet: read as of it, nobody waits for what this
 * process has written itself or heard of. Memory may lack what a token names of another process: then the view is waited for.
 */
const positionAheadOfProjection = (
  { projection, aggregate }: Operation,
  host: Runtime,
  { info, id }: AuthorizedRequest,
  token: string | undefined,
): Position | null => {
  const held = projection && aggregate && id ? host.cachedPosition(aggregate, info.tenant, id) : null;
  if (!held) return null;
  const reached = parseToken(host.reads.position(projection!) ?? '');
  if (reached && comparePositions(reached, held) >= 0) return null;
  const named = token === undefined ? held : parseToken(token);
  return named && comparePositions(named, held) <= 0 ? held : null;
};

const runRead = async (
  c: Context,
  row: Operation,
  host: Runtime,
  entered: AuthorizedRequest,
  query: { as_of?: string },
): Promise<Response> => {
  const { info, params } = entered;
  const token = c.req.header('consistency-token');
  const sent = { ...query, ...params };
  const ahead = sent.as_of === undefined ? positionAheadOfProjection(row, host, entered, token) : null;
  const rests = [row.projection, sent.as_of === undefined ? undefined : AS_OF_PROJECTION].filter((name) => name !== undefined);
  if (!ahead) await host.readYourWrites.waitForOwnWrites(info.principal, rests, token);
  const asOf = sent.as_of === undefined ? ahead : await resolvePosition(host.context(info), sent.as_of);
  const position = asOf ? tokenOf(asOf) : row.projection ? host.reads.position(row.projection) : null;
  const ctx = host.context({ ...info, asOf, bypassCache: token !== undefined });
  if (token !== undefined && rests.length === 0) await assertWithinLog(ctx, token);
  const answer = await row.run(ctx, sent as never);
  return answer && 'state' in answer ? stateResponse(c, row, answer, position) : readResponse(c, row, answer, position);
};

/** The fields that a mutation was sent, and their bytes: of an operation without fields none, of a DELETE not even read. */
const readFields = async (c: Context, row: Operation): Promise<{ fields: object; bytes: Uint8Array }> => {
  const { method, body = NoFields } = row;
  if (method === 'delete' && !row.body) return { fields: {}, bytes: new Uint8Array() };
  const { value, bytes } = await readJsonBody(c.req.raw, () => needsBody(row));
  return { fields: parseOrRefuse(body, value) as object, bytes };
};

const runMutation = async (
  c: Context,
  row: Operation,
  host: Runtime,
  { info, params }: AuthorizedRequest,
  query: object,
): Promise<Response> => {
  if (row.noETag && Array.isArray(info.ifMatch)) throw new Refusal('precondition_failed', 'this has no ETag that If-Match could name');
  const { fields, bytes } = await readFields(c, row);
  const sent = { ...query, ...fields, ...params };
  const run = async (ctx: Ctx) => (await row.run(ctx, sent as never)) as Loaded<unknown>;
  const answered = (loaded: Loaded<unknown>): Response => {
    host.readYourWrites.recordWrite(info.principal, loaded.position);
    return mutationResponse(row, params, loaded);
  };
  const key = c.req.header('idempotency-key');
  if (key === undefined) return answered(await run(host.context(info)));
  if (!IDEMPOTENCY_KEY.test(key)) throw new Refusal('malformed', 'Idempotency-Key must be 1 to 255 printable characters');
  const once = { key, route: `${row.method} ${c.req.path}`, body: bytes, oneTimeSecret: row.oneTimeSecret === true };
  const locate = (loaded: Loaded<unknown>) => (row.location ? expandPath(row.location, params, loaded.state) : null);
  return answered(await host.runIdempotent(info, once, run, locate));
};

export const requestInfoOf = (c: Context, host: Runtime, principal: Principal, tenant_id?: string): RequestInfo => ({
  principal,
  tenant: tenant_id ?? PLATFORM,
  requestId: c.get('requestId'),
  ip: host.address(c),
  userAgent: c.req.header('user-agent')?.slice(0, 512) ?? null,
  ifMatch: null,
});

/** Who asks and whether they may, before anything else of the request is looked at. */
export const authorizeRequest = (row: Pick<Operation, 'method' | 'path' | 'permit'>, host: Runtime) => {
  const names = pathParameters(row.path);
  const ids = names.filter((name) => name === 'id' || name.endsWith('_id'));
  return async (c: Context): Promise<AuthorizedRequest> => {
    const params: Record<string, string> = c.req.param();
    const principal = row.permit === 'none' ? anonymous : await host.authenticate(c);
    assertIds(ids, params);
    const as = await host.authorize(principal, row.permit, params);
    if (as === 'guest' && !isRead(row)) throw new Refusal('forbidden', 'who was let into a tenant may look, and nothing more');
    const asked = requestInfoOf(c, host, principal, params.tenant_id);
    if (as === 'guest') await host.recordSuperAdminRead(asked, `${c.req.method} ${c.req.path}`);
    return { info: isRead(row) ? asked : { ...asked, ifMatch: ifMatchOf(c.req.header('if-match')) }, params, id: params[names.at(-1)!] };
  };
};

const respond = (c: Context, row: Operation, host: Runtime, entered: AuthorizedRequest, query: object): Promise<Response> =>
  isRead(row) ? runRead(c, row, host, entered, query) : runMutation(c, row, host, entered, query);

const validateQuery = (query: z.ZodType) =>
  zValidator('query', query, (result) => {
    if (!result.success) throw refusalFrom(result.error as z.core.$ZodError, '/query');
  });

/** The query of a request against its schema; a parameter that comes twice is a list. @throws Refusal invalid */
export const parseQuery = <T extends z.ZodType>(c: Context, schema: T): z.output<T> => {
  const sent = Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] : values]);
  return parseOrRefuse(schema, Object.fromEntries(sent), '/query');
};

/** An operation without parameters takes none: what would be passed over in silence is refused. */
export const assertNoQuery = (c: Context): void => {
  if (c.req.raw.url.includes('?')) parseQuery(c, NoFields);
};

/** Gives every row of a table its route: credential, permission, validation, handler, answer. */
export const mount = (app: Hono, operations: Operations, host: Runtime): void => {
  for (const row of Object.values(operations)) {
    const enter = authorizeRequest(row, host);
    if (!row.query) {
      app.on(row.method, row.path, async (c) => {
        const entered = await enter(c);
        assertNoQuery(c);
        return respond(c, row, host, entered, {});
      });
      continue;
    }
    const bare = row.query.safeParse({});
    const entered = new WeakMap<Context, AuthorizedRequest>();
    const first: MiddlewareHandler = async (c, next) => {
      const known = await enter(c);
      // Nothing was asked for: what the schema makes of that is known.
      if (bare.success && !c.req.raw.url.includes('?')) return respond(c, row, host, known, bare.data as object);
      entered.set(c, known);
      return next();
    };
    app.on(row.method, row.path, first, validateQuery(row.query) as MiddlewareHandler, (c) =>
      respond(c, row, host, entered.get(c)!, c.req.valid('query' as never)),
    );
  }
};
