import { appliesTo, type BlackoutFields, covers } from './blackout.ts';
import { nextOccurrence, type Recurrence } from './recurrence.ts';

export type PresentBlackout = BlackoutFields & { readonly id: string };

/** An occurrence in the future, and whether it will fire, as things are now. */
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

/** Returns the next occurrences of a schedule: at most `limit`. */
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

/** What a preview of a blackout may look at: due times from `after` on, at most `limit` of them. */
export type SuppressionOptions = { readonly after: string; readonly limit: number };

/** The most due times of one job that are checked. */
const MAX_CHECKED = 10_000;

/** Returns when a job would be due while the blackout covers it: at most `limit` times. */
export const suppressedBy = (blackout: BlackoutFields, recurrence: Recurrence, { after, limit }: SuppressionOptions): string[] => {
  const start = `${blackout.start_date}T00:00:00.000Z`;
  // Clocks can be up to 14 hours ahead of UTC: start a day early.
  const dayBefore = new Date(Date.parse(start) - 86_400_000).toISOString();
  const suppressed: string[] = [];
  let dueAt = nextOccurrence(recurrence, dayBefore > after ? dayBefore : after);
  for (let checked = 0; dueAt !== null && suppressed.length < limit && checked < MAX_CHECKED; checked++) {
    if (covers(blackout, dueAt)) suppressed.push(dueAt);
    dueAt = nextOccurrence(recurrence, dueAt);
  }
  return suppressed;
};
