import type { Rows } from '../../areas.ts';
import { actionButton, formLink } from '../../console/action.ts';
import { agentParams, agentTrail, mayOf } from '../../console/agent-frame.ts';
import { historyLink } from '../../console/history-link.ts';
import type { Names } from '../../console/name-cache.ts';
import { agentNames, namesIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { type JobRuns, skippedEntirely } from '../../console/parts/day-runs.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { scheduleText } from '../../console/parts/job-text.ts';
import { localTimeOf } from '../../console/parts/local-time.ts';
import { pager } from '../../console/parts/pager.ts';
import { dayName, periodOf } from '../../console/parts/period.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { rowMenu } from '../../console/parts/row-menu.ts';
import { monthStrip } from '../../console/parts/schedule-calendar.ts';
import { marksOf, stateBadge } from '../../console/parts/schedule-mark.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { absoluteTime, ago, duration, exact, zoned } from '../../console/parts/time.ts';
import { type MayOnAgent, mayReadDeliveries } from '../../console/permission.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { allBlackouts } from './all-blackouts.ts';

const { a, div, nav, span, strong, p, ul, li, code } = tags;

type Job = ReplyOf<Rows['getCronJob']>;
type Run = ReplyOf<Rows['listCronRuns']>[number];
type Previewed = ReplyOf<Rows['previewCronJob']>;

const jobParams = (visit: Visit) => ({ ...agentParams(visit), id: visit.params.job_id! });

/** The main action of the page, two further ones, and the others in a menu. */
const actionsOf = (visit: Visit, { id, name, status, kind }: Job, onAgent: MayOnAgent): readonly Child[] => {
  const { rows } = visit;
  const path = jobParams(visit);
  const look = { onAgent, returnTo: visit.path } as const;
  const isPaused = status === 'paused';
  return [
    isPaused ? actionButton(visit, rows.resumeCronJob, path, 'Resume', { ...look, icon: 'play', look: 'primary' }) : null,
    actionButton(visit, rows.runCronJobNow, path, 'Run now', {
      ...look,
      ...(isPaused ? {} : { look: 'primary' }),
      icon: 'play',
      confirm: `${name} runs at once. Its schedule stays as it is.`,
    }),
    status === 'active' ? actionButton(visit, rows.pauseCronJob, path, 'Pause', { ...look, icon: 'pause' }) : null,
    formLink(visit, rows.updateCronJob, path, 'Edit', { ...look, icon: 'settings' }),
    rowMenu('menu-cron-job', name, [
      status === 'active'
        ? formLink(visit, rows.skipCronOccurrence, path, kind === 'one_shot' ? 'Skip its only run' : 'Skip the next run', look)
        : null,
      historyLink(visit, id),
      formLink(visit, rows.deleteCronJob, path, 'Delete', { onAgent, returnTo: visit.path.replace(/\/[^/]+$/, ''), look: 'danger' }),
    ]),
  ];
};

/** How many of the next due times are listed one by one. */
const NEXT = 5;

/** Lists the next due times of the job. */
const nextTimes = (previewed: Previewed, { status }: Job, zone: string): Child =>
  previewed.length === 0
    ? p({ class: 'quiet' }, status === 'paused' ? 'The job is paused, so it is not due.' : 'The job is not due any more.')
    : ul(
        { class: 'next-times' },
        ...previewed
          .slice(0, NEXT)
          .map((one) =>
            li(null, span({ class: 'quiet' }, dayName(localTimeOf(one.due_at, zone).date)), marksOf([{ ...one, predicted: true }])),
          ),
      );

const attemptText = ({ status_code, error, ms }: Run['attempts'][number]): string =>
  [status_code === null ? null : `status ${status_code}`, error ?? 'succeeded', `in ${duration(ms)}`]
    .filter((part) => part !== null)
    .join(', ');

const ledTo = ({ delivery_id, session_id }: Run, visit: Visit, onAgent: MayOnAgent): readonly Child[] => {
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  return [
    delivery_id && mayReadDeliveries(visit, onAgent) ? a({ href: at(`/deliveries/${delivery_id}`) }, 'Delivery') : null,
    ' ',
    session_id && visit.may('tenant:audit:read') ? a({ href: at(`/sessions/${session_id}`) }, 'Session') : null,
  ];
};

const runTable = (visit: Visit, runs: readonly Run[], onAgent: MayOnAgent): Child =>
  dataTable<Run>(
    {
      ...{ title: 'Runs', kind: 'cron-run', nameTitle: 'Due', id: ({ occurrence_id }) => occurrence_id, name: ({ due_at }) => due_at },
      shownName: ({ due_at }) => zoned(due_at),
      details: ({ attempts }) =>
        ul(
          null,
          ...attempts.map((attempt, index) =>
            li({ title: absoluteTime(attempt.at, visit.zone) }, `Attempt ${index + 1}: ${attemptText(attempt)}`),
          ),
        ),
      columns: [
        { title: 'Decision', look: 'state', cell: (run) => stateBadge({ ...run, predicted: false }) },
        { title: 'Led to', cell: (run) => ledTo(run, visit, onAgent) },
        { title: 'Decided', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
      attributes: ({ decision }) => ({ 'data-state': decision }),
    },
    runs,
  );

const runsCard = (visit: Visit, runs: readonly Run[], onAgent: MayOnAgent) =>
  card('Runs', runs.length === 0 ? p({ class: 'quiet' }, 'The job was not due yet.') : runTable(visit, runs, onAgent));

type Agent = ReplyOf<Rows['getAgent']>;

/** Links to the agent that the job calls. The job names it by its id or its slug. */
const targetLink = (visit: Visit, { target_kind, target }: Job, own: Agent | null, names: Names): Child => {
  if (target_kind === 'external_url') return null;
  const id = own?.slug === target ? own.id : target;
  const name = names.get(id);
  return name === undefined ? target : a({ href: tenantPath(visit.params.tenant_id!, `/agents/${id}`) }, name);
};

/** `agentLink` leads to the agent that the job calls, if it calls one. */
const factsOf = (job: Job, agentLink: Child) =>
  facts({
    Job: shortId(job.id),
    Schedule: scheduleText(job),
    'Cron expression': job.cron_expr === null ? null : code(null, job.cron_expr),
    Calls: job.target_kind === 'external_url' ? `${job.method} ${job.target}` : span(null, 'the agent ', agentLink),
    'Due next': job.next_fire_at === null ? 'not due' : exact(job.next_fire_at),
    'Last fired': exact(job.last_fired_at),
    'Last status': job.last_status_code === null ? null : String(job.last_status_code),
    Retries: `${job.max_retries}, ${job.retry_backoff}`,
    Created: exact(job.created_at),
  });

const monthOf = ({ query, zone }: Visit) => {
  const today = localTimeOf(new Date().toISOString(), zone).date;
  return { today, period: periodOf(new URLSearchParams({ view: 'month', date: query.get('date') ?? '' }), today) };
};

type Blackout = ReplyOf<Rows['listCronBlackouts']>[number];

/** Shows the runs of the job in a month, with links to the months around it. */
const monthCard = (visit: Visit, job: Job, runs: Answer<readonly JobRuns[]>, blackouts: Answer<readonly Blackout[]>) => {
  const { today, period } = monthOf(visit);
  const at = (date: string | null) => withQuery(visit, { date });
  const schedules = tenantPath(visit.params.tenant_id!, '/schedules');
  const dayHref = (date: string) => `${schedules}?view=day&date=${date}&agent_id=${job.agent_id}`;
  const covering = blackouts.ok ? blackouts.value.filter(({ agent_id }) => agent_id === null || agent_id === job.agent_id) : [];
  return card(
    'Month',
    nav(
      { 'aria-label': 'Month', class: 'period' },
      a({ class: 'button', href: at(period.previous), rel: 'prev', 'aria-label': 'Previous month' }, icon('arrow-left')),
      strong({ 'aria-live': 'polite' }, period.title),
      a({ class: 'button', href: at(period.next), rel: 'next', 'aria-label': 'Next month' }, icon('arrow-right')),
      span({ class: 'quiet' }, `Times are in ${visit.zone}`),
    ),
    panel(runs, ([found]) => [
      found && skippedEntirely([found]).length > 0
        ? p({ class: 'note warn below', 'data-skipped': '' }, icon('triangle-alert'), span(null, 'Blackouts skip every run of this month.'))
        : null,
      monthStrip(found, { period, today, zone: visit.zone, dayHref, blackouts: covering }),
    ]),
  );
};

/** The page of a cron job: its schedule, its next due times, and the decisions at its earlier ones. */
export const cronJobPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/cron-jobs/:job_id',
  permit: 'tenant:read',
  nav: 'Schedules',
  categories: ['cronjob', 'cronrun', 'blackout'],
  asks: (visit) => {
    const { ask, rows, query } = visit;
    const path = jobParams(visit);
    const cursor = query.get('cursor');
    const { period } = monthOf(visit);
    return {
      job: ask(rows.getCronJob, path),
      agent: ask(rows.getAgent, agentParams(visit)),
      names: agentNames(visit),
      may: ask(rows.readEffectivePermissions, agentParams(visit)),
      runs: ask(rows.listCronRuns, { ...path, sort: '-due_at', ...(cursor ? { cursor } : {}) }),
      preview: ask(rows.previewCronJob, path),
      days: ask(rows.summarizeCronOccurrences, {
        ...{ tenant_id: path.tenant_id, job_id: path.id, timezone: visit.zone },
        ...{ first_day: period.from, last_day: period.days.at(-1)! },
      }),
      blackouts: allBlackouts(visit),
    };
  },
  title: ({ job }) => (job.ok ? job.value.name : 'Cron job'),
  trail: (visit, answers) => [
    ...agentTrail('Schedules')(visit, answers),
    ['Schedules', tenantPath(visit.params.tenant_id!, `/agents/${visit.params.agent_id}/cron-jobs`)],
  ],
  view: ({ job, agent, may, runs, preview, names, days, blackouts }, visit) => {
    if (!job.ok) return [heading('Cron job', null), problemPanel(job.problem)];
    const { value } = job;
    return [
      div(
        { 'data-kind': 'cron-job', 'data-id': value.id, 'data-position': job.position },
        heading(span(null, value.name, ' ', badge(value.status)), scheduleText(value), ...actionsOf(visit, value, mayOf(may))),
        div(
          { class: 'columns' },
          card('Schedule', factsOf(value, targetLink(visit, value, agent.ok ? agent.value : null, namesIn(names)))),
          card(
            'Due next',
            panel(preview, (found) => nextTimes(found, value, visit.zone)),
          ),
        ),
        div({ class: 'below' }, monthCard(visit, value, days, blackouts)),
        div(
          { class: 'below' },
          panel(runs, (found) => runsCard(visit, found, mayOf(may))),
        ),
        pager(runs, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
      ),
    ];
  },
});
