import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Registry } from 'prom-client';
import { templateOf } from '../../api/http/json-schema.ts';
import { createHistogram, type Histogram } from '../metrics/series.ts';
import type { ReportMalformed } from './malformed-requests.ts';
import type { LogRequest, RequestKind } from './request-log.ts';

const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The route in the metrics and the log for a request that matches no route. */
const NO_ROUTE = 'unknown';
/** Reported for a request that is not valid HTTP, or must not be passed to the application. */
const UNKNOWN_METHOD = 'unknown';
const MALFORMED_ROUTE = 'malformed';

type Observed = { readonly duration: Histogram; readonly log: LogRequest };

const routeOf = (c: Context): string => matchedRoutes(c).findLast(({ path }) => path !== '*' && path !== '/*')?.path ?? NO_ROUTE;

export type RequestObserver = {
  readonly onResponse: (c: Context, status: number, milliseconds: number) => void;
  /** Called for every request that is refused before the application gets it. */
  readonly onMalformed: ReportMalformed;
};

/** Measures durations by method, route and status. `logOf` returns the function that logs requests of a kind. */
export const createRequestObserver = (registry: Registry, logOf: (kind: RequestKind) => LogRequest): RequestObserver => {
  const durations = createHistogram<'method' | 'route' | 'status'>(
    registry,
    { name: 'annals_http_request_duration_seconds', help: 'Time from a request to its response, in seconds' },
    BUCKETS,
  );
  // Nested maps: building a text as a key for every request would take longer.
  const byRoute = new Map<string, Map<string, Map<number, Observed>>>();

  const observe = (method: string, path: string, status: number): Observed => {
    const route = templateOf(path);
    return { duration: durations({ method, route, status: String(status) }), log: logOf({ method, route, status }) };
  };
  const observedOf = (method: string, path: string, status: number): Observed =>
    byRoute
      .getOrInsertComputed(path, () => new Map())
      .getOrInsertComputed(method, () => new Map())
      .getOrInsertComputed(status, () => observe(method, path, status));

  return {
    onResponse: (c, status, milliseconds) => {
      const { duration, log } = observedOf(c.req.method, routeOf(c), status);
      duration.observe(milliseconds / 1_000);
      log(c.get('requestId'), c.get('principal'), milliseconds);
    },
    onMalformed: (requestId, status) => {
      const { duration, log } = observedOf(UNKNOWN_METHOD, MALFORMED_ROUTE, status);
      duration.observe(0);
      log(requestId, undefined, 0);
    },
  };
};
