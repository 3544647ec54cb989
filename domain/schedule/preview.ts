import { instantOf } from '../time-zone.ts';
import { appliesTo, type BlackoutFields, covers, periodsFrom } from './blackout.ts';
import { isTooLate, occurrenceId } from './cron-run.ts';
import { type DueTime, nextDueTime, nextOccurrence, type Recurrence } from './recurrence.ts';

export type PresentBlackout = BlackoutFields & { readonly id: string };

/** Whether it would fire as things are now. */
export type PreviewedOccurrence = DueTime & {
  readonly decision: 'fired' | 'suppressed';
  readonly reason: 'blackout' | 'agent_inactive' | null;
  readonly blackout_id: string | null;
};

/** The first blackout that includes an occurrence of the agent's job. */
export const blackoutOf = <B extends BlackoutFields>(blackouts: readonly B[], agent_id: string, dueAt: string): B | undefined =>
  blackouts.find((blackout) => appliesTo(blackout, agent_id) && covers(blackout, dueAt));

/** A job that exists: `decided` has the ids of its occurrences whose decisions are recorded. */
type PreviewedJob = { readonly id: string; readonly isInactive: boolean; readonly now: string; readonly decided: ReadonlySet<string> };

export type PreviewOptions = {
  readonly agent_id: string;
  readonly blackouts: readonly PresentBlackout[];
  readonly after: string;
  readonly limit: number;
  readonly job?: PreviewedJob;
};

/**
 * Returns the decision about an occurrence that is neither decided nor missed. `isInactive`: the job's agent, or the one that it calls, is
 * inactive.
 */
export const presentDecision = (
  due_at: string,
  { agent_id, isInactive }: { readonly agent_id: string; readonly isInactive: boolean },
  blackouts: readonly PresentBlackout[],
): Omit<PreviewedOccurrence, keyof DueTime> => {
  if (isInactive) return { decision: 'suppressed', reason: 'agent_inactive', blackout_id: null };
  const blackout = blackoutOf(blackouts, agent_id, due_at);
  return blackout
    ? { decision: 'suppressed', reason: 'blackout', blackout_id: blackout.id }
    : { decision: 'fired', reason: null, blackout_id: null };
};

/** Returns at most `limit` due times after `after`. For a job, leaves out those whose decisions are recorded and those that are due for too long. */
export const preview = (recurrence: Recurrence, { agent_id, blackouts, after, limit, job }: PreviewOptions): PreviewedOccurrence[] => {
  const planned = { agent_id, isInactive: job?.isInactive ?? false };
  const occurrences: PreviewedOccurrence[] = [];
  for (let due = nextDueTime(recurrence, after); due !== null && occurrences.length < limit; ) {
    const next = nextDueTime(recurrence, due.due_at);
    const isDecided = job?.decided.has(occurrenceId(job.id, due.due_at));
    const isMissed = job !== undefined && due.due_at <= job.now && isTooLate(due.due_at, next?.due_at ?? null, job.now);
    if (!isDecided && !isMissed) occurrences.push({ ...due, ...presentDecision(due.due_at, planned, blackouts) });
    due = next;
  }
  return occurrences;
};

/** After `after`, at most `limit`. */
export type SuppressionOptions = { readonly after: string; readonly limit: number };

/** Due times per job that are compared with the blackout. */
const MAX_CHECKED = 10_000;
const DAY_MS = 86_400_000;

const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** In UTC, of the day `days` days after `date`; at most the end of the year 9999. */
export const startOf = (date: string, days: number): string =>
  new Date(Math.min(LAST_MS, Date.parse(`${date}T00:00:00.000Z`) + days * DAY_MS)).toISOString();

const LAST_DAY = '9999-12-31';

/** Returns the start of the day after a date, or of the month after it, in a time zone; null after the year 9999. */
export const startAfter = (date: string, unit: 'days' | 'months', zone: string): string | null => {
  if (date >= LAST_DAY) return null;
  const start = Temporal.PlainDate.from(unit === 'months' ? `${date.slice(0, 7)}-01` : date).add({ [unit]: 1 });
  return start.year > 9_999 ? null : instantOf(`${start}T00:00:00`, zone);
};

/**
 * Checks only due times near the blackout's days, a day earlier and later: a day starts up to 14 hours before the same day in UTC, and
 * ends up to 12 hours after it.
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
