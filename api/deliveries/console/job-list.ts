import type { Rows } from '../../areas.ts';
import { agentNames, membersAmong, namesIn, peopleNames } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { countText } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { valuesIn } from '../../console/parts/filter-form.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { deliveryViews } from './delivery-views.ts';
import { KINDS } from './job.ts';

const { a } = tags;

type Job = ReplyOf<Rows['listJobs']>[number];
type Names = ReadonlyMap<string, string>;

/** Returns what a job is about: the agent that gets the deliveries or the entries. */
const subjectOf = ({ agent_id, target_agent_id }: Job, agents: Names): string | null => {
  const id = agent_id ?? target_agent_id;
  return id === null ? null : (agents.get(id) ?? 'an agent');
};

const jobTable = (visit: Visit, jobs: readonly Job[], { agents, people }: { readonly agents: Names; readonly people: Names }) =>
  dataTable<Job>(
    {
      ...{ title: 'Jobs', kind: 'job', nameTitle: 'Job', id: ({ id }) => id, name: ({ kind }) => KINDS[kind].title },
      href: ({ id }) => tenantPath(visit.params.tenant_id!, `/jobs/${id}`),
      details: (job) => [subjectOf(job, agents), job.error].filter((one) => one !== null).join(' · ') || null,
      columns: [
        { title: 'State', look: 'state', cell: ({ status }) => badge(status) },
        { title: 'Done', look: 'number', cell: ({ done, total }) => `${countText(done)} of ${countText(total)}` },
        { title: 'Requested by', cell: ({ requested_by_id: by }) => (by === null ? 'The platform' : (people.get(by) ?? shortId(by))) },
        { title: 'Requested', look: 'number', cell: ({ created_at }) => ago(created_at) },
        { title: 'Ended', look: 'number', cell: ({ finished_at }) => ago(finished_at, 'not yet') },
      ],
    },
    jobs,
  );

const isOfReplays = (query: URLSearchParams): boolean => query.get('kind') === 'deliveries_replay';

/** The page with the jobs of a tenant: replays of deliveries, and imports into the memories of agents. */
export const jobListPage = page({
  path: '/console/t/:tenant_id/jobs',
  permit: 'tenant:read',
  nav: 'Deliveries',
  categories: ['replay', 'memoryimport'],
  asks: (visit) => {
    const { ask, rows, params, query } = visit;
    const tenant_id = params.tenant_id!;
    const jobs = ask(rows.listJobs, { tenant_id, ...valuesIn(query, ['kind', 'cursor']) });
    const requestersIn = (found: readonly Job[]) => found.map(({ requested_by_id }) => requested_by_id);
    return {
      jobs,
      agents: agentNames(visit),
      people: jobs.then((found) => (found.ok ? membersAmong(visit, requestersIn(found.value)) : null)),
    };
  },
  title: (_, { query }) => (isOfReplays(query) ? 'Replays' : 'Jobs'),
  trail: ({ params }) => [['Deliveries', tenantPath(params.tenant_id!, '/deliveries')]],
  view: ({ jobs, agents, people }, visit) => {
    const isReplays = isOfReplays(visit.query);
    const why = isReplays
      ? 'A replay or release of several deliveries continues after its request, as a job.'
      : 'A replay of several deliveries, and an import into the memory of an agent, continues after its request, as a job.';
    const nothing = emptyState(
      { icon: 'history', title: isReplays ? 'No replay yet' : 'There is no job yet', why },
      a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/deliveries') }, 'To deliveries'),
    );
    return [
      heading(isReplays ? 'Replays' : 'Jobs', 'What continues after its request: who asked for it, how far it is, and what became of it.'),
      isReplays ? deliveryViews(visit, 'replays') : null,
      panel(jobs, (found) =>
        found.length === 0 ? nothing : jobTable(visit, found, { agents: namesIn(agents), people: peopleNames(people) }),
      ),
      pager(jobs, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
