import { zValidator } from '@hono/zod-validator';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import type { Loaded } from '../../commands/context.ts';
import { comparePositions, type Position, parseToken, tokenOf } from '../../domain/event.ts';
import { invalid, Refusal } from '../../domain/refusal.ts';
import { AS_OF_PROJECTION, assertWithinLog, resolvePosition } from './as-of.ts';
import { type AuthorizedRequest, authorizeRequest } from './authorize-request.ts';
import { expandPath } from './expand-path.ts';
import { issueMessage } from './issue-message.ts';
import { readJsonBody } from './json-body.ts';
import type { Ctx } from './operation.ts';
import { isRead, needsBody, type Operation, type Operations, projectionsOf, readsBody, takesToken } from './operation.ts';
import { type MutationRow, mutationResponse, readResponse, secretResponse, stateResponse } from './response.ts';
import type { Runtime } from './runtime.ts';
import { parseOrRefuse, refusalFrom } from './validation.ts';

const NoFields = z.strictObject({});
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * Returns the position of the resource's last event in the aggregate cache if the projection has not reached this
 * position; otherwise null. If it is not null, a read can return the cached state without waiting for the projection.
 * If the request's Consistency-Token has a later position than the cache, because it comes from another process, the
 * result is null, and the read waits for the projection.
 */
const positionAheadOfProjection = (
  { projection, aggregate }: Operation,
  runtime: Runtime,
  { info, id }: AuthorizedRequest,
  token: string | undefined,
): Position | null => {
  const cached = projection && aggregate && id ? runtime.cachedPosition(aggregate, info.tenant, id) : null;
  if (!cached) return null;
  const projected = parseToken(runtime.reads.position(projection!) ?? '');
  if (projected && comparePositions(projected, cached) >= 0) return null;
  const required = token === undefined ? cached : parseToken(token);
  return required && comparePositions(required, cached) <= 0 ? cached : null;
};

/**
 * Returns the last position that all these projections have passed, as a token; null if there are no projections, or if
 * one of them has applied no event.
 */
const positionOfAll = ({ reads }: Runtime, projections: readonly string[]): string | null => {
  const tokens = projections.map((name) => reads.position(name));
  if (tokens.length === 0 || tokens.includes(null)) return null;
  return tokens.reduce((lowest, one) => (comparePositions(parseToken(one!)!, parseToken(lowest!)!) < 0 ? one : lowest));
};

const LAG_SHOWN_MS = 1_000;

/** Adds the header Projection-Lag to the response to a read if its projection is behind the log. */
const withLag = (response: Response, behindMs: number): Response => {
  if (behindMs >= LAG_SHOWN_MS) response.headers.set('projection-lag', String(Math.floor(behindMs / 1_000)));
  return response;
};

/**
 * Waits until these projections have passed the request's Consistency-Token. Without a projection, only checks the token.
 * @throws Refusal malformed, not_caught_up
 */
const waitForToken = async (runtime: Runtime, { c, info }: AuthorizedRequest, projections: readonly string[]): Promise<void> => {
  const token = c.req.header('consistency-token');
  await runtime.readYourWrites.waitForOwnWrites(info.principal, projections, token);
  if (token !== undefined && projections.length === 0) await assertWithinLog(runtime.context(info), token);
};

const runRead = async (row: Operation, runtime: Runtime, request: AuthorizedRequest, query: { as_of?: string }): Promise<Response> => {
  const { c, info, params } = request;
  const token = c.req.header('consistency-token');
  const input = { ...query, ...params };
  const ahead = input.as_of === undefined ? positionAheadOfProjection(row, runtime, request, token) : null;
  const shown = projectionsOf(row, query);
  const projections = input.as_of === undefined ? shown : [...shown, AS_OF_PROJECTION];
  if (!ahead) await waitForToken(runtime, request, projections);
  const asOf = input.as_of === undefined ? ahead : await resolvePosition(runtime.context(info), input.as_of);
  const position = asOf ? tokenOf(asOf) : positionOfAll(runtime, shown);
  const behindMs = asOf ? 0 : Math.max(0, ...shown.map(runtime.reads.behindMs));
  const ctx = runtime.context({ ...info, asOf, bypassCache: token !== undefined });
  const answer = await row.run(ctx, input);
  if (answer && 'record' in answer) return secretResponse(c, answer);
  return withLag(answer && 'state' in answer ? stateResponse(c, row, answer, position) : readResponse(c, row, answer, position), behindMs);
};

/**
 * Returns the validated fields of a mutation and the bytes of its body. A body that is a list becomes the field
 * `items`. The body of a DELETE without fields is not read.
 */
const readFields = async (
  row: Operation,
  runtime: Runtime,
  { c, info, params }: AuthorizedRequest,
): Promise<{ fields: object; bytes: Uint8Array }> => {
  const { method, body = NoFields, preauthorize } = row;
  if (!readsBody(row)) return { fields: {}, bytes: new Uint8Array() };
  let reading: ReturnType<typeof readJsonBody> | undefined;
  const read = () => {
    reading ??= readJsonBody(c.req.raw, () => needsBody(row));
    return reading;
  };
  if (preauthorize) await preauthorize(runtime.context(info), params, async () => (await read()).value);
  const { value, bytes } = await read();
  const fixedFields = method === 'patch' && row.reply instanceof z.ZodObject ? row.reply.shape : {};
  const parsed = parseOrRefuse(body, value, { fixedFields });
  return { fields: Array.isArray(parsed) ? { items: parsed } : (parsed as object), bytes };
};

