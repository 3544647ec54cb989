import type { Rows } from '../../areas.ts';
import type { ReplyOf, Sent } from '../../http/ask.ts';
import { keepsRhythm } from '../../schedule/cron-rhythm.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card } from '../parts/facts.ts';
import { icon } from '../parts/icon.ts';
import { type Schedule, scheduleText } from '../parts/job-text.ts';
import { type ClockChange, clockChangesAfter, localTimeOf } from '../parts/local-time.ts';
import { dayName, weekdayName } from '../parts/period.ts';
import { stateBadge } from '../parts/schedule-mark.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import type { Visit } from '../visit.ts';

const { p, strong, ul, li, span, time } = tags;

type Previewed = ReplyOf<Rows['previewCronDraft']>;

const SHOWN_TIMES = 5;
const SHOWN_CHANGES = 2;

/** Returns the time of day of a local time. Seconds are shown only if they are not zero. */
const clockOf = (local: string): string => local.slice(11, local.slice(16, 19) === ':00' || local.length === 16 ? 16 : 19);

/** Formats a date for people: `29 March 2027`. */
const dateOf = (local: string): string => `${dayName(local.slice(0, 10))} ${local.slice(0, 4)}`;

/** A time at which clocks skip or repeat the local time for which a job is due. */
const changeMark = ({ due_at, local_time }: Previewed[number], zone: string): Child => {
  if (local_time === null) return null;
  const shown = localTimeOf(due_at, zone);
  if (!`${shown.date}T${shown.time}`.startsWith(local_time))
    return span({ class: 'clock-change', 'data-clock': 'skipped' }, ` instead of ${clockOf(local_time)}, which clocks skip`);
  const wanted = Temporal.PlainDateTime.from(local_time);
  const [first, second] = (['earlier', 'later'] as const).map(
    (disambiguation) => wanted.toZonedDateTime(zone, { disambiguation }).epochMilliseconds,
  );
  if (first === second) return null;
  const which = Date.parse(due_at) === first ? 'first' : 'second';
  return span({ class: 'clock-change', 'data-clock': 'repeated' }, ` the ${which} of two ${clockOf(local_time)}`);
};

const timeItem = (occurrence: Previewed[number], zone: string) => {
  const { date, time: clock } = localTimeOf(occurrence.due_at, zone);
  return li(
    { 'data-due': occurrence.due_at },
    time({ datetime: occurrence.due_at }, `${weekdayName(date)}, ${dateOf(date)}, ${clockOf(`${date}T${clock}`)}`),
    changeMark(occurrence, zone),
    span({ class: 'quiet' }, ' ', ago(occurrence.due_at)),
    occurrence.decision === 'fired' ? null : stateBadge({ ...occurrence, predicted: true }),
  );
};

/** Says what a schedule does when the clocks change. Null if nothing is due in the time that they skip or repeat. */
const changeText = ({ at, from, to }: ClockChange, { cron_expr, timezone }: Schedule, occurrences: Previewed): string | null => {
  const [start, end] = from < to ? [from, to] : [to, from];
  const affected = occurrences.find(
    ({ due_at, local_time }) => local_time !== null && start <= local_time && local_time < end && due_at <= at,
  );
  if (!affected) return null;
  const example = `such as ${clockOf(affected.local_time!)}`;
  const hasRhythm = typeof cron_expr === 'string' && keepsRhythm(cron_expr);
  const fired = localTimeOf(affected.due_at, timezone || 'UTC');
  return from < to
    ? `${dateOf(from)}: clocks skip from ${clockOf(from)} to ${clockOf(to)}. What is due in between, ${example}, fires once, at ${clockOf(hasRhythm ? `${fired.date}T${fired.time}` : to)}.`
    : `${dateOf(from)}: clocks go back from ${clockOf(from)} to ${clockOf(to)}. What is due in between, ${example}, fires ${hasRhythm ? 'both times' : 'the first time only'}.`;
};

/** Returns a time one second before the first instant at which a clock change has an effect. */
const before = ({ at, from, to }: ClockChange): string => {
  const repeated = Math.max(0, Date.parse(`${from}Z`) - Date.parse(`${to}Z`));
  return new Date(Date.parse(at) - repeated - 1_000).toISOString();
};

/** Reads what a schedule of local times does at the next clock changes in its zone. */
const readChanges = async ({ ask, rows, params }: Visit, schedule: Schedule, zone: string): Promise<readonly string[]> => {
  const changes = clockChangesAfter(new Date().toISOString(), zone, SHOWN_CHANGES);
  const path = { tenant_id: params.tenant_id!, agent_id: params.agent_id! };
  const texts = await Promise.all(
    changes.map(async (change) => {
      const draft = { ...schedule, ...path, after: before(change) } as Sent<Rows['previewCronDraft']>;
      const answer = await ask(rows.previewCronDraft, draft);
      return answer.ok ? changeText(change, schedule, answer.value) : null;
    }),
  );
  return texts.filter((text) => text !== null);
};

/** Renders what a schedule means: in words, its next due times, and what happens at the next clock changes. */
export const cronPreview = async (visit: Visit, schedule: Schedule, occurrences: Previewed): Promise<Child> => {
  if (occurrences.length === 0)
    return emptyState({ icon: 'calendar-clock', title: 'The job is never due', why: 'No time after now matches its schedule.' });
  const zone = schedule.timezone || 'UTC';
  const changes = occurrences[0]!.local_time === null ? [] : await readChanges(visit, schedule, zone);
  return card(
    'When it is due',
    p({ role: 'status', 'data-words': '' }, strong(null, scheduleText(schedule))),
    ul({ class: 'due-times' }, ...occurrences.slice(0, SHOWN_TIMES).map((occurrence) => timeItem(occurrence, zone))),
    ...changes.map((text) => p({ class: 'note clock-change', 'data-change': '' }, icon('clock'), span(null, text))),
  );
};
