import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { page } from '../page.ts';
import { counted } from '../parts/count-text.ts';
import { dataTable } from '../parts/data-table.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card } from '../parts/facts.ts';
import { valuesIn } from '../parts/filter-form.ts';
import { filterTabs } from '../parts/filters.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { instantIn, localTimeOf } from '../parts/local-time.ts';
import { nextCursor, pager } from '../parts/pager.ts';
import { periodOf } from '../parts/period.ts';
import { panel } from '../parts/problem-panel.ts';
import { type Blackout, scheduleCalendar } from '../parts/schedule-calendar.ts';
import { type Occurrence, stateBadge } from '../parts/schedule-mark.ts';
import { type Child, tags } from '../parts/tags.ts';
import { zoned } from '../parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div, span, p, nav, form, label, select, option, input, button, details, summary, ul, li, strong } = tags;

type Agents = ReplyOf<Rows['listAgents']>;

/** The maximum number of occurrences on the page. */
const MAX_SHOWN = 500;
const MAX_LISTED = 200;
const MAX_BUSIEST = 5;
const DECISIONS = ['fired', 'suppressed', 'missed', 'skipped'] as const;

const today = ({ zone }: Visit): string => localTimeOf(new Date().toISOString(), zone).date;

const periodOfPage = (visit: Visit) => periodOf(visit.query, today(visit));

const minuteOf = (at: string, zone: string): string => {
  const { date, time } = localTimeOf(at, zone);
  return `${date}T${time.slice(0, 5)}`;
};

const periodLinks = (visit: Visit) => {
  const { view, previous, next, title } = periodOfPage(visit);
  const at = (date: string | null) => withQuery(visit, { date, cursor: null });
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
  const linkTo = (other: string | null) => withQuery(visit, { view: other, cursor: null });
  return filterTabs('View', view === 'week' ? null : view, [
    { value: 'day', label: 'Day', href: linkTo('day') },
    { value: null, label: 'Week', href: linkTo(null) },
    { value: 'month', label: 'Month', href: linkTo('month') },
  ]);
};

const decisionTabs = (visit: Visit) => {
  const linkTo = (decision: string | null) => withQuery(visit, { decision, cursor: null });
  return filterTabs('Filter by decision', visit.query.get('decision'), [
    { value: null, label: 'All', href: linkTo(null) },
    ...DECISIONS.map((decision) => ({ value: decision, label: decision, href: linkTo(decision) })),
  ]);
};

const agentForm = (visit: Visit, agents: Agents) => {
  const chosen = visit.query.get('agent_id') ?? '';
  return form(
    { method: 'get', action: visit.path, class: 'agent-filter' },
    ...Object.entries(valuesIn(visit.query, ['view', 'date', 'decision'])).map(([name, value]) => input({ type: 'hidden', name, value })),
    label({ for: 'schedule-agent', class: 'hidden' }, 'Agent'),
    select(
      { id: 'schedule-agent', name: 'agent_id' },
      option({ value: '', selected: chosen === '' }, 'All agents'),
      ...agents.map(({ id, name }) => option({ value: id, selected: id === chosen }, name)),
    ),
    button(null, 'Show'),
  );
};

const jobLink = (visit: Visit, { job_id, agent_id, job_name, job_status }: Occurrence): Child =>
  job_status === 'archived'
    ? span({ class: 'row-name' }, `${job_name} (deleted)`)
    : a({ class: 'row-name', href: tenantPath(visit.params.tenant_id!, `/agents/${agent_id}/cron-jobs/${job_id}`) }, job_name);

/** Returns the minutes in which the most jobs run. Minutes with a single run are left out. */
const busiestOf = (occurrences: readonly Occurrence[], zone: string) => {
  const runs = occurrences.filter(({ decision }) => decision === 'fired');
  const minutes = [...Map.groupBy(runs, ({ due_at }) => minuteOf(due_at, zone)).entries()];
  return minutes
    .filter(([, found]) => found.length > 1)
    .toSorted(([one, a], [other, b]) => b.length - a.length || (one < other ? -1 : 1))
    .slice(0, MAX_BUSIEST);
};

const busiest = (occurrences: readonly Occurrence[], zone: string) => {
  const minutes = busiestOf(occurrences, zone);
  return card(
    'Busiest minutes',
    minutes.length === 0
      ? p({ class: 'quiet' }, 'No two jobs run in the same minute.')
      : ul(
          null,
          ...minutes.map(([minute, found]) =>
            li(
              { 'data-busy': minute },
              strong(null, minute.replace('T', ' ')),
              ` ${counted(found.length, 'run')} of ${counted(new Set(found.map(({ agent_id }) => agent_id)).size, 'agent')}`,
            ),
          ),
        ),
  );
};