/**
 * Runs a mutation and creates its response. For requests with the same Idempotency-Key, the mutation runs only once.
 * `bytes` identify the content of the request: a repeat must have the same bytes.
 */
export const runOnce = async (
  row: MutationRow & Pick<Operation, 'method' | 'oneTimeSecret'>,
  runtime: Runtime,
  { c, info, params }: AuthorizedRequest,
  { bytes, run }: { readonly bytes: Uint8Array; readonly run: (ctx: Ctx) => Promise<Loaded<unknown>> },
): Promise<Response> => {
  const respondWith = (loaded: Loaded<unknown>): Response => {
    runtime.readYourWrites.recordWrite(info.principal, loaded.position);
    return mutationResponse(row, params, loaded);
  };
  const key = c.req.header('idempotency-key');
  if (key === undefined) return respondWith(await run(runtime.context(info)));
  if (!IDEMPOTENCY_KEY.test(key)) throw new Refusal('malformed', 'Idempotency-Key must be 1 to 255 printable ASCII characters');
  const idempotent = {
    key,
    route: `${row.method} ${c.req.path}`,
    body: bytes,
    oneTimeSecret: row.oneTimeSecret === true,
    onReplay: () => c.set('isReplay', true),
  };
  const locate = (loaded: Loaded<unknown>) => (row.location ? expandPath(row.location, params, loaded.state) : null);
  return respondWith(await runtime.runIdempotent(info, idempotent, run, locate));
};

const runMutation = async (row: Operation, runtime: Runtime, request: AuthorizedRequest, query: object): Promise<Response> => {
  const { info, params } = request;
  if (row.noETag && Array.isArray(info.ifMatch))
    throw new Refusal('precondition_failed', 'This resource has no ETag: send the request without If-Match');
  const { fields, bytes } = await readFields(row, runtime, request);
  const input = { ...query, ...fields, ...params };
  if (takesToken(row)) await waitForToken(runtime, request, projectionsOf(row, query));
  const bypassCache = row.readsOnly === true && request.c.req.header('consistency-token') !== undefined;
  return runOnce(
    row,
    runtime,
    { ...request, info: { ...info, bypassCache } },
    { bytes, run: async (ctx) => (await row.run(ctx, input)) as Loaded<unknown> },
  );
};

const respond = (row: Operation, runtime: Runtime, request: AuthorizedRequest, query: object): Promise<Response> =>
  isRead(row) ? runRead(row, runtime, request, query) : runMutation(row, runtime, request, query);

const validateQuery = (query: z.ZodType) =>
  zValidator(
    'query',
    query,
    (result) => {
      if (!result.success) throw refusalFrom(result.error as z.core.$ZodError, { root: '/query' });
    },
    { validationFunction: (schema, value) => schema.safeParseAsync(value, { error: issueMessage }) },
  );

/**
 * Checks that the query does not contain the character NUL, which Postgres can neither store nor compare.
 * @throws Refusal invalid if it does
 */
const assertNoNul = (c: Context): void => {
  if (!c.req.raw.url.includes('%00')) return;
  for (const [name, values] of Object.entries(c.req.queries()))
    if (values.some((value) => value.includes('\0'))) throw invalid(`/query/${name}`, 'must not contain the character U+0000', 'bad_text');
};

/**
 * Validates the query of a request. The values of a parameter that occurs several times become a list.
 * @throws Refusal invalid
 */
export const parseQuery = <T extends z.ZodType>(c: Context, schema: T): z.output<T> => {
  assertNoNul(c);
  const input = Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0] : values]);
  return parseOrRefuse(schema, Object.fromEntries(input), { root: '/query' });
};

/** Checks that a request to a route without query parameters has none. @throws Refusal invalid if it has */
export const assertNoQuery = (c: Context): void => {
  if (c.req.raw.url.includes('?')) parseQuery(c, NoFields);
};

/**
 * Adds a route to the application for each operation of a table. A route authenticates, authorizes and validates a
 * request, runs the operation and sends the response.
 */
export const mount = (app: Hono, operations: Operations, runtime: Runtime): void => {
  for (const row of Object.values(operations)) {
    const authorize = authorizeRequest(row, runtime);
    if (!row.query) {
      app.on(row.method, row.path, async (c) => {
        const request = await authorize(c);
        assertNoQuery(c);
        return respond(row, runtime, request, {});
      });
      continue;
    }
    const emptyQuery = row.query.safeParse({});
    const authorizeFirst: MiddlewareHandler = async (c, next) => {
      const request = await authorize(c);
      // Without a query string, the parsed query is always the same, so it is parsed only once.
      if (emptyQuery.success && !c.req.raw.url.includes('?')) return respond(row, runtime, request, emptyQuery.data as object);
      assertNoNul(c);
      c.set('authorizedRequest', request);
      return next();
    };
    app.on(row.method, row.path, authorizeFirst, validateQuery(row.query) as MiddlewareHandler, (c) =>
      respond(row, runtime, c.get('authorizedRequest')!, c.req.valid('query' as never)),
    );
  }
};
