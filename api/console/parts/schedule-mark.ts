import type { ReplyOf } from '../../http/ask.ts';
import type { cronOccurrenceOperations } from '../../schedule/cron-occurrences.ts';
import { badge } from './badge.ts';
import { icon } from './icon.ts';
import { type Child, tags } from './tags.ts';
import { zoned } from './time.ts';

const { ul, li, span, time } = tags;

export type Occurrence = ReplyOf<(typeof cronOccurrenceOperations)['listCronOccurrences']>[number];
/** An occurrence without its id, which a preview does not know. */
type Marked = Pick<Occurrence, 'due_at' | 'decision' | 'reason'> & { readonly predicted: boolean; readonly occurrence_id?: string };

const STATES = ['fired', 'predicted', 'suppressed', 'missed', 'skipped'] as const;
export type MarkState = (typeof STATES)[number];

export const MARK_ICONS = {
  fired: 'circle-check',
  predicted: 'clock',
  suppressed: 'ban',
  missed: 'circle-x',
  skipped: 'circle-dashed',
} as const;

/**
 * Returns the state of an occurrence: its decision, except that an occurrence which will probably fire is `predicted`.
 */
export const stateOf = ({ decision, predicted }: Pick<Marked, 'decision' | 'predicted'>): MarkState =>
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
    icon(MARK_ICONS[state]),
    time({ datetime: occurrence.due_at }, zoned(occurrence.due_at, 'clock')),
    span({ class: 'hidden' }, ` ${words}`),
  );
};

/** Renders one mark per occurrence. */
export const marksOf = (occurrences: readonly Marked[]): Child => ul({ class: 'marks' }, ...occurrences.map(mark));

/** Renders the state of an occurrence as a badge. */
export const stateBadge = (occurrence: Marked) => badge(stateOf(occurrence), stateText(occurrence));
