import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The process's metrics for Prometheus, requests by method, route and status among them. */
export const openMetrics = () => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'annals_' });
  const requests = new Histogram({
    name: 'annals_http_request_duration_seconds',
    help: 'Time from a request to its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  const routeOf = (c: Context): string => matchedRoutes(c).findLast(({ path }) => path !== '*' && path !== '/*')?.path ?? 'unknown';
  // A series found by one key costs a tenth of one found by its labels.
  const known = new Map<string, Histogram.Internal<string>>();
  const seriesOf = (method: string, route: string, status: number): Histogram.Internal<string> => {
    const key = `${method} ${route} ${status}`;
    const series = known.get(key) ?? requests.labels(method, route, String(status));
    known.set(key, series);
    return series;
  };
  return {
    registry,
    observe: (c: Context, status: number, milliseconds: number) => seriesOf(c.req.method, routeOf(c), status).observe(milliseconds / 1_000),
    /** A gauge whose value is asked for at each scrape. */
    gauge: (name: string, help: string, value: () => number) =>
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(value());
        },
      }),
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
};
