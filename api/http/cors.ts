import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';

const allowMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
const exposeHeaders = [
  'ETag',
  'Location',
  'Link',
  'Total-Count',
  'Hidden-Count',
  'Consistency-Token',
  'Content-Disposition',
  'Idempotent-Replayed',
  'Projection-Lag',
  'Projection-Position',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Request-Id',
];

/**
 * Allows browser pages of these origins (`*`: of all origins) to call the API. An OPTIONS request that is not a
 * preflight is passed on to the routes.
 */
export const corsMiddleware = (origins: readonly string[]): MiddlewareHandler => {
  const origin = origins.includes('*') ? '*' : [...origins];
  const handle = cors({ origin, allowMethods, exposeHeaders });
  return (c, next) =>
    c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') === undefined ? next() : handle(c, next);
};
