import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { openBlobPlace, openBlobStore } from '../blobs/open-blob-store.ts';
import type { Config } from '../config.ts';
import { type LogOptions, openLog } from '../eventstore/client.ts';
import { createCorruptionReporter } from '../logging/logger.ts';
import { connectInBackground } from '../nats/background-connection.ts';
import { openApplicationCache } from '../platform/application-cache.ts';
import { openProjectionAdmin } from '../projector/projection-admin.ts';
import { openQuotaTable } from '../ratelimit/quota-table.ts';
import { openWindowTable } from '../ratelimit/window-table.ts';
import { createReads } from '../readmodel/postgres-read-model.ts';
import { openSpool } from '../spool/open-spool.ts';
import { spoolDirectory } from '../spool/spool-slots.ts';
import { createKeyReporter } from '../vault/key-reporter.ts';
import { openVault } from '../vault/vault.ts';
import { createBlobHealth } from './blob-health.ts';
import { retryUntilAvailable } from './retry-until-available.ts';

/** The maximum time in milliseconds that a start waits for a spool on a slow disk. */
const SPOOL_OPEN_TIMEOUT_MS = 5_000;

export const openConnections = async (config: Config, logger: Logger, onAppend: LogOptions['onAppend'] & {}) => {
  const corruption = createCorruptionReporter(logger);
  const log = openLog(config.eventstoreUrl!, { onDamage: corruption.report, onAppend });
  const keys = createKeyReporter(logger);
  const vault = await retryUntilAvailable(
    () => openVault({ log, masterKeyFile: config.masterKeyFile, reportKeys: keys.report }),
    logger,
    'the vault',
  );
  const keyChanges = await retryUntilAvailable(vault.watchKeys, logger, 'the vault');
  const cache = openApplicationCache(log);
  await retryUntilAvailable(cache.start, logger, 'the cache');
  const reads = await createReads(config.databaseUrl!, logger);
  const quotas = openQuotaTable(config.databaseUrl!, logger);
  const windows = openWindowTable(config.databaseUrl!, logger);
  const broker = connectInBackground(config, logger);
  const blobPlace = await openBlobPlace(config);
  const projectionAdmin = openProjectionAdmin(config.databaseUrl!, log, logger);
  const spool = openSpool({ dir: spoolDirectory(config.annalsData), key: vault.spoolKeys.key, olderKeys: vault.spoolKeys.older, logger });
  // Before deliveries are accepted, the process must know which integrations have deliveries in the spool.
  await Promise.race([spool.opened, sleep(SPOOL_OPEN_TIMEOUT_MS, undefined, { ref: false })]);
  return {
    corruption,
    keys,
    log,
    vault,
    cache,
    reads,
    quotas,
    windows,
    broker,
    projectionAdmin,
    spool,
    blobPlace,
    blobFailure: createBlobHealth(blobPlace),
    blobs: openBlobStore(blobPlace, vault, (cause) => logger.warn({ err: cause }, 'the file store failed')),
    close: async (): Promise<void> => {
      await cache.close();
      await keyChanges.stop();
      await spool.close();
      await Promise.all([reads.close(), quotas.close(), windows.close(), projectionAdmin.close(), broker.close(), log.close()]);
    },
  };
};
