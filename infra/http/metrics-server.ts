import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import type { Logger } from 'pino';
import { problemResponse } from '../../api/http/problem.ts';
import { readMetrics, type SystemDeps } from '../../api/operations/system-routes.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import { createBackoff } from '../backoff.ts';
import { type Config, isLoopbackHost } from '../config.ts';
import { createHostCheck } from './allowed-host.ts';
import { clientAddress, isLocalRequest } from './client-address.ts';
import { listen } from './listen.ts';

const RETRY = { minMs: 1_000, maxMs: 30_000 };

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Callers with METRICS_TOKEN may read metrics; with `allowsLocal`, also callers on this machine. */
const metricsAccess = ({ trustedProxies, metricsToken }: Pick<Config, 'trustedProxies' | 'metricsToken'>, allowsLocal: boolean) => {
  const isLocal = isLocalRequest(clientAddress(trustedProxies));
  const expected = metricsToken === undefined ? null : digestOf(`Bearer ${metricsToken}`);
  return (c: Context): boolean =>
    (allowsLocal && isLocal(c)) || (expected !== null && timingSafeEqual(digestOf(c.req.header('authorization') ?? ''), expected));
};

/** If PUBLIC_URL is public, local callers need the token, too: a local proxy may forward requests without saying so. */
export const serveMetricsAccess = (config: Pick<Config, 'trustedProxies' | 'metricsToken' | 'publicUrl'>) =>
  metricsAccess(config, isLoopbackHost(new URL(config.publicUrl).hostname));

const createMetricsApp = (deps: Pick<SystemDeps, 'metrics' | 'mayReadMetrics'>, logger: Logger): Hono => {
  const app = new Hono();
  const refuse = (c: Context, refusal: Refusal): Response => problemResponse(refusal, c.req.path, randomUUID());
  app.get('/metrics', readMetrics(deps));
  app.notFound((c) => refuse(c, notFound()));
  app.onError((error, c) => {
    if (error instanceof Refusal) return refuse(c, error);
    logger.error({ err: error }, 'the metrics cannot be read');
    return refuse(c, new Refusal('internal', 'The metrics cannot be read; the log says why'));
  });
  return app;
};

/** Serves only /metrics. If the port is taken, logs it once and retries: the process also works without metrics. */
export const serveMetrics = (config: Config, metrics: SystemDeps['metrics'], logger: Logger): { close: () => Promise<void> } => {
  const address = { host: config.metricsHost, port: config.metricsPort! };
  const app = createMetricsApp({ metrics, mayReadMetrics: metricsAccess(config, true) }, logger);
  const closing = new AbortController();
  const bind = async (): ReturnType<typeof listen> => {
    const backoff = createBackoff(RETRY);
    for (let tries = 1; ; tries++) {
      try {
        return await listen(app, address, undefined, createHostCheck({ ...address, publicUrl: config.publicUrl }));
      } catch (error) {
        closing.signal.throwIfAborted();
        const fields = { ...address, reason: (error as Error).message };
        logger[tries === 1 ? 'warn' : 'debug'](fields, 'METRICS_PORT cannot be listened on; trying again');
        await backoff.wait(closing.signal);
      }
    }
  };
  const bound = bind();
  bound.then(
    ({ port }) => logger.info({ port }, 'serving metrics'),
    () => {},
  );
  return {
    close: async () => {
      closing.abort();
      await bound.then(
        (server) => server.close(),
        () => {},
      );
    },
  };
};
