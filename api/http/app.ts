import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { compress } from 'hono/compress';
import { HTTPException } from 'hono/http-exception';
import type { Principal } from '../../domain/principal.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import { endedAttempts } from './attempt-cookies.ts';
import { corsMiddleware } from './cors.ts';
import { mount } from './mount.ts';
import type { Operations } from './operation.ts';
import { PROBLEMS, problemResponse } from './problem.ts';
import { refusalResponse } from './problem-html.ts';
import type { Runtime } from './runtime.ts';
import { tableRouter } from './table-router.ts';

export type AppOptions = {
  readonly operations: Operations;
  readonly runtime: Runtime;
  /** Adds the plain routes to the application: the routes that are in no table of operations. */
  readonly mountPlain: (app: Hono) => void;
  readonly corsOrigins?: readonly string[] | undefined;
  readonly requestId: () => string;
  /** Returns the refusal with which the client is answered after an error that is not a Refusal. */
  readonly toRefusal: (error: unknown, c: Context) => Refusal;
  /** Called when an authenticated caller is refused with 403. */
  readonly onAccessRefused?: (c: Context, principal: Principal, refusal: Refusal) => void;
  readonly onResponse?: (c: Context, status: number, milliseconds: number) => void;
};

type NodeBindings = {
  readonly incoming?: { readonly headers: Readonly<Record<string, string | string[] | undefined>> };
  readonly outgoing?: { readonly setHeader: (name: string, value: string) => void };
};

const DEFAULT_CACHE_CONTROL = 'no-store';
const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

const allowedMethods = (app: Hono, path: string): string[] => {
  const known = METHODS.filter((method) =>
    app.router.match(method, path)[0].some(([entry]) => (entry as unknown as [unknown, { path: string }])[1].path !== '/*'),
  );
  return known.includes('GET') ? ['GET', 'HEAD', ...known.slice(1), 'OPTIONS'] : known.length > 0 ? [...known, 'OPTIONS'] : [];
};

const unknownRouteResponse = (app: Hono, c: Context): Response | Promise<Response> => {
  const allowed = allowedMethods(app, c.req.path).join(', ');
  if (allowed === '') return refusalResponse(notFound(), c);
  if (c.req.method === 'OPTIONS') return new Response(null, { status: 204, headers: { allow: allowed } });
  return refusalResponse(new Refusal('method_not_allowed', `This path supports ${allowed}`, { allow: allowed }), c);
};

const refusalOf = (error: unknown, c: Context, toRefusal: AppOptions['toRefusal']): Refusal => {
  if (error instanceof Refusal) return error;
  if (error instanceof HTTPException && error.status < 500) return new Refusal('malformed', error.message || 'The request cannot be read');
  return toRefusal(error, c);
};

/** Returns the problem document for a request that has failed with an error. */
export const failureResponse = (error: unknown, c: Context, toRefusal: AppOptions['toRefusal']): Response =>
  problemResponse(refusalOf(error, c, toRefusal), c.req.path, c.get('requestId'));

const MIN_COMPRESSED_BYTES = 1_024;
const compressBody = compress({ threshold: MIN_COMPRESSED_BYTES });

/**
 * Compresses a response if it has at least MIN_COMPRESSED_BYTES and the client accepts compression. A response that is
 * shorter, or that has no Content-Length, stays as it is.
 */
const compressResponse: MiddlewareHandler = async (c, next) => {
  const { incoming } = (c.env ?? {}) as NodeBindings;
  const accepted = incoming ? incoming.headers['accept-encoding'] : c.req.header('accept-encoding');
  await next();
  if (accepted === undefined || Number(c.res.headers.get('content-length') ?? 0) < MIN_COMPRESSED_BYTES) return;
  // A HEAD response must have the Content-Length of the GET response. The GET response would be compressed, so this
  // length is not known here.
  if (c.req.method === 'HEAD') c.res.headers.delete('content-length');
  const etag = c.res.headers.get('etag');
  await compressBody(c, async () => {});
  // Hono has made the ETag weak; restore the strong one. It is the revision of the resource, and clients send it in
  // If-Match, which accepts strong ETags only.
  if (etag !== null) c.res.headers.set('etag', etag);
};

/** Creates the HTTP application: common headers, compression, CORS, all routes, and problem documents for errors. */
export const createApp = ({
  operations,
  runtime,
  mountPlain,
  corsOrigins,
  requestId,
  toRefusal,
  onAccessRefused,
  onResponse,
}: AppOptions): Hono => {
  const app = new Hono({ strict: true, router: tableRouter() });
  app.use('*', async (c, next) => {
    const { incoming, outgoing } = (c.env ?? {}) as NodeBindings;
    const sentId = incoming ? incoming.headers['x-request-id'] : c.req.header('x-request-id');
    const id = typeof sentId === 'string' && REQUEST_ID.test(sentId) ? sentId : requestId();
    c.set('requestId', id);
    const startedAt = performance.now();
    const common = { 'x-request-id': id, 'x-content-type-options': 'nosniff' };
    // On Node, set the headers directly on Node's response object: creating a Headers object would take longer than
    // verifying a webhook signature.
    if (outgoing) for (const [name, value] of Object.entries(common)) outgoing.setHeader(name, value);
    // By default, clients must not cache a response. A route can override this header.
    outgoing?.setHeader('cache-control', DEFAULT_CACHE_CONTROL);
    await next();
    if (!outgoing) for (const [name, value] of Object.entries(common)) c.res.headers.set(name, value);
    if (!outgoing && !c.res.headers.has('cache-control')) c.res.headers.set('cache-control', DEFAULT_CACHE_CONTROL);
    const limits = c.get('limits');
    const set = (name: string, value: string) => (outgoing ? outgoing.setHeader(name, value) : c.res.headers.set(name, value));
    if (c.get('isReplay')) set('idempotent-replayed', 'true');
    if (limits) {
      set('ratelimit-policy', limits.policy);
      set('ratelimit', limits.state);
    }
    const cookies = incoming ? incoming.headers.cookie : c.req.header('cookie');
    if (typeof cookies === 'string') for (const ended of endedAttempts(cookies)) c.res.headers.append('set-cookie', ended);
    onResponse?.(c, c.res.status, performance.now() - startedAt);
  });
  app.use('*', compressResponse);
  if (corsOrigins) app.use('*', corsMiddleware(corsOrigins));
  mountPlain(app);
  mount(app, operations, runtime);
  app.notFound((c) => unknownRouteResponse(app, c));
  app.onError((error, c) => {
    const refusal = refusalOf(error, c, toRefusal);
    const principal = c.get('principal');
    if (principal && (PROBLEMS[refusal.code].status === 403 || refusal.extra.recordedIn)) onAccessRefused?.(c, principal, refusal);
    return refusalResponse(refusal, c);
  });
  return app;
};
