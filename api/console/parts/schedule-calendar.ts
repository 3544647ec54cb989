import type { ReplyOf } from '../../http/ask.ts';
import type { blackoutOperations } from '../../schedule/blackout.ts';
import { counted, countText } from './count-text.ts';
import { type DayRuns, dayMarks, type JobRuns, markLegend } from './day-runs.ts';
import { moduleScript } from './module-script.ts';
import { dayName, type Period, weekdayName, weekdayOf } from './period.ts';
import { type Child, tags } from './tags.ts';

const { a, div, table, caption, thead, tbody, tr, th, td, span } = tags;

export type Blackout = ReplyOf<(typeof blackoutOperations)['listCronBlackouts']>[number];

/** What a calendar shows: the occurrences of jobs by day, and the blackouts of a period. */
export type Calendar = {
  readonly period: Period;
  readonly today: string;
  /** The time zone of the calendar's days. */
  readonly zone: string;
  readonly jobs: readonly JobRuns[];
  readonly blackouts: readonly Blackout[];
  /** Renders the name of a job, with a link to its page if it has one. */
  readonly jobName: (job: JobRuns) => Child;
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

const blackoutText = ({ name, timezone, reason }: Blackout, { zone }: Pick<Calendar, 'zone'>): string =>
  [`Blackout: ${name}`, reason, timezone === zone ? null : `days in ${timezone}`].filter((part) => part !== null).join(' · ');

const scopeOf = ({ agent_id }: Blackout, { agentName }: Calendar): string => (agent_id === null ? 'all agents' : agentName(agent_id));

const onDay = ({ days }: JobRuns, day: string): DayRuns | undefined => days.find(({ date }) => date === day);

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

const jobRow = (job: JobRuns, { period, jobName }: Calendar) =>
  tr(
    { 'data-kind': 'cron-job', 'data-id': job.job_id },
    th({ scope: 'row' }, jobName(job), div({ class: 'quiet' }, job.agent_name)),
    ...period.days.map((day) => td(null, dayMarks(onDay(job, day)))),
  );

const weekTable = (calendar: Calendar) => {
  const { period, jobs, blackouts } = calendar;
  const bands = blackouts.filter((blackout) => period.days.some((day) => isDayOf(blackout, day)));
  return table(
    { class: 'calendar week' },
    caption({ class: 'hidden' }, `Runs by job and day, ${period.title}`),
    thead(null, tr(null, th({ scope: 'col' }, 'Job'), ...period.days.map((day) => dayHead(day, calendar)))),
    tbody(null, ...bands.map((blackout) => bandRow(blackout, calendar)), ...jobs.map((job) => jobRow(job, calendar))),
  );
};

/** A day of a month shows up to this many jobs; those with fewer runs come first. */
const MAX_JOBS_OF_DAY = 5;

/** The runs of a job on a day. */
type Due = readonly [job: JobRuns, day: DayRuns];

const dueOn = (jobs: readonly JobRuns[], date: string): readonly Due[] =>
  jobs
    .flatMap((job): readonly Due[] => {
      const day = onDay(job, date);
      return day ? [[job, day]] : [];
    })
    .toSorted(([, one], [, other]) => one.due - other.due);

const moreLink = (hidden: readonly Due[], date: string, { dayHref }: Calendar): Child => {
  if (hidden.length === 0) return null;
  const runs = countText(hidden.reduce((sum, [, { due }]) => sum + due, 0));
  return a({ class: 'more-jobs', href: dayHref(date) }, `${counted(hidden.length, 'more job')}, ${runs} due`);
};

const dayCell = (date: string, calendar: Calendar) => {
  const covering = calendar.blackouts.filter((blackout) => isDayOf(blackout, date));
  const due = dueOn(calendar.jobs, date);
  return td(
    {
      class: covering.length > 0 ? 'covered' : null,
      'aria-current': date === calendar.today ? 'date' : null,
    },
    a({ class: 'day-number', href: calendar.dayHref(date), 'data-day': date }, dayName(date)),
    ...covering.map((blackout) =>
      div(
        { class: 'band', 'data-kind': 'blackout', 'data-id': blackout.id },
        `${blackoutText(blackout, calendar)} (${scopeOf(blackout, calendar)})`,
      ),
    ),
    ...due
      .slice(0, MAX_JOBS_OF_DAY)
      .map(([job, day]) => div({ 'data-kind': 'cron-job', 'data-id': job.job_id }, calendar.jobName(job), dayMarks(day))),
    moreLink(due.slice(MAX_JOBS_OF_DAY), date, calendar),
  );
};

const WEEK = ['2024-01-01', '2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-06', '2024-01-07'];

/** The days of a month in weeks from Monday, in cells that `cellOf` renders. */
const weeksOf = ({ days, title }: Period, look: 'month' | 'strip', cellOf: (day: string) => Child) => {
  const nameOf = (weekday: string): string => (look === 'strip' ? weekday.slice(0, 3) : weekday);
  const before = weekdayOf(days[0]!);
  const cells = [
    ...Array.from({ length: before }, () => td({ class: 'outside' })),
    ...days.map(cellOf),
    ...Array.from({ length: (7 - ((before + days.length) % 7)) % 7 }, () => td({ class: 'outside' })),
  ];
  const weeks = Array.from({ length: cells.length / 7 }, (_, week) => tr(null, ...cells.slice(week * 7, week * 7 + 7)));
  return table(
    { class: `calendar ${look}` },
    caption({ class: 'hidden' }, `Runs by day, ${title}`),
    thead(null, tr(null, ...WEEK.map((day) => th({ scope: 'col', abbr: weekdayName(day) }, nameOf(weekdayName(day)))))),
    tbody(null, ...weeks),
  );
};

const monthTable = (calendar: Calendar) => weeksOf(calendar.period, 'month', (day) => dayCell(day, calendar));

/** Renders the runs of one job in a month: a small cell for each day. */
export const monthStrip = (job: JobRuns | undefined, calendar: Omit<Calendar, 'jobs' | 'jobName' | 'agentName'>): Child =>
  div(
    { class: 'table-box below' },
    weeksOf(calendar.period, 'strip', (date) => {
      const covering = calendar.blackouts.filter((blackout) => isDayOf(blackout, date));
      const texts = covering.map((blackout) => blackoutText(blackout, calendar)).join(', ');
      return td(
        {
          class: covering.length > 0 ? 'covered' : null,
          'aria-current': date === calendar.today ? 'date' : null,
          title: covering.length > 0 ? texts : null,
        },
        a(
          { class: 'day-number', href: calendar.dayHref(date), 'data-day': date, 'aria-label': dayName(date) },
          String(Number(date.slice(8))),
        ),
        covering.length > 0 ? span({ class: 'hidden' }, texts) : null,
        dayMarks(job && onDay(job, date)),
      );
    }),
    job && job.days.length > 0 ? markLegend(job.days) : null,
    moduleScript('calendar-keys.mjs'),
  );

/** Renders the calendar. For a day or a week, it has a row for each job; for a month, a cell for each day. */
export const scheduleCalendar = (calendar: Calendar): Child =>
  div(
    { class: 'table-box' },
    calendar.period.view === 'month' ? monthTable(calendar) : weekTable(calendar),
    moduleScript('calendar-keys.mjs'),
  );
