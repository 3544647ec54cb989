import { reactorContext } from '../aggregates/reactor-context.ts';
import type { Config } from '../config.ts';
import { createHeldReader, knownTotals } from '../health/held-deliveries.ts';
import { serveMetrics } from '../http/metrics-server.ts';
import { addBrokerMetrics } from '../metrics/broker-metrics.ts';
import { measureSettledMessages } from '../metrics/delivery-metrics.ts';
import { createProcessMetrics } from '../metrics/process-metrics.ts';
import { addProjectionMetrics } from '../metrics/projection-metrics.ts';
import { addDependencyMetrics, measureAppends, readStorage } from '../metrics/service-metrics.ts';
import { readBacklog } from '../nats/consumer-backlog.ts';
import { openRunnerBroker } from '../nats/runner-broker.ts';
import type { Work } from '../platform/create-work.ts';
import type { WorkServices } from '../platform/work-services.ts';
import { isReachable, openPool } from '../postgres/pool.ts';
import { readsOver } from '../readmodel/postgres-read-model.ts';
import { createRelayLag } from '../relay/relay-lag.ts';
import { memoizeFor } from './readiness.ts';

/** The time in milliseconds for which values that take longer to read are reused. */
const SLOW_TTL_MS = 10_000;
const QUERY_TIMEOUT_MS = 1_500;

type Parts = Pick<WorkServices, 'log' | 'logger' | 'broker'> & Pick<Work, 'projector' | 'isWriter' | 'messaging'>;

/**
 * Creates a function that returns whether this process exports the values that describe the whole platform. If there
 * are several workers, only the writer of the projection `deliveries` does. While the database is down, the worker that was this
 * writer last still does.
 */
const exporterCheck = (isWriter: () => boolean, isDatabaseUp: () => Promise<boolean>): (() => Promise<boolean>) => {
  let isExporter = false;
  return async () => {
    if (isWriter() || (await isDatabaseUp())) isExporter = isWriter();
    return isExporter;
  };
};

/** Creates the metrics of the process `work`, and the functions with which its parts report measurements. */
export const createWorkMetrics = (config: Config) => {
  const metrics = createProcessMetrics('work');

  const start = ({ log, logger, broker, projector, isWriter, messaging }: Parts): { close: () => Promise<void> } => {
    const pool = openPool(config.databaseUrl!, logger, 'metrics', { max: 1, queryTimeoutMs: QUERY_TIMEOUT_MS });
    const isDatabaseUp = (): Promise<boolean> => isReachable(pool);
    const isExporter = exporterCheck(isWriter, isDatabaseUp);
    const ifExporter =
      <T>(read: () => Promise<T>) =>
      async (): Promise<T | null> =>
        (await isExporter()) ? read() : null;

    const runnerBroker = openRunnerBroker(broker, config);
    const readHeld = createHeldReader({
      reads: readsOver(async (statement) => (await pool.query(statement)).rows),
      broker: runnerBroker,
      contextOf: (tenant) => reactorContext(log).inTenant(tenant),
    });
    const countHeld = async () => knownTotals(await readHeld()).map(({ kind, count }) => ({ reason: kind, count }));

    const backlog = memoizeFor(SLOW_TTL_MS, async () => readBacklog(await broker.connection()));

    addDependencyMetrics(metrics, {
      event_store: () => log.ping().then(() => true),
      postgres: isDatabaseUp,
      nats: broker.isHealthy,
    });
    addProjectionMetrics(metrics, projector.status);
    addBrokerMetrics(metrics, {
      relayLag: ifExporter(createRelayLag({ log, nats: broker.current, relay: () => messaging()?.relay })),
      backlog: ifExporter(backlog),
      held: ifExporter(memoizeFor(SLOW_TTL_MS, countHeld)),
    });
    const storage = ifExporter(memoizeFor(SLOW_TTL_MS, () => readStorage(config)));
    metrics.addGroup({
      help: {
        annals_store_size_bytes: 'Bytes that the files of the embedded event store occupy',
        annals_disk_free_bytes: 'Bytes that are free on the disk of the data directory',
      },
      read: async () => {
        const values = await storage();
        return values ? [{ labels: {}, values }] : [];
      },
    });
    const server = serveMetrics(config, metrics.text, logger);
    return {
      close: async () => {
        await server.close();
        await runnerBroker.close();
        await pool.end();
      },
    };
  };

  return { onAppend: measureAppends(metrics), onSettled: measureSettledMessages(metrics), start };
};
