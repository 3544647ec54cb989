import type { Recorded } from '../event.ts';
import {
  type BudgetEvent,
  type BudgetHour,
  type Commitment,
  commitmentOf,
  committedMicros,
  evolve,
  hourEnd,
  initial,
} from './budget-hour.ts';

/** Amounts are in micro-dollars. */
export type BudgetUsage = {
  readonly reserved: number;
  /** The commitment at the end of the hour or, if the hour has not ended, at the time `until`. */
  readonly commitment: Commitment;
  readonly refused: number;
  readonly refused_sessions: number;
  readonly refused_reservation_id: string | null;
  /** The event in which the first refused reservation was requested. */
  readonly refused_event_id: string | null;
};

type Attempt = Recorded<Extract<BudgetEvent, { type: 'BudgetReserved' | 'BudgetRefused' }>>;

/** Grants the attempt, to find out how another limit would have worked. It is never settled, so it counts until the end of the hour. */
const granted = (attempt: Attempt, index: number): Recorded<BudgetEvent> => {
  if (attempt.type === 'BudgetReserved') return attempt;
  const { agent_id, hour, session_id, model_id, amount_micros, reservation_id = `refused-${index}` } = attempt.data;
  const data = { agent_id, hour, session_id, model_id, amount_micros, reservation_id, expires_at: hourEnd(attempt.at) };
  return { ...attempt, type: 'BudgetReserved', data };
};

const idOf = ({ data }: Attempt): string | null => data.reservation_id ?? null;

/**
 * `events` of one hour, oldest first. With `limit` (null: no limit), decides each reservation and refused session again by it, in the
 * original order. `until` is the present time.
 */
export const budgetUsage = (events: readonly Recorded<BudgetEvent>[], until: string, limit?: number | null): BudgetUsage => {
  let hour: BudgetHour = initial;
  let [reserved, refused, refused_sessions] = [0, 0, 0];
  let refused_reservation_id: string | null = null;
  let refused_event_id: string | null = null;
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
        refused_event_id ??= attempt.event_id;
      }
    } else if (event.type === 'BudgetSettled') {
      if (!hour.reservations[event.data.reservation_id]) continue;
      hour = evolve(hour, event);
    } else if (event.type === 'BudgetSessionRefused') {
      if (limit === undefined || (limit !== null && committedMicros(hour, event.at) >= limit)) refused_sessions += 1;
    } else hour = evolve(hour, event);
  const first = events[0];
  const end = first ? hourEnd(first.data.hour) : until;
  return {
    reserved,
    commitment: commitmentOf(hour, until < end ? until : end),
    refused,
    refused_sessions,
    refused_reservation_id,
    refused_event_id,
  };
};
