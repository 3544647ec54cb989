import type { Actor } from '../../domain/event.ts';
import type { MasterKeyRotation } from '../../domain/operations/key-rotation.ts';
import type { BlobPlace } from '../blobs/open-blob-store.ts';
import type { Config } from '../config.ts';
import { type Runs, type TimerServices, timedRuns } from '../reactors/timed.ts';
import type { LazyVault } from '../vault/lazy-vault.ts';
import type { RotationRecord } from './rotation-record.ts';

const ACTOR: Actor = { kind: 'system', id: 'annals' };

type Services = TimerServices & {
  readonly config: Pick<Config, 'masterKeyFile' | 'annalsData'>;
  readonly vault: Pick<LazyVault, 'open'>;
  /** Null if no file store is configured. */
  readonly blobPlace: () => Promise<BlobPlace | null>;
  readonly graceMs?: number;
};

const continueMaster = async (services: Services, record: RotationRecord, { to_kid }: MasterKeyRotation): Promise<void> => {
  const { config, logger, graceMs } = services;
  const { continueMasterRotation } = await import('./rotate-master-key.ts');
  const { scavengeKeys } = await import('./scavenge-keys.ts');
  const outcome = await continueMasterRotation({
    record,
    masterKeyFile: config.masterKeyFile,
    scavenge: () => scavengeKeys(config.annalsData),
    actor: ACTOR,
    onProgress: (line) => logger.info(line),
    ...(graceMs !== undefined && { graceMs }),
  });
  if (outcome === 'completed') logger.info({ kid: to_kid }, 'the master key was replaced');
};

const continueDataKey = async (services: Services, record: RotationRecord, tenant: string, kid: string): Promise<void> => {
  const { config, vault, blobPlace, logger } = services;
  const { continueDataKeyRotation } = await import('./rotate-data-key.ts');
  const onProgress = (line: string): void => logger.info(line);
  const { masterKeyFile } = config;
  const opened = { record, masterKeyFile, vault: await vault.open(), blobs: await blobPlace(), actor: ACTOR, onProgress };
  const resealed = await continueDataKeyRotation(opened, tenant, kid);
  logger.info({ tenant, kid, ...resealed }, 'the data key of a tenant was replaced');
};

const openRotations = (services: Services): Runs => {
  /** The new master key for which all keys were prepared. The rotation waits until an operator confirms it. */
  let prepared: string | null = null;
  return {
    run: async () => {
      const { openRotationRecord } = await import('./rotation-record.ts');
      const record = openRotationRecord(services.log);
      const { master, data_keys } = await record.load();
      if (master && (master.is_confirmed || master.to_kid !== prepared)) {
        await continueMaster(services, record, master);
        prepared = master.to_kid;
      }
      for (const [tenant, kid] of Object.entries(data_keys)) await continueDataKey(services, record, tenant, kid);
      return false;
    },
  };
};

/** Continues rotations of `annals vault rotate` that were not completed, for example because it was killed. Loads the modules only then. */
export const rotations = timedRuns({
  lock: 'reactor key rotations',
  everyMs: 10_000,
  failure: 'a rotation of keys cannot be continued now; trying again',
  open: openRotations,
});
