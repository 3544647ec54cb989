import type { ReplyOf } from '../../http/ask.ts';
import type { blackoutOperations } from '../../schedule/blackout.ts';
import { localTimeOf } from './local-time.ts';
import { moduleScript } from './module-script.ts';
import { dayName, type Period, weekdayName, weekdayOf } from './period.ts';
import { marksOf, type Occurrence } from './schedule-mark.ts';
import { type Child, tags } from './tags.ts';

const { a, div, table, caption, thead, tbody, tr, th, td, span } = tags;

export type Blackout = ReplyOf<(typeof blackoutOperations)['listCronBlackouts']>[number];

/** What a calendar shows: the occurrences and the blackouts of a period. */
export type Calendar = {
  readonly period: Period;
  readonly today: string;
  /** The time zone of the calendar's days. */
  readonly zone: string;
  readonly occurrences: readonly Occurrence[];
  readonly blackouts: readonly Blackout[];
  /** Renders the name of a job, with a link to its page if it has one. */
  readonly jobName: (occurrence: Occurrence) => Child;
  readonly agentName: (agent_id: string) => string;
  /** Returns the URL of the calendar for one day. */
  readonly dayHref: (day: string) => string;
};

const yearsLater = (date: string, years: number): string => Temporal.PlainDate.from(date).add({ years }).toString();

/** Whether a date is one of the days of a blackout. */
export const isDayOf = ({ start_date, end_date, recurring_yearly }: Blackout, date: string): boolean => {
  if (!recurring_yearly) return start_date <= date && date <= end_date;
  const years = Number(date.slice(0, 4)) - Number(start_date.slice(0, 4));
  return [years, years - 1].some((after) => after >= 0 && yearsLater(start_date, after) <= date && date <= yearsLater(end_date, after));
};

const blackoutText = ({ name, timezone, reason }: Blackout, { zone }: Calendar): string =>
  [`Blackout: ${name}`, reason, timezone === zone ? null : `days in ${timezone}`].filter((part) => part !== null).join(' · ');

const scopeOf = ({ agent_id }: Blackout, { agentName }: Calendar): string => (agent_id === null ? 'all agents' : agentName(agent_id));

/** Groups occurrences by job. The jobs are in the order of their first occurrence. */
const byJob = (occurrences: readonly Occurrence[]): readonly (readonly [Occurrence, ...Occurrence[]])[] =>
  [...Map.groupBy(occurrences, ({ job_id }) => job_id).values()] as unknown as readonly (readonly [Occurrence, ...Occurrence[]])[];

const onDay = (occurrences: readonly Occurrence[], day: string, zone: string) =>
  occurrences.filter(({ due_at }) => localTimeOf(due_at, zone).date === day);

const dayHead = (day: string, { today, dayHref }: Calendar) =>
  th(
    { scope: 'col', 'aria-current': day === today ? 'date' : null },
    a({ href: dayHref(day), 'data-day': day }, weekdayName(day), span({ class: 'quiet' }, ` ${dayName(day)}`)),
  );

const bandRow = (blackout: Blackout, calendar: Calendar) =>
  tr(
    { class: 'band', 'data-kind': 'blackout', 'data-id': blackout.id },
    th({ scope: 'row' }, blackoutText(blackout, calendar), div({ class: 'quiet' }, scopeOf(blackout, calendar))),
    ...calendar.period.days.map((day) =>
      isDayOf(blackout, day) ? td({ class: 'covered' }, span({ class: 'hidden' }, 'blackout')) : td(null),
    ),
  );

const jobRow = (occurrences: readonly [Occurrence, ...Occurrence[]], { period, zone, jobName, agentName }: Calendar) =>
  tr(
    { 'data-kind': 'cron-job', 'data-id': occurrences[0].job_id },
    th({ scope: 'row' }, jobName(occurrences[0]), div({ class: 'quiet' }, agentName(occurrences[0].agent_id))),
    ...period.days.map((day) =>
      td(null, marksOf(onDay(occurrences, day, zone), period.view === 'day' ? Number.POSITIVE_INFINITY : undefined)),
    ),
  );

const weekTable = (calendar: Calendar) => {
  const { period, occurrences, blackouts } = calendar;
  const bands = blackouts.filter((blackout) => period.days.some((day) => isDayOf(blackout, day)));
  return table(
    { class: 'calendar week' },
    caption({ class: 'hidden' }, `Due times by job and day, ${period.title}`),
    thead(null, tr(null, th({ scope: 'col' }, 'Job'), ...period.days.map((day) => dayHead(day, calendar)))),
    tbody(null, ...bands.map((blackout) => bandRow(blackout, calendar)), ...byJob(occurrences).map((rows) => jobRow(rows, calendar))),
  );
};

const dayCell = (day: string, calendar: Calendar) => {
  const covering = calendar.blackouts.filter((blackout) => isDayOf(blackout, day));
  return td(
    {
      class: covering.length > 0 ? 'covered' : null,
      'aria-current': day === calendar.today ? 'date' : null,
    } as never,
    a({ class: 'day-number', href: calendar.dayHref(day), 'data-day': day }, dayName(day)),
    ...covering.map((blackout) =>
      div(
        { class: 'band', 'data-kind': 'blackout', 'data-id': blackout.id },
        `${blackoutText(blackout, calendar)} (${scopeOf(blackout, calendar)})`,
      ),
    ),
    ...byJob(onDay(calendar.occurrences, day, calendar.zone)).map((rows) =>
      div({ 'data-kind': 'cron-job', 'data-id': rows[0].job_id }, calendar.jobName(rows[0]), marksOf(rows)),
    ),
  );
};

const monthTable = (calendar: Calendar) => {
  const { days, title } = calendar.period;
  const before = weekdayOf(days[0]!);
  const cells = [
    ...Array.from({ length: before }, () => td({ class: 'outside' })),
    ...days.map((day) => dayCell(day, calendar)),
    ...Array.from({ length: (7 - ((before + days.length) % 7)) % 7 }, () => td({ class: 'outside' })),
  ];
  const weeks = Array.from({ length: cells.length / 7 }, (_, week) => tr(null, ...cells.slice(week * 7, week * 7 + 7)));
  const heads = ['2024-01-01', '2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-06', '2024-01-07'].map(weekdayName);
  return table(
    { class: 'calendar month' },
    caption({ class: 'hidden' }, `Due times by day, ${title}`),
    thead(null, tr(null, ...heads.map((name) => th({ scope: 'col' }, name)))),
    tbody(null, ...weeks),
  );
};

/** Renders the calendar. For a day or a week, it has a row for each job; for a month, a cell for each day. */
export const scheduleCalendar = (calendar: Calendar): Child =>
  div(
    { class: 'table-box' },
    calendar.period.view === 'month' ? monthTable(calendar) : weekTable(calendar),
    moduleScript('calendar-keys.mjs'),
  );
