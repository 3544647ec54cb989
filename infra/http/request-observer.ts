import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Registry } from 'prom-client';
import { templateOf } from '../../api/http/json-schema.ts';
import { createHistogram, type Histogram } from '../metrics/series.ts';
import type { LogRequest, RequestKind } from './request-log.ts';

const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The route of a request that no route matches. */
const NO_ROUTE = 'unknown';

type Observed = { readonly duration: Histogram; readonly log: LogRequest };

const routeOf = (c: Context): string => matchedRoutes(c).findLast(({ path }) => path !== '*' && path !== '/*')?.path ?? NO_ROUTE;

/**
 * Creates the function that is called for every response. It measures the duration by method, route and status, and
 * logs the request with the function that `logOf` returns for its kind.
 */
export const createRequestObserver = (registry: Registry, logOf: (kind: RequestKind) => LogRequest) => {
  const durations = createHistogram<'method' | 'route' | 'status'>(
    registry,
    { name: 'annals_http_request_duration_seconds', help: 'Time from a request to its response, in seconds' },
    BUCKETS,
  );
  // Three nested maps, because building one text as a key for every request would take longer.
  const byRoute = new Map<string, Map<string, Map<number, Observed>>>();

  const observe = (method: string, path: string, status: number): Observed => {
    const route = templateOf(path);
    return { duration: durations({ method, route, status: String(status) }), log: logOf({ method, route, status }) };
  };

  return (c: Context, status: number, milliseconds: number): void => {
    const path = routeOf(c);
    const { method } = c.req;
    const byMethod = byRoute.getOrInsertComputed(path, () => new Map());
    const byStatus = byMethod.getOrInsertComputed(method, () => new Map());
    const { duration, log } = byStatus.getOrInsertComputed(status, () => observe(method, path, status));
    duration.observe(milliseconds / 1_000);
    log(c, milliseconds);
  };
};
