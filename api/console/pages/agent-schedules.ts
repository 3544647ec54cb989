import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { agentCalls, agentParams, agentTab, agentTrail } from '../agent-frame.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { emptyState } from '../parts/empty-state.ts';
import { scheduleText } from '../parts/job-text.ts';
import { pager } from '../parts/pager.ts';
import { panel } from '../parts/problem-panel.ts';
import { type Column, tableOf } from '../parts/table.ts';
import { tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { type Visit, withQuery } from '../visit.ts';

const { div, a, tr, td, span } = tags;

type Job = ReplyOf<Rows['listCronJobs']>[number];

const COLUMNS: readonly Column[] = [['Job'], ['State'], ['Last fired', 'number wide-only'], ['Due next', 'number']];

const jobRow = (job: Job, visit: Visit) =>
  tr(
    { 'data-kind': 'cron-job', 'data-id': job.id },
    td(
      { class: 'main-cell' },
      a({ class: 'row-link', href: `${visit.path}/${job.id}` }, span({ class: 'event' }, job.name)),
      div({ class: 'quiet' }, scheduleText(job)),
    ),
    td({ class: 'state-cell' }, badge(job.status)),
    td({ class: 'number wide-only' }, ago(job.last_fired_at)),
    td({ class: 'number' }, ago(job.next_fire_at, 'not due')),
  );

/** The page with the cron jobs of an agent. */
export const agentSchedulesPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/cron-jobs',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'cronjob', 'cronrun'],
  asks: (visit) => {
    const cursor = visit.query.get('cursor');
    return {
      ...agentCalls(visit),
      jobs: visit.ask(visit.rows.listCronJobs, { ...agentParams(visit), ...(cursor ? { cursor } : {}) }),
    };
  },
  title: () => 'Schedules',
  trail: agentTrail('Schedules'),
  view: ({ agent, may, jobs }, visit) =>
    agentTab(visit, 'Schedules', { agent, may }, (_, onAgent) => {
      const create = formLink(visit, visit.rows.createCronJob, agentParams(visit), 'Create a cron job', { onAgent, icon: 'plus' });
      return [
        panel(jobs, (found) =>
          found.length === 0
            ? emptyState(
                { icon: 'calendar-clock', title: 'No cron jobs', why: 'A cron job calls the agent or a URL at set times.' },
                create,
              )
            : div(
                null,
                div({ class: 'toolbar' }, create),
                tableOf(
                  'Cron jobs',
                  COLUMNS,
                  found.map((job) => jobRow(job, visit)),
                ),
              ),
        ),
        pager(jobs, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
      ];
    }),
});
