import { appliesTo, type BlackoutFields, covers } from './blackout.ts';
import { nextOccurrence, type Recurrence } from './recurrence.ts';

export type PresentBlackout = BlackoutFields & { readonly id: string };

/** A future occurrence, and whether it would fire according to the present blackouts. */
export type PreviewedOccurrence = {
  readonly due_at: string;
  readonly decision: 'fired' | 'suppressed';
  readonly reason: 'blackout' | null;
  readonly blackout_id: string | null;
};

/** Returns the first blackout that covers an occurrence of an agent's job; undefined if there is none. */
export const blackoutOf = <B extends BlackoutFields>(blackouts: readonly B[], agent_id: string, dueAt: string): B | undefined =>
  blackouts.find((blackout) => appliesTo(blackout, agent_id) && covers(blackout, dueAt));

export type PreviewOptions = {
  readonly agent_id: string;
  readonly blackouts: readonly PresentBlackout[];
  readonly after: string;
  readonly limit: number;
};

/** Returns the next occurrences of a schedule, at most `limit`. */
export const preview = (recurrence: Recurrence, { agent_id, blackouts, after, limit }: PreviewOptions): PreviewedOccurrence[] => {
  const occurrences: PreviewedOccurrence[] = [];
  let due_at = nextOccurrence(recurrence, after);
  while (due_at !== null && occurrences.length < limit) {
    const blackout = blackoutOf(blackouts, agent_id, due_at);
    const suppressed = { decision: 'suppressed', reason: 'blackout', blackout_id: blackout?.id ?? null } as const;
    occurrences.push({ due_at, ...(blackout ? suppressed : { decision: 'fired', reason: null, blackout_id: null }) });
    due_at = nextOccurrence(recurrence, due_at);
  }
  return occurrences;
};

/** The due times that the preview of a blackout checks: those after `after`, at most `limit` results. */
export type SuppressionOptions = { readonly after: string; readonly limit: number };

/** The maximum number of due times that are checked for one job. */
const MAX_CHECKED = 10_000;

/** Returns the due times of a job that the blackout would suppress, at most `limit`. */
export const suppressedBy = (blackout: BlackoutFields, recurrence: Recurrence, { after, limit }: SuppressionOptions): string[] => {
  const start = `${blackout.start_date}T00:00:00.000Z`;
  // A local date can start up to 14 hours before the same date in UTC, so the search starts a day earlier.
  const dayBefore = new Date(Date.parse(start) - 86_400_000).toISOString();
  const suppressed: string[] = [];
  let dueAt = nextOccurrence(recurrence, dayBefore > after ? dayBefore : after);
  for (let checked = 0; dueAt !== null && suppressed.length < limit && checked < MAX_CHECKED; checked++) {
    if (covers(blackout, dueAt)) suppressed.push(dueAt);
    dueAt = nextOccurrence(recurrence, dueAt);
  }
  return suppressed;
};
