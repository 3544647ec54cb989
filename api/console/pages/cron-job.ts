import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { actionButton, formLink } from '../action.ts';
import { agentParams, agentTrail, mayOf } from '../agent-frame.ts';
import { historyLink } from '../history-link.ts';
import type { Names } from '../name-cache.ts';
import { agentNames, namesIn } from '../names.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { dataTable } from '../parts/data-table.ts';
import { card, facts } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { scheduleText } from '../parts/job-text.ts';
import { localTimeOf } from '../parts/local-time.ts';
import { pager } from '../parts/pager.ts';
import { dayName } from '../parts/period.ts';
import { panel, problemPanel } from '../parts/problem-panel.ts';
import { marksOf, stateBadge } from '../parts/schedule-mark.ts';
import { shortId } from '../parts/short-id.ts';
import { type Child, tags } from '../parts/tags.ts';
import { absoluteTime, ago, duration, exact, zoned } from '../parts/time.ts';
import { type MayOnAgent, mayReadDeliveries } from '../permission.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div, span, p, ul, li, code } = tags;

type Job = ReplyOf<Rows['getCronJob']>;
type Run = ReplyOf<Rows['listCronRuns']>[number];
type Previewed = ReplyOf<Rows['previewCronJob']>;

const jobParams = (visit: Visit) => ({ ...agentParams(visit), id: visit.params.job_id! });

const actionsOf = (visit: Visit, { name, status, kind }: Job, onAgent: MayOnAgent): readonly Child[] => {
  const { rows } = visit;
  const path = jobParams(visit);
  const look = { onAgent, returnTo: visit.path } as const;
  return [
    actionButton(visit, rows.runCronJobNow, path, 'Run now', {
      ...look,
      icon: 'play',
      confirm: 'It runs at once. Its schedule stays as it is.',
    }),
    status === 'active'
      ? actionButton(visit, rows.skipCronOccurrence, path, 'Skip the next run', {
          ...look,
          confirm: kind === 'one_shot' ? `${name} is then completed.` : 'The next run is recorded as skipped.',
        })
      : null,
    status === 'paused'
      ? actionButton(visit, rows.resumeCronJob, path, 'Resume', { ...look, icon: 'play', look: 'primary' })
      : status === 'active'
        ? actionButton(visit, rows.pauseCronJob, path, 'Pause', { ...look, icon: 'pause' })
        : null,
    formLink(visit, rows.updateCronJob, path, 'Edit', { ...look, icon: 'settings' }),
    actionButton(visit, rows.deleteCronJob, path, 'Delete', {
      onAgent,
      returnTo: visit.path.replace(/\/[^/]+$/, ''),
      look: 'danger',
      icon: 'trash-2',
      confirm: `${name} is not due any more.`,
    }),
  ];
};

/** How many of the next due times are listed one by one. */
const NEXT = 5;

/** Lists the next due times of the job. */
const nextTimes = (previewed: Previewed, zone: string): Child =>
  previewed.length === 0
    ? p({ class: 'quiet' }, 'The job is not due any more.')
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
    return {
      job: ask(rows.getCronJob, path),
      agent: ask(rows.getAgent, agentParams(visit)),
      names: agentNames(visit),
      may: ask(rows.readEffectivePermissions, agentParams(visit)),
      runs: ask(rows.listCronRuns, { ...path, sort: '-due_at', ...(cursor ? { cursor } : {}) }),
      preview: ask(rows.previewCronJob, path),
    };
  },
  title: ({ job }) => (job.ok ? job.value.name : 'Cron job'),
  trail: (visit, answers) => [
    ...agentTrail('Schedules')(visit, answers),
    ['Schedules', tenantPath(visit.params.tenant_id!, `/agents/${visit.params.agent_id}/cron-jobs`)],
  ],
  view: ({ job, agent, may, runs, preview, names }, visit) => {
    if (!job.ok) return [heading('Cron job', null), problemPanel(job.problem)];
    const { value } = job;
    return [
      div(
        { 'data-kind': 'cron-job', 'data-id': value.id, 'data-position': job.position },
        heading(
          span(null, value.name, ' ', badge(value.status)),
          `Times are in ${visit.zone}.`,
          ...actionsOf(visit, value, mayOf(may)),
          historyLink(visit, value.id),
        ),
        div(
          { class: 'columns' },
          card('Schedule', factsOf(value, targetLink(visit, value, agent.ok ? agent.value : null, namesIn(names)))),
          card(
            'Due next',
            panel(preview, (found) => nextTimes(found, visit.zone)),
          ),
        ),
        div(
          { class: 'below' },
          panel(runs, (found) => runsCard(visit, found, mayOf(may))),
        ),
        pager(runs, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
      ),
    ];
  },
});
