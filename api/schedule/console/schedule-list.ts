import { formLink } from '../../console/action.ts';
import { jobLink, timesOfDay } from '../../console/day-times.ts';
import type { Names } from '../../console/name-cache.ts';
import { agentNames, chosenByName, namesIn } from '../../console/names.ts';
import { NOT_ASKED, page } from '../../console/page.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { type JobRuns, skippedEntirely } from '../../console/parts/day-runs.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { filterField, valuesIn } from '../../console/parts/filter-form.ts';
import { filterTabs } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { instantIn, localTimeOf } from '../../console/parts/local-time.ts';
import { nextCursor, pager } from '../../console/parts/pager.ts';
import { periodOf } from '../../console/parts/period.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Blackout, type Calendar, scheduleCalendar } from '../../console/parts/schedule-calendar.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer } from '../../http/ask.ts';
import { allBlackouts } from './all-blackouts.ts';

const { a, div, span, p, nav, form, input, button, strong } = tags;

/** The maximum number of due times in the table of a day, and of jobs in a calendar with a row for each or in a month. */
const MAX_TIMES = 500;
const MAX_ROWS = 50;
const MAX_OF_MONTH = 200;
const DECISIONS = ['fired', 'suppressed', 'missed', 'skipped'] as const;

const today = ({ zone }: Visit): string => localTimeOf(new Date().toISOString(), zone).date;

const periodOfPage = (visit: Visit) => periodOf(visit.query, today(visit));

const periodLinks = (visit: Visit) => {
  const { view, previous, next, title } = periodOfPage(visit);
  const at = (date: string | null) => withQuery(visit, { date, cursor: null, times: null });
  return nav(
    { 'aria-label': 'Period', class: 'period' },
    a({ class: 'button', href: at(previous), rel: 'prev' }, icon('arrow-left'), span(null, `Previous ${view}`)),
    strong({ 'aria-live': 'polite' }, title),
    a({ class: 'button', href: at(next), rel: 'next' }, span(null, `Next ${view}`), icon('arrow-right')),
    a({ class: 'button ghost', href: at(null) }, 'Today'),
  );
};

const viewTabs = (visit: Visit) => {
  const { view } = periodOfPage(visit);
  const linkTo = (other: string | null) => withQuery(visit, { view: other, cursor: null, times: null });
  return filterTabs('View', view === 'week' ? null : view, [
    { value: 'day', label: 'Day', href: linkTo('day') },
    { value: null, label: 'Week', href: linkTo(null) },
    { value: 'month', label: 'Month', href: linkTo('month') },
  ]);
};

const decisionTabs = (visit: Visit) => {
  const linkTo = (decision: string | null) => withQuery(visit, { decision, cursor: null, times: null });
  return filterTabs('Filter by decision', visit.query.get('decision'), [
    { value: null, label: 'All', href: linkTo(null) },
    ...DECISIONS.map((decision) => ({ value: decision, label: decision, href: linkTo(decision) })),
  ]);
};

const agentForm = (visit: Visit, names: Names) =>
  form(
    { method: 'get', action: visit.path, class: 'filter-bar filter-fields agent-filter' },
    ...Object.entries(valuesIn(visit.query, ['view', 'date', 'decision'])).map(([name, value]) => input({ type: 'hidden', name, value })),
    filterField({ name: 'agent_id', label: 'Agent', ...chosenByName(visit, 'agent', names) }, visit.query.get('agent_id') ?? '', true),
    div({ class: 'without-script' }, button(null, 'Show')),
  );

const blackoutTable = (visit: Visit, blackouts: readonly Blackout[], agentName: (id: string) => string) => {
  const path = { tenant_id: visit.params.tenant_id! };
  return dataTable<Blackout>(
    {
      ...{ title: 'Blackouts', kind: 'blackout', nameTitle: 'Blackout', id: ({ id }) => id, name: ({ name }) => name },
      details: ({ reason }) => reason,
      columns: [
        {
          title: 'Days',
          cell: ({ start_date, end_date, timezone, recurring_yearly }) =>
            `${start_date} to ${end_date}, ${timezone}${recurring_yearly ? ', every year' : ''}`,
        },
        { title: 'Agents', cell: ({ agent_id }) => (agent_id === null ? 'All agents' : agentName(agent_id)) },
      ],
      menu: ({ id }) => [
        formLink(visit, visit.rows.changeCronBlackout, { ...path, id }, 'Edit', { returnTo: visit.path }),
        formLink(visit, visit.rows.liftCronBlackout, { ...path, id }, 'Lift', { look: 'danger', returnTo: visit.path }),
      ],
    },
    blackouts,
  );
};

const blackoutCard = (visit: Visit, blackouts: readonly Blackout[], agentName: (id: string) => string) =>
  card(
    'Blackouts',
    p({ class: 'quiet' }, 'On these days, jobs do not fire. Each due time is recorded as suppressed.'),
    blackouts.length === 0 ? p({ class: 'quiet' }, 'There are no blackouts.') : blackoutTable(visit, blackouts, agentName),
  );