const asTable = (visit: Visit, occurrences: readonly Occurrence[], agentName: (id: string) => string) =>
  details(
    { class: 'card below' },
    summary(null, 'The same due times as a table'),
    dataTable<Occurrence>(
      {
        ...{ title: 'Due times', kind: 'due-time', nameTitle: 'Job', id: ({ job_id, due_at }) => `${job_id} ${due_at}` },
        name: ({ job_name, job_status }) => (job_status === 'archived' ? `${job_name} (deleted)` : job_name),
        href: ({ job_id, agent_id, job_status }) =>
          job_status === 'archived' ? null : tenantPath(visit.params.tenant_id!, `/agents/${agent_id}/cron-jobs/${job_id}`),
        details: ({ agent_id }) => agentName(agent_id),
        columns: [
          { title: 'Decision', look: 'state', cell: stateBadge },
          { title: 'Due', cell: ({ due_at }) => zoned(due_at, 'minute') },
        ],
      },
      occurrences,
    ),
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
        a({ class: 'button', href: withQuery(visit, { decision: null, agent_id: null, cursor: null }) }, 'Clear the filters'),
      )
    : emptyState(
        { icon: 'calendar-clock', title: 'Nothing is due in this period', why: 'Cron jobs call an agent or a URL at set times.' },
        a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/agents') }, 'Open the agents'),
      );

/** Says how far a page of due times goes. It can be empty although others follow: the API examines only so many for a page. */
const cutText = (found: readonly Occurrence[]): Child => {
  const last = found.at(-1);
  return last
    ? ['Only the due times up to ', zoned(last.due_at, 'minute'), ' are shown.']
    : 'The first due times do not match. There are later ones.';
};

/** The page with a calendar of all cron jobs of a tenant, and with its blackouts. */
export const scheduleListPage = page({
  path: '/console/t/:tenant_id/schedules',
  permit: 'tenant:read',
  nav: 'Schedules',
  categories: ['cronjob', 'cronrun', 'blackout'],
  asks: (visit) => {
    const { ask, rows, params, query } = visit;
    const tenant_id = params.tenant_id!;
    const { from, to } = periodOfPage(visit);
    const filters = valuesIn(query, ['agent_id', 'decision', 'cursor']) as object;
    return {
      occurrences: ask(rows.listCronOccurrences, {
        ...{ tenant_id, from: instantIn(`${from}T00:00`, visit.zone), to: instantIn(`${to}T00:00`, visit.zone), limit: MAX_SHOWN },
        ...filters,
      }),
      blackouts: ask(rows.listCronBlackouts, { tenant_id, limit: MAX_LISTED }),
      agents: ask(rows.listAgents, { tenant_id, limit: MAX_LISTED }),
    };
  },
  title: () => 'Schedules',
  view: ({ occurrences, blackouts, agents }, visit) => {
    const path = { tenant_id: visit.params.tenant_id! };
    const names = new Map(agents.ok ? agents.value.map(({ id, name }) => [id, name]) : []);
    const agentName = (id: string) => names.get(id) ?? 'an agent';
    const onAgent = () => visit.may('tenant:settings:write');
    const dayHref = (date: string) => withQuery(visit, { view: 'day', date, cursor: null });
    const shown = (found: readonly Occurrence[]): Child => {
      const isCut = nextCursor(occurrences) !== null;
      const covering = blackouts.ok ? blackouts.value : [];
      const calendar = {
        period: periodOfPage(visit),
        today: today(visit),
        zone: visit.zone,
        occurrences: found,
        blackouts: covering,
        agentName,
      };
      return div(
        null,
        found.length === 0 && !isCut ? nothing(visit) : null,
        found.length > 0 || covering.length > 0
          ? scheduleCalendar({ ...calendar, jobName: (occurrence) => jobLink(visit, occurrence), dayHref })
          : null,
        isCut ? p({ role: 'status', 'data-cut': '' }, cutText(found)) : null,
        pager(occurrences, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor }), { first: 'Earliest', next: 'Later' }),
        found.length === 0 ? null : div({ class: 'below' }, busiest(found, visit.zone)),
        found.length === 0 ? null : asTable(visit, found, agentName),
      );
    };
    return [
      heading(
        'Schedules',
        `When the cron jobs of all agents were due, what was decided, and when they will be due. Times are in ${visit.zone}.`,
        formLink(visit, visit.rows.createCronJob, path, 'Create a cron job', { icon: 'plus', look: 'primary', onAgent }),
        formLink(visit, visit.rows.declareCronBlackout, path, 'Declare a blackout', { icon: 'ban', next: visit.path }),
      ),
      div({ class: 'toolbar' }, viewTabs(visit), periodLinks(visit)),
      div(
        { class: 'toolbar' },
        decisionTabs(visit),
        panel(agents, (found) => agentForm(visit, found)),
      ),
      panel(occurrences, shown),
      div(
        { class: 'below' },
        panel(blackouts, (found) => blackoutCard(visit, found, agentName)),
      ),
    ];
  },
});
