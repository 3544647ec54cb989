import type { ReplyOf } from '../../http/ask.ts';
import type { cronSummaryOperations } from '../../schedule/cron-summary.ts';
import { counted, countText } from './count-text.ts';
import { icon } from './icon.ts';
import { MARK_ICONS, type MarkState, stateOf, stateText } from './schedule-mark.ts';
import { type Child, tags } from './tags.ts';
import { zoned } from './time.ts';

const { ul, li, span, time } = tags;

/** A job with the numbers of its occurrences by day. */
export type JobRuns = ReplyOf<(typeof cronSummaryOperations)['summarizeCronOccurrences']>[number];
export type DayRuns = JobRuns['days'][number];

/** The numbers of a summary, and the state that each of them counts. */
const STATES = [
  ['fired', 'fired'],
  ['predicted', 'planned'],
  ['suppressed', 'suppressed'],
  ['missed', 'missed'],
  ['skipped', 'skipped'],
] as const satisfies readonly (readonly [MarkState, keyof DayRuns])[];

const mark = (state: MarkState, title: string, ...content: Child[]) =>
  li({ class: `mark ${state}`, title }, icon(MARK_ICONS[state]), ...content);

const timeMark = (occurrence: DayRuns['occurrences'][number]) => {
  const words = stateText(occurrence);
  const at = time({ datetime: occurrence.due_at }, zoned(occurrence.due_at, 'clock'));
  return mark(stateOf(occurrence), words, at, span({ class: 'hidden' }, ` ${words}`));
};

const countMarks = (day: DayRuns): readonly Child[] =>
  STATES.flatMap(([state, name]) => {
    const count = day[name];
    if (count === 0) return [];
    const inState = `${countText(count)} ${name}`;
    // If all occurrences of a day have fired or are planned, they are called runs.
    if (count < day.due || (name !== 'fired' && name !== 'planned'))
      return [mark(state, inState, span(null, countText(count), span({ class: 'state-word' }, ` ${name}`)))];
    return [mark(state, inState, span(null, counted(count, 'run')), span({ class: 'hidden' }, ` ${name}`))];
  });

/** Renders the occurrences of a job on a day: the times of a few, or the number in each state. */
export const dayMarks = (day: DayRuns | undefined): Child =>
  day === undefined
    ? null
    : ul(
        { class: 'marks', 'data-runs': String(day.due), 'data-date': day.date },
        ...(day.occurrences.length > 0 ? day.occurrences.map(timeMark) : countMarks(day)),
      );

/** Explains the marks that these days have. */
export const markLegend = (days: readonly DayRuns[]): Child =>
  ul(
    { class: 'marks legend', 'aria-label': 'What the marks mean' },
    ...STATES.filter(([, name]) => days.some((day) => day[name] > 0)).map(([state, name]) =>
      li({ class: `mark ${state}` }, icon(MARK_ICONS[state]), span(null, name)),
    ),
  );

/** Returns the jobs whose runs in the period are all suppressed by blackouts. */
export const skippedEntirely = (jobs: readonly JobRuns[]): readonly JobRuns[] =>
  jobs.filter(({ due, suppressed_by_blackout }) => due > 0 && due === suppressed_by_blackout);
