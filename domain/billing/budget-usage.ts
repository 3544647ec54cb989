import type { Recorded } from '../event.ts';
import { type BudgetEvent, type BudgetHour, committedMicros, evolve, hourEnd, initial } from './budget-hour.ts';

/** What became of the budget of one hour. All amounts are in micro-dollars. */
export type BudgetUsage = {
  /** The amounts of the reservations that were granted. */
  readonly reserved: number;
  /** The amounts with which they were settled. */
  readonly settled: number;
  /** What is spent or reserved at the end of the hour, or at the time `until` before it. */
  readonly committed: number;
  readonly refused: number;
  readonly refused_reservation_id: string | null;
};

type Attempt = Recorded<Extract<BudgetEvent, { type: 'BudgetReserved' | 'BudgetRefused' }>>;

/** A refused reservation as one that is granted: nobody settles it, so it counts until the hour ends. */
const granted = (attempt: Attempt, index: number): Recorded<BudgetEvent> => {
  if (attempt.type === 'BudgetReserved') return attempt;
  const { agent_id, hour, session_id, model_id, amount_micros, reservation_id = `refused-${index}` } = attempt.data;
  const data = { agent_id, hour, session_id, model_id, amount_micros, reservation_id, expires_at: hourEnd(attempt.at) };
  return { ...attempt, type: 'BudgetReserved', data };
};

const idOf = ({ data }: Attempt): string | null => data.reservation_id ?? null;

/**
 * What the events of an hour say, the oldest first. With `limit`, each reservation is decided anew by this limit
 * (null: none) in the order in which it was asked for. `until` is the present time.
 */
export const budgetUsage = (events: readonly Recorded<BudgetEvent>[], until: string, limit?: number | null): BudgetUsage => {
  let hour: BudgetHour = initial;
  let [reserved, settled, refused] = [0, 0, 0];
  let refused_reservation_id: string | null = null;
  const isGranted = (attempt: Attempt): boolean => {
    if (limit === undefined) return attempt.type === 'BudgetReserved';
    return limit === null || committedMicros(hour, attempt.at) + attempt.data.amount_micros <= limit;
  };
  for (const [index, event] of events.entries())
    if (event.type === 'BudgetReserved' || event.type === 'BudgetRefused') {
      const attempt = event as Attempt;
      if (isGranted(attempt)) {
        hour = evolve(hour, granted(attempt, index));
        reserved += attempt.data.amount_micros;
      } else {
        refused += 1;
        refused_reservation_id ??= idOf(attempt);
      }
    } else if (event.type === 'BudgetSettled') {
      if (!hour.reservations[event.data.reservation_id]) continue;
      hour = evolve(hour, event);
      settled += event.data.settled_micros;
    } else hour = evolve(hour, event);
  const first = events[0];
  const end = first ? hourEnd(first.data.hour) : until;
  return { reserved, settled, committed: committedMicros(hour, until < end ? until : end), refused, refused_reservation_id };
};
