import type { Context } from 'hono';
import { matchedRoutes } from 'hono/route';
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const PROJECTION_GAUGES = {
  lag_events: 'Events that the projection has not applied yet',
  lag_seconds: 'How many seconds the projection is behind the log',
  events_per_second: 'Events applied per second',
  parked: 'Streams with events that could not be applied',
} as const;

type ProjectionStatus = { readonly name: string } & { readonly [Field in keyof typeof PROJECTION_GAUGES]: number };

/**
 * Creates the Prometheus metrics of this process. They include the durations of requests by method, route and status.
 */
export const createMetrics = () => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'annals_' });
  const requests = new Histogram({
    name: 'annals_http_request_duration_seconds',
    help: 'Time from a request to its response, in seconds',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  });
  const routeOf = (c: Context): string => matchedRoutes(c).findLast(({ path }) => path !== '*' && path !== '/*')?.path ?? 'unknown';
  // Finding a series by this single key takes a tenth of the time that prom-client needs to find it by labels.
  const seriesByKey = new Map<string, Histogram.Internal<string>>();
  const seriesOf = (method: string, route: string, status: number): Histogram.Internal<string> => {
    const key = `${method} ${route} ${status}`;
    const series = seriesByKey.get(key) ?? requests.labels(method, route, String(status));
    seriesByKey.set(key, series);
    return series;
  };
  return {
    registry,
    observe: (c: Context, status: number, milliseconds: number) => seriesOf(c.req.method, routeOf(c), status).observe(milliseconds / 1_000),
    /**
     * Adds gauges for each projection. They have no values while the statuses cannot be read.
     * @returns the function that updates the gauges, to be called before each scrape
     */
    trackProjections: (readStatuses: () => Promise<readonly ProjectionStatus[]>) => {
      const gauges = Object.entries(PROJECTION_GAUGES).map(([field, help]) => ({
        field: field as keyof typeof PROJECTION_GAUGES,
        gauge: new Gauge({ name: `annals_projection_${field}`, help, labelNames: ['projection'], registers: [] }),
      }));
      for (const { gauge } of gauges) registry.registerMetric(gauge);
      return async (): Promise<void> => {
        const statuses = await readStatuses().catch(() => []);
        for (const { field, gauge } of gauges) {
          gauge.reset();
          for (const status of statuses) gauge.set({ projection: status.name }, status[field]);
        }
      };
    },
    text: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
};
