import type { Context } from 'hono';
import { PLATFORM } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import type { Principal } from '../../domain/principal.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import { storedUserAgent } from '../../domain/user-agent.ts';
import { revisionsIn } from './etag.ts';
import { pathParameters } from './json-schema.ts';
import { isRead, type Operation } from './operation.ts';
import type { RequestInfo, Runtime } from './runtime.ts';

/** A request whose caller is authenticated and may use its route. */
export type AuthorizedRequest = {
  readonly c: Context;
  readonly info: RequestInfo;
  readonly params: Record<string, string>;
  /** The value of the last path parameter, usually the id of the resource; undefined if the path has none. */
  readonly id: string | undefined;
};

// Declared here because every program that imports a route compiles this file, also a program of a customer that uses the
// typed client.
declare module 'hono' {
  interface ContextVariableMap {
    requestId: string;
    /** The authenticated caller; undefined while the request is not authenticated. */
    principal: Principal | undefined;
    /** The authorized request, for the handler that runs after the query is validated. Undefined at any other time. */
    authorizedRequest: AuthorizedRequest | undefined;
    /** The values of the RateLimit-Policy and RateLimit headers of the response. */
    limits: { readonly policy: string; readonly state: string } | undefined;
    /** Whether the response is a repeat, because an earlier request had the same Idempotency-Key. */
    isReplay: boolean | undefined;
  }
}

const anonymous = { kind: 'system', name: 'nobody' } as const;

const ifMatchOf = (header: string | undefined): RequestInfo['ifMatch'] => {
  if (header === undefined) return null;
  if (header.trim() === '*') return '*';
  const revisions = revisionsIn(header.trim());
  if (revisions.length === 0)
    throw new Refusal('precondition_failed', 'If-Match must contain the strong ETag of an earlier response; a weak one (W/) never matches');
  return revisions;
};

const isResourceId = (name: string): boolean => name === 'id' || name.endsWith('_id');

/** Matches a UUID. Event ids are UUIDs; all other ids have a different form. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const isWellFormed = (name: string, value: string): boolean => {
  if (!isResourceId(name)) return !value.includes('\0');
  return isId25(value) || (name === 'event_id' && UUID.test(value));
};

/**
 * Refuses a malformed id in the path like an id that does not exist. A name with the character NUL is refused, too,
 * because Postgres cannot compare it.
 * @throws Refusal not_found
 */
const assertParameters = (names: readonly string[], params: Record<string, string>): void => {
  for (const name of names) {
    if (!isWellFormed(name, params[name] ?? '')) throw notFound();
  }
};

export const requestInfoOf = (c: Context, runtime: Runtime, principal: Principal, tenant_id?: string): RequestInfo => ({
  principal,
  tenant: tenant_id ?? PLATFORM,
  requestId: c.get('requestId'),
  ip: runtime.address(c),
  userAgent: storedUserAgent(c.req.header('user-agent')),
  ifMatch: null,
});

/**
 * Returns a function that authenticates and authorizes the requests of this route. It must be called before the query
 * and the body are validated, so that unauthorized callers learn nothing from validation errors.
 */
export const authorizeRequest = (row: Pick<Operation, 'method' | 'path' | 'permit' | 'inSuspendedTenant'>, runtime: Runtime) => {
  const names = pathParameters(row.path);
  return async (c: Context): Promise<AuthorizedRequest> => {
    const params: Record<string, string> = c.req.param();
    const principal = row.permit === 'none' ? anonymous : await runtime.authenticate(c, row);
    assertParameters(names, params);
    const as = await runtime.authorize(principal, row.permit, params);
    if (as === 'guest' && !isRead(row)) throw new Refusal('forbidden', 'A super-admin can read in this tenant, but not change anything');
    if (principal.kind !== 'system' && principal.read_only && !isRead(row))
      throw new Refusal('forbidden', 'This API key is read-only: it allows only GET and HEAD');
    const read = requestInfoOf(c, runtime, principal, params.tenant_id);
    if (as === 'guest') await runtime.recordSuperAdminRead(read, `${c.req.method} ${c.req.path}`);
    const info = isRead(row) ? read : { ...read, ifMatch: ifMatchOf(c.req.header('if-match')) };
    return { c, info, params, id: params[names.at(-1)!] };
  };
};
