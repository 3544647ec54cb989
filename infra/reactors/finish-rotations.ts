import type { Actor } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 10_000;
const LOCK = 'reactor key rotations';
const ACTOR: Actor = { kind: 'system', id: 'annals' };

export type RotationFinisherParts = TimedReactorParts & {
  readonly log: Log;
  readonly masterKeyFile: string;
  readonly annalsData: string;
  readonly graceMs?: number;
};

/**
 * Continues rotations of keys that `annals vault rotate` has started and not completed, for example because it was
 * killed. The modules are loaded only if there is one.
 */
export const startRotationFinisher = ({ log, masterKeyFile, annalsData, graceMs, ...parts }: RotationFinisherParts) => {
  /** The id of the master key for which all keys were prepared. Until that is confirmed, nothing more is to be done. */
  let prepared: string | null = null;
  return startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'a rotation of keys cannot be continued now; trying again',
      run: async () => {
        const { openRotationRecord } = await import('../rotation/rotation-record.ts');
        const record = openRotationRecord(log);
        const { master } = await record.load();
        if (!master || (master.to_kid === prepared && !master.is_confirmed)) return false;
        const { continueMasterRotation } = await import('../rotation/rotate-master-key.ts');
        const { scavengeKeys } = await import('../rotation/scavenge-keys.ts');
        const outcome = await continueMasterRotation({
          record,
          masterKeyFile,
          scavenge: () => scavengeKeys(annalsData),
          actor: ACTOR,
          onProgress: (line) => parts.logger.info(line),
          ...(graceMs !== undefined && { graceMs }),
        });
        prepared = master.to_kid;
        if (outcome === 'completed') parts.logger.info({ kid: master.to_kid }, 'the master key was replaced');
        return false;
      },
    },
    parts,
  );
};
