import { appliesTo, type BlackoutFields, covers, periodsFrom } from './blackout.ts';
import { type DueTime, nextDueTime, nextOccurrence, type Recurrence } from './recurrence.ts';

export type PresentBlackout = BlackoutFields & { readonly id: string };

/** A future occurrence, and whether it would fire with the present blackouts. */
export type PreviewedOccurrence = DueTime & {
  readonly decision: 'fired' | 'suppressed';
  readonly reason: 'blackout' | null;
  readonly blackout_id: string | null;
};

/** Returns the first blackout that includes an occurrence of the agent's job; undefined if there is none. */
export const blackoutOf = <B extends BlackoutFields>(blackouts: readonly B[], agent_id: string, dueAt: string): B | undefined =>
  blackouts.find((blackout) => appliesTo(blackout, agent_id) && covers(blackout, dueAt));

export type PreviewOptions = {
  readonly agent_id: string;
  readonly blackouts: readonly PresentBlackout[];
  readonly after: string;
  readonly limit: number;
};

/** Returns the next occurrences of a schedule after `after`, at most `limit` of them. */
export const preview = (recurrence: Recurrence, { agent_id, blackouts, after, limit }: PreviewOptions): PreviewedOccurrence[] => {
  const occurrences: PreviewedOccurrence[] = [];
  let due = nextDueTime(recurrence, after);
  while (due !== null && occurrences.length < limit) {
    const blackout = blackoutOf(blackouts, agent_id, due.due_at);
    const suppressed = { decision: 'suppressed', reason: 'blackout', blackout_id: blackout?.id ?? null } as const;
    occurrences.push({ ...due, ...(blackout ? suppressed : { decision: 'fired', reason: null, blackout_id: null }) });
    due = nextDueTime(recurrence, due.due_at);
  }
  return occurrences;
};

/** The due times that a preview of a blackout returns: those after `after`, at most `limit` of them. */
export type SuppressionOptions = { readonly after: string; readonly limit: number };

/** The maximum number of due times that are compared with the blackout for one job. */
const MAX_CHECKED = 10_000;
const DAY_MS = 86_400_000;

const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Returns the start, in UTC, of the day that is `days` days after `date`. If this is after the year 9999, returns the
 * end of that year.
 */
export const startOf = (date: string, days: number): string =>
  new Date(Math.min(LAST_MS, Date.parse(`${date}T00:00:00.000Z`) + days * DAY_MS)).toISOString();

/**
 * Returns the due times of a job that the blackout would suppress, at most `limit` of them. Only due times near the
 * days of the blackout are checked. In some time zones a day starts up to 14 hours before the same day in UTC, and in
 * others it ends up to 12 hours after it; so the check starts a day earlier and ends a day later.
 */
export const suppressedBy = (blackout: BlackoutFields, recurrence: Recurrence, { after, limit }: SuppressionOptions): string[] => {
  const suppressed: string[] = [];
  let checked = 0;
  let from = after;
  for (const [first, last] of periodsFrom(blackout, startOf(after.slice(0, 10), -1).slice(0, 10))) {
    const start = startOf(first, -1);
    if (start > from) from = start;
    for (let dueAt = nextOccurrence(recurrence, from); ; dueAt = nextOccurrence(recurrence, from)) {
      if (dueAt === null || suppressed.length === limit || checked === MAX_CHECKED) return suppressed;
      if (dueAt >= startOf(last, 2)) break;
      if (covers(blackout, dueAt)) suppressed.push(dueAt);
      from = dueAt;
      checked++;
    }
  }
  return suppressed;
};
