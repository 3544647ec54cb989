import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { agentCalls, agentParams, agentTab, agentTrail } from '../../console/agent-frame.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { scheduleText } from '../../console/parts/job-text.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { div } = tags;

type Job = ReplyOf<Rows['listCronJobs']>[number];

const jobTable = (jobs: readonly Job[], visit: Visit): Child =>
  dataTable<Job>(
    {
      ...{ title: 'Cron jobs', kind: 'cron-job', nameTitle: 'Job', id: ({ id }) => id, name: ({ name }) => name },
      href: ({ id }) => `${visit.path}/${id}`,
      details: scheduleText,
      columns: [
        { title: 'State', look: 'state', cell: ({ status }) => badge(status) },
        { title: 'Last fired', look: 'number', cell: ({ last_fired_at }) => ago(last_fired_at) },
        { title: 'Due next', look: 'number', cell: ({ next_fire_at }) => ago(next_fire_at, 'not due') },
      ],
    },
    jobs,
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
            : div(null, div({ class: 'toolbar' }, create), jobTable(found, visit)),
        ),
        pager(jobs, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
      ];
    }),
});
