import { type HeldPorts, handOnHeld } from '../../commands/webhooks/release-held.reactor.ts';
import type { Reads } from '../../projections/read-model.ts';
import { heldDeliveries, MAX_PER_SOURCE } from '../../projections/webhooks/held-delivery.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { Log } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 1_000;
const LOCK = 'reactor held deliveries';
const ACTOR = { kind: 'system', id: 'guardrails' } as const;

type HeldParts = { readonly log: Log; readonly ports: () => Promise<HeldPorts> };

/**
 * Sends those held deliveries to their agents that the rules allow at `at`. Returns whether more may go on at once.
 * @throws Refusal unavailable, LogError
 */
export const releaseHeldDeliveries = async ({ log, ports }: HeldParts, reads: Pick<Reads, 'rows'>, at: string): Promise<boolean> => {
  const held = await heldDeliveries(reads);
  if (held.length === 0) return false;
  const count = await handOnHeld(reactorContext(log, { actor: ACTOR, at }), await ports(), held);
  return count >= MAX_PER_SOURCE;
};

/**
 * Starts the reactor that checks every second whether held deliveries can go on. If none is held, a check costs one index
 * look-up.
 */
export const startHeldReleaser = ({ log, ports, ...parts }: TimedReactorParts & HeldParts) =>
  startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'held deliveries cannot go on now; trying again',
      run: (reads, at) => releaseHeldDeliveries({ log, ports }, reads, at),
    },
    parts,
  );
