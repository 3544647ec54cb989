import type { Decision } from '../../domain/aggregate.ts';
import { type Actor, PLATFORM } from '../../domain/event.ts';
import * as KeyRotation from '../../domain/operations/key-rotation.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';

/** The access to the record of key rotations in the log. */
export type RotationRecord = {
  readonly log: Log;
  /**
   * Loads the key rotations that are running.
   * @throws LogError unavailable
   */
  readonly load: () => Promise<KeyRotation.KeyRotations>;
  /**
   * Makes a decision about the key rotations, and appends its events.
   * @throws Refusal unavailable
   */
  readonly transact: (
    decide: Decision<KeyRotation.KeyRotations, KeyRotation.KeyRotationEvent>,
    actor: Actor,
  ) => Promise<KeyRotation.KeyRotations>;
};

export const openRotationRecord = (log: Log): RotationRecord => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  return {
    log,
    load: async () => (await cache.refresh(KeyRotation, PLATFORM, KeyRotation.ROTATIONS_ID)).state,
    transact: async (decide, actor) => {
      const at = new Date().toISOString();
      const meta = { tenant: PLATFORM, actor, at, v: 1 };
      const id = KeyRotation.ROTATIONS_ID;
      return (await transact({ aggregate: KeyRotation, tenant: PLATFORM, id, decide, meta, seed: `${at} ${Math.random()}` })).state;
    },
  };
};
