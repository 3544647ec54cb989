import type { Config } from '../config.ts';
import { createLogger } from '../logging/logger.ts';
import { runnersShareAccount, SHARED_ACCOUNT } from '../nats/runner-account.ts';
import { createWork, type Work } from '../platform/create-work.ts';
import { openWorkServices, type WorkServices } from '../platform/work-services.ts';
import { openPool, pingDatabase } from '../postgres/pool.ts';
import { startProcessReports } from '../postgres/process-presence.ts';
import type { Running } from '../reactors/reactor.ts';
import type { StreamReport } from '../supervision/stream-recovery.ts';
import { clusterProblems } from './cluster-settings.ts';
import { startDependencyWatch } from './dependency-watch.ts';
import { isForInspection, workForInspection } from './inspection.ts';

const REPORT_INTERVAL_MS = 1_000;
const WATCH_TIMEOUT_MS = 5_000;

/**
 * If there is a supervisor, reports to it every second whether nats-server has stopped a stream, once the broker was connected. The
 * supervisor can then restart nats-server.
 */
const reportStreams = ({ messaging }: Work): NodeJS.Timeout =>
  setInterval(() => {
    const isStopped = messaging()?.isStreamStopped();
    if (isStopped === undefined || !process.connected) return;
    process.send?.({ kind: 'stream', isStopped } satisfies StreamReport, undefined, undefined, () => {});
  }, REPORT_INTERVAL_MS);

/** Logs outages, and reports that this process runs. Both use a connection of their own. */
const watchServices = ({ log, broker, databaseUrl, logger }: WorkServices): Running => {
  const pool = openPool(databaseUrl, logger, 'watch', { max: 1, queryTimeoutMs: WATCH_TIMEOUT_MS });
  const watch = startDependencyWatch({
    dependencies: {
      'the event store': () => log.ping().then(() => null),
      Postgres: () => pingDatabase(pool),
      NATS: () => (broker.isHealthy() ? null : 'there is no connection'),
    },
    logger,
  });
  const reports = startProcessReports(pool, 'work');
  return {
    close: async () => {
      watch.close();
      await reports.close();
      await pool.end();
    },
  };
};

/** Runs the projections and the reactors until `close` is called. */
export const work = async (config: Config): Promise<Running> => {
  if (isForInspection(config.annalsData)) return workForInspection(config);
  const logger = createLogger(config, 'work');
  for (const { message, advice } of clusterProblems(config)) logger.warn(`${message}; ${advice}`);
  // The module is loaded only if a port for metrics is configured, which saves memory otherwise.
  const metrics = config.metricsPort === undefined ? null : (await import('./work-metrics.ts')).createWorkMetrics(config);
  const services = openWorkServices(config, logger, metrics ?? {});
  if (runnersShareAccount(config)) logger.warn(SHARED_ACCOUNT);
  const running = await createWork(services);
  const reports = reportStreams(running);
  const watch = watchServices(services);
  const measuring = metrics?.start({ ...services, ...running });
  logger.info('working');
  return {
    close: async () => {
      await measuring?.close();
      await watch.close();
      clearInterval(reports);
      await running.close();
      await services.close();
    },
  };
};
