import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { counted, countText } from '../parts/count-text.ts';
import { type DataColumn, dataTable } from '../parts/data-table.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card } from '../parts/facts.ts';
import { icon } from '../parts/icon.ts';
import { localTimeOf } from '../parts/local-time.ts';
import { dayName, daysAfter, monthName } from '../parts/period.ts';
import { type Child, tags } from '../parts/tags.ts';
import { zoned } from '../parts/time.ts';
import { tenantPath, type Visit } from '../visit.ts';

const { div, p, span, strong } = tags;

type Impact = ReplyOf<Rows['previewBlackoutImpact']>;
type Job = Impact['jobs'][number];
type Day = Job['days'][number];

const MAX_SHOWN_JOBS = 50;

/** The maximum number of days that have a column each. */
const MAX_DAY_COLUMNS = 7;

/** A day with up to this many runs shows their times; a day with more shows their number. */
const MAX_SHOWN_TIMES = 2;

/** Formats a date for people: `4 December 2026`. */
const dateText = (date: string): string => `${dayName(date)} ${date.slice(0, 4)}`;

const clockText = (at: string, zone: string): string => localTimeOf(at, zone).time.slice(0, 5);

const dayText = (day: Day | undefined, zone: string): string => {
  if (!day) return '–';
  return day.runs > MAX_SHOWN_TIMES ? counted(day.runs, 'run') : day.due_at.map((at) => clockText(at, zone)).join(', ');
};

const daysOf = (first: string, last: string): readonly string[] => {
  const days = [first];
  while (days.at(-1)! < last && days.length <= MAX_DAY_COLUMNS) days.push(daysAfter(days.at(-1)!, 1));
  return days;
};

/** Returns a column for each day or, for a long blackout, the number of runs and the first and the last day with one. */
const columnsOf = ({ first_day, last_day }: Impact, zone: string): readonly DataColumn<Job>[] => {
  const days = daysOf(first_day!, last_day!);
  if (days.length <= MAX_DAY_COLUMNS)
    return days.map((date) => ({
      title: `${dayName(date).split(' ')[0]} ${dayName(date).split(' ')[1]!.slice(0, 3)}`,
      cell: ({ days: own }) =>
        span(
          { 'data-day': date },
          dayText(
            own.find((one) => one.date === date),
            zone,
          ),
        ),
    }));
  return [
    { title: 'Runs', look: 'number', cell: ({ runs }) => countText(runs) },
    { title: 'From', cell: ({ days: own }) => dayName(own[0]!.date) },
    { title: 'Until', cell: ({ days: own }) => dayName(own.at(-1)!.date) },
  ];
};

/** Names the jobs that would not run at all in a month of the blackout, each with its next run. */
const entirelySkipped = ({ jobs }: Impact): Child => {
  const skipped = jobs.filter(({ skipped_months }) => skipped_months.length > 0);
  if (skipped.length === 0) return null;
  const names = skipped.flatMap(({ job_name, agent_name, skipped_months, next_due_at }, index) => [
    index > 0 ? ', ' : ' ',
    strong(null, job_name),
    ` of ${agent_name} in ${skipped_months.length > 1 ? `${skipped_months.length} months from ` : ''}${monthName(skipped_months[0]!)}`,
    next_due_at === null ? ' (never again)' : [' (next ', zoned(next_due_at, 'minute'), ')'],
  ]);
  return p(
    { class: 'note warn below', 'data-skipped': '' },
    icon('triangle-alert'),
    span(null, 'These would not run at all in a month:', ...names, '.'),
  );
};

const already = ({ already_suppressed }: Impact): Child =>
  already_suppressed === 0
    ? null
    : p(
        { class: 'quiet' },
        `${counted(already_suppressed, 'further run')} on these days ${already_suppressed === 1 ? 'is' : 'are'} suppressed by present blackouts.`,
      );

const periodText = ({ first_day, last_day }: Impact): string =>
  first_day === last_day ? `on ${dateText(first_day!)}` : `from ${dateText(first_day!)} to ${dateText(last_day!)}`;

/** Renders the runs that a blackout would suppress, by job and day. `zone` is the time zone of its days. */
export const impactView = (impact: Impact, { params }: Visit, zone = 'UTC'): Child => {
  const { runs, exact, jobs, first_day } = impact;
  if (first_day === null)
    return emptyState({
      icon: 'calendar-clock',
      title: 'It suppresses no run',
      why: 'Its last day is over. Choose later days, or every year.',
    });
  if (runs === 0)
    return [
      emptyState({ icon: 'circle-check', title: 'It suppresses no run', why: `No job would fire ${periodText(impact)}.` }),
      already(impact),
    ];
  const agents = new Set(jobs.map(({ agent_id }) => agent_id)).size;
  const shown = jobs.slice(0, MAX_SHOWN_JOBS);
  return card(
    'Impact',
    p(
      { role: 'status', 'data-impact': String(runs) },
      strong(null, `${exact ? 'Exactly' : 'At least'} ${counted(runs, 'run')} of ${counted(agents, 'agent')}`),
      ` would be suppressed ${periodText(impact)}. Times are in ${zone}.`,
    ),
    entirelySkipped(impact),
    div(
      { class: 'below' },
      dataTable<Job>(
        {
          ...{ title: 'Suppressed runs', kind: 'cron-job', nameTitle: 'Job', id: ({ job_id }) => job_id, name: ({ job_name }) => job_name },
          href: ({ agent_id, job_id }) => tenantPath(params.tenant_id!, `/agents/${agent_id}/cron-jobs/${job_id}`),
          details: ({ agent_name }) => agent_name,
          columns: columnsOf(impact, zone),
          attributes: (job) => ({ 'data-runs': String(job.runs) }),
        },
        shown,
      ),
    ),
    jobs.length > shown.length ? p({ class: 'quiet' }, `Of ${counted(jobs.length, 'job')}, those with most runs are shown.`) : null,
    already(impact),
  );
};
