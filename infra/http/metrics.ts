import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const standing = {
  lag_events: 'Events that the projection has yet to apply',
  lag_seconds: 'How far the projection is behind, in seconds',
  events_per_second: 'Events applied a second',
  parked: 'Streams with events that could not be applied',
} as const;

type Standing = { readonly name: string } & { readonly [Field in keyof typeof standing]: number };

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
    /** Gauges by projection, asked for at each scrape; a scrape goes without them where they can't be had. */
    projections: (statuses: () => Promise<readonly Standing[]>) => {
      const gauges = Object.entries(standing).map(([field, help]) => ({
        field: field as keyof typeof standing,
        gauge: new Gauge({ name: `annals_projection_${field}`, help, labelNames: ['projection'], registers: [] }),
      }));
      for (const { gauge } of gauges) registry.registerMetric(gauge);
      return async (): Promise<void> => {
        const found = await statuses().catch(() => []);
        for (const { field, gauge } of gauges) {
          gauge.reset();
          for (const status of found) gauge.set({ projection: status.name }, status[field]);
        }
      };
    },
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
};
