import type { Actor } from '../../domain/event.ts';
import type { MasterKeyRotation } from '../../domain/operations/key-rotation.ts';
import type { BlobPlace } from '../blobs/open-blob-store.ts';
import type { Log } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from '../reactors/timed-reactor.ts';
import type { LazyVault } from '../vault/lazy-vault.ts';
import type { RotationRecord } from './rotation-record.ts';

const INTERVAL_MS = 10_000;
const LOCK = 'reactor key rotations';
const ACTOR: Actor = { kind: 'system', id: 'annals' };

export type RotationFinisherParts = TimedReactorParts & {
  readonly log: Log;
  readonly masterKeyFile: string;
  readonly annalsData: string;
  readonly vault: Pick<LazyVault, 'open'>;
  /** Null if no file store is configured. */
  readonly blobs: () => Promise<BlobPlace | null>;
  readonly graceMs?: number;
};

const continueMaster = async (parts: RotationFinisherParts, record: RotationRecord, { to_kid }: MasterKeyRotation): Promise<void> => {
  const { masterKeyFile, annalsData, logger, graceMs } = parts;
  const { continueMasterRotation } = await import('./rotate-master-key.ts');
  const { scavengeKeys } = await import('./scavenge-keys.ts');
  const outcome = await continueMasterRotation({
    record,
    masterKeyFile,
    scavenge: () => scavengeKeys(annalsData),
    actor: ACTOR,
    onProgress: (line) => logger.info(line),
    ...(graceMs !== undefined && { graceMs }),
  });
  if (outcome === 'completed') logger.info({ kid: to_kid }, 'the master key was replaced');
};

const continueDataKey = async (parts: RotationFinisherParts, record: RotationRecord, tenant: string, kid: string): Promise<void> => {
  const { masterKeyFile, vault, blobs, logger } = parts;
  const { continueDataKeyRotation } = await import('./rotate-data-key.ts');
  const onProgress = (line: string): void => logger.info(line);
  const opened = { record, masterKeyFile, vault: await vault.open(), blobs: await blobs(), actor: ACTOR, onProgress };
  const resealed = await continueDataKeyRotation(opened, tenant, kid);
  logger.info({ tenant, kid, ...resealed }, 'the data key of a tenant was replaced');
};

/** Continues rotations of `annals vault rotate` that were not completed, for example because it was killed. Loads the modules only then. */
export const startRotationFinisher = (parts: RotationFinisherParts) => {
  /** The new master key for which all keys were prepared. The rotation waits until an operator confirms it. */
  let prepared: string | null = null;

  const run = async (): Promise<boolean> => {
    const { openRotationRecord } = await import('./rotation-record.ts');
    const record = openRotationRecord(parts.log);
    const { master, data_keys } = await record.load();
    if (master && (master.is_confirmed || master.to_kid !== prepared)) {
      await continueMaster(parts, record, master);
      prepared = master.to_kid;
    }
    for (const [tenant, kid] of Object.entries(data_keys)) await continueDataKey(parts, record, tenant, kid);
    return false;
  };

  const failure = 'a rotation of keys cannot be continued now; trying again';
  return startTimedReactor({ lock: LOCK, intervalMs: INTERVAL_MS, failure, run }, parts);
};
