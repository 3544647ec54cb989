import type { Logger } from 'pino';
import { type HeldPorts, type HeldResult, handOnHeld, sourceKey } from '../../commands/deliveries/release-held.reactor.ts';
import { type HeldSource, heldDeliveries } from '../../projections/deliveries/held-delivery.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import { isUnreachable, type Log } from '../eventstore/event-log.ts';
import { type TimerServices, timedRuns } from '../reactors/timed.ts';

const ACTOR = { kind: 'system', id: 'guardrails' } as const;

/** After this time, a run ends, and the next one continues. */
const MAX_RUN_MS = 5_000;
/** A source is examined again even before `until`: its rules may change. */
const WAIT_MS = 2_000;
const MAX_WAIT_MS = 30_000;
const FAILURE_DELAY_MS = 60_000;

type HeldParts = {
  readonly log: Log;
  readonly releases: () => Promise<HeldPorts>;
  readonly logger: Pick<Logger, 'error'>;
  readonly now?: () => number;
};

/** `after` is where the next run starts; `due` is when waiting sources are due (Unix milliseconds). */
export type HeldMemory = { after: HeldSource | null; readonly due: Map<string, number> };

export const createHeldMemory = (): HeldMemory => ({ after: null, due: new Map() });

const dueTime = (now: number, until: string | null): number =>
  until === null ? now + WAIT_MS : Math.min(Math.max(Date.parse(until), now + WAIT_MS), now + MAX_WAIT_MS);

const remember = ({ due }: HeldMemory, now: number, { waits, failed }: HeldResult): void => {
  for (const [source, time] of due) if (time <= now) due.delete(source);
  for (const [source, { until }] of waits) due.set(source, dueTime(now, until));
  for (const source of failed) due.set(source, now + FAILURE_DELAY_MS);
};

/** Sends deliveries that the rules allow now to their agents. Returns whether another run may find more at once. @throws LogError */
export const releaseHeldDeliveries = async (
  { log, releases, logger, now = Date.now }: HeldParts,
  reads: Pick<Reads, 'rows'>,
  memory: HeldMemory = createHeldMemory(),
): Promise<boolean> => {
  const started = performance.now();
  const isDue = (source: HeldSource): boolean => (memory.due.get(sourceKey(source)) ?? 0) <= now();
  const { held, last } = await heldDeliveries(reads, { after: memory.after, isDue });
  const result =
    held.length === 0
      ? NOTHING_HELD
      : await handOnHeld(reactorContext(log, { actor: ACTOR, now }), await releases(), held, {
          hasTime: () => performance.now() - started < MAX_RUN_MS,
          failed: ({ tenant_id, id }, error) => {
            if (isUnreachable(error)) throw error;
            logger.error({ delivery: id, tenant: tenant_id, reason: error.message }, 'a held delivery cannot continue now; trying again');
          },
        });
  remember(memory, now(), result);
  if (result.isComplete) memory.after = last;
  return !result.isComplete || last !== null;
};

const NOTHING_HELD: HeldResult = { waits: new Map(), failed: new Set(), isComplete: true };

/** Sends held deliveries that can continue. If none is held, this costs one index look-up. */
export const heldReleases = timedRuns({
  lock: 'reactor held deliveries',
  everyMs: 1_000,
  failure: 'held deliveries cannot continue now; trying again',
  open: (services: TimerServices & HeldParts) => {
    const memory = createHeldMemory();
    return { run: (reads) => releaseHeldDeliveries(services, reads, memory) };
  },
});
