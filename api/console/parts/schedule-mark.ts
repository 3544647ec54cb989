import type { ReplyOf } from '../../http/ask.ts';
import type { cronOccurrenceOperations } from '../../schedule/cron-occurrences.ts';
import { badge } from './badge.ts';
import { icon } from './icon.ts';
import { type Child, tags } from './tags.ts';
import { zoned } from './time.ts';

const { ul, li, span, time, details, summary } = tags;

export type Occurrence = ReplyOf<(typeof cronOccurrenceOperations)['listCronOccurrences']>[number];
/** An occurrence. A preview does not know its id. */
type Marked = Pick<Occurrence, 'due_at' | 'decision' | 'reason'> & { readonly predicted: boolean; readonly occurrence_id?: string };

const STATES = ['fired', 'predicted', 'suppressed', 'missed', 'skipped'] as const;
type State = (typeof STATES)[number];

const ICONS = { fired: 'circle-check', predicted: 'clock', suppressed: 'ban', missed: 'circle-x', skipped: 'circle-dashed' } as const;

/**
 * Returns the state of an occurrence: its decision, except that an occurrence which will probably fire is `predicted`.
 */
export const stateOf = ({ decision, predicted }: Pick<Marked, 'decision' | 'predicted'>): State =>
  predicted && decision === 'fired' ? 'predicted' : decision;

/** Returns the state of an occurrence in words, with its reason: `suppressed: blackout, predicted`. */
export const stateText = (occurrence: Marked): string => {
  const state = stateOf(occurrence);
  const reason = occurrence.reason === null ? '' : `: ${occurrence.reason.replaceAll('_', ' ')}`;
  return `${state}${reason}${occurrence.predicted && state !== 'predicted' ? ', predicted' : ''}`;
};

const mark = (occurrence: Marked) => {
  const state = stateOf(occurrence);
  const words = stateText(occurrence);
  const { occurrence_id: id } = occurrence;
  const identity = id === undefined ? {} : { 'data-kind': 'cron-occurrence', 'data-id': id };
  return li(
    { class: `mark ${state}`, ...identity, 'data-state': state, 'data-due': occurrence.due_at, title: words },
    icon(ICONS[state]),
    time({ datetime: occurrence.due_at }, zoned(occurrence.due_at, 'clock')),
    span({ class: 'hidden' }, ` ${words}`),
  );
};

/**
 * The maximum number of marks that are always visible. If there are more, all are inside an element that can be opened.
 */
const MAX_OPEN = 6;

/**
 * Renders one mark per occurrence. The occurrences belong to one job and one day. If there are more than `maxOpen`, all
 * are inside an element that can be opened.
 */
export const marksOf = (occurrences: readonly Marked[], maxOpen = MAX_OPEN): Child => {
  if (occurrences.length === 0) return null;
  const marks = ul({ class: 'marks' }, ...occurrences.map(mark));
  if (occurrences.length <= maxOpen) return marks;
  const counts = STATES.map((state) => [state, occurrences.filter((one) => stateOf(one) === state).length] as const);
  const badges = counts.filter(([, count]) => count > 0).map(([state, count]) => badge(state, `${count} ${state}`));
  return details({ class: 'more-marks' }, summary(null, ...badges), marks);
};

/** Renders the state of an occurrence as a badge. */
export const stateBadge = (occurrence: Marked) => badge(stateOf(occurrence), stateText(occurrence));