const nothing = (visit: Visit) =>
  visit.query.get('decision') || visit.query.get('agent_id')
    ? emptyState(
        { icon: 'search', title: 'Nothing matches', why: 'No due time of this period matches the filters of this page.' },
        a({ class: 'button', href: withQuery(visit, { decision: null, agent_id: null, cursor: null, times: null }) }, 'Clear the filters'),
      )
    : emptyState(
        { icon: 'calendar-clock', title: 'Nothing is due in this period', why: 'Cron jobs call an agent or a URL at set times.' },
        a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/agents') }, 'Open the agents'),
      );

/** Names the jobs whose runs in the week or month are all suppressed by blackouts. */
const skippedNote = (visit: Visit, jobs: readonly JobRuns[]): Child => {
  const { view } = periodOfPage(visit);
  const skipped = visit.query.get('decision') || view === 'day' ? [] : skippedEntirely(jobs);
  if (skipped.length === 0) return null;
  const names = skipped.flatMap((job, index) => [index > 0 ? ', ' : '', jobLink(visit, job), ` of ${job.agent_name}`]);
  return p(
    { class: 'note warn', 'data-skipped': '' },
    icon('triangle-alert'),
    span(null, `Blackouts skip every run of this ${view} of: `, ...names, '.'),
  );
};

const calendarPart = (visit: Visit, answer: Answer<readonly JobRuns[]>, parts: Pick<Calendar, 'blackouts' | 'agentName'>): Child =>
  panel(answer, (jobs) => {
    const isCut = nextCursor(answer) !== null;
    const dayHref = (date: string) => withQuery(visit, { view: 'day', date, cursor: null, times: null });
    const at = { period: periodOfPage(visit), today: today(visit), zone: visit.zone };
    return div(
      null,
      jobs.length === 0 && !isCut ? nothing(visit) : null,
      jobs.length === 0 && isCut ? p({ role: 'status', 'data-cut-jobs': '' }, 'No job up to here matches. There are further jobs.') : null,
      skippedNote(visit, jobs),
      jobs.length > 0 || parts.blackouts.length > 0
        ? div({ class: 'below' }, scheduleCalendar({ ...at, ...parts, jobs, jobName: (job) => jobLink(visit, job), dayHref }))
        : null,
      jobs.every(({ exact }) => exact)
        ? null
        : p({ class: 'quiet' }, 'Some numbers are not exact: these jobs have very many runs, or many were skipped in advance.'),
      pager(answer, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor }), { first: 'First jobs', next: 'Further jobs' }),
    );
  });

/** The page with a calendar of all cron jobs of a tenant, and with its blackouts. */
export const scheduleListPage = page({
  path: '/console/t/:tenant_id/schedules',
  permit: 'tenant:read',
  nav: 'Schedules',
  categories: ['cronjob', 'cronrun', 'blackout'],
  asks: (visit) => {
    const { ask, rows, params, query, zone } = visit;
    const tenant_id = params.tenant_id!;
    const { from, to, days, view } = periodOfPage(visit);
    const filters = { tenant_id, ...valuesIn(query, ['agent_id', 'decision']) } as { tenant_id: string; decision?: 'fired' };
    const cursor = query.get('cursor');
    const times = query.get('times');
    const bounds = { from: instantIn(`${from}T00:00`, zone), to: instantIn(`${to}T00:00`, zone) };
    return {
      jobs: ask(rows.summarizeCronOccurrences, {
        ...{ ...filters, first_day: from, last_day: days.at(-1)!, timezone: zone, limit: view === 'month' ? MAX_OF_MONTH : MAX_ROWS },
        ...(cursor ? { cursor } : {}),
      }),
      occurrences:
        view === 'day'
          ? ask(rows.listCronOccurrences, { ...filters, ...bounds, limit: MAX_TIMES, ...(times ? { cursor: times } : {}) })
          : NOT_ASKED,
      blackouts: allBlackouts(visit),
      agents: agentNames(visit),
    };
  },
  title: () => 'Schedules',
  view: ({ jobs, occurrences, blackouts, agents }, visit) => {
    const path = { tenant_id: visit.params.tenant_id! };
    const shown = jobs.ok ? jobs.value : [];
    const names = new Map([...shown.map(({ agent_id, agent_name }) => [agent_id, agent_name] as const), ...namesIn(agents)]);
    const agentName = (id: string) => names.get(id) ?? 'an agent';
    const onAgent = () => visit.may('tenant:settings:write');
    return [
      heading(
        'Schedules',
        'When the cron jobs of all agents were due, what was decided, and when they will be due.',
        formLink(visit, visit.rows.createCronJob, path, 'Create a cron job', { icon: 'plus', look: 'primary', onAgent }),
        formLink(visit, visit.rows.declareCronBlackout, path, 'Declare a blackout', { icon: 'ban', next: visit.path }),
      ),
      div(
        { class: 'toolbar' },
        viewTabs(visit),
        periodLinks(visit),
        span({ class: 'quiet', 'data-zone': '' }, `Times are in ${visit.zone}`),
      ),
      div(
        { class: 'toolbar' },
        decisionTabs(visit),
        panel(agents, (found) => agentForm(visit, found)),
      ),
      calendarPart(visit, jobs, { blackouts: blackouts.ok ? blackouts.value : [], agentName }),
      occurrences && timesOfDay(visit, occurrences, { jobs: shown, agentName }),
      div(
        { class: 'below' },
        panel(blackouts, (found) => blackoutCard(visit, found, agentName)),
      ),
    ];
  },
});
