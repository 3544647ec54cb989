import type { Decision } from '../../domain/aggregate.ts';
import type { Actor } from '../../domain/event.ts';
import * as KeyRotation from '../../domain/operations/key-rotation.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { Log } from '../eventstore/event-log.ts';

export type RotationRecord = {
  readonly log: Log;
  /** @throws LogError unavailable */
  readonly load: () => Promise<KeyRotation.KeyRotations>;
  /** Decides, and appends the events. @throws Refusal unavailable */
  readonly transact: (
    decide: Decision<KeyRotation.KeyRotations, KeyRotation.KeyRotationEvent>,
    actor: Actor,
  ) => Promise<KeyRotation.KeyRotations>;
};

export const openRotationRecord = (log: Log): RotationRecord => {
  const ctx = reactorContext(log);
  const id = KeyRotation.ROTATIONS_ID;
  return {
    log,
    load: async () => (await ctx.load(KeyRotation, id)).state,
    transact: async (decide, actor) => (await ctx.withActor(actor).transact(KeyRotation, id, decide)).state,
  };
};
