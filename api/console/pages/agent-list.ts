import type { ReplyOf } from '../../http/ask.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { emptyState } from '../parts/empty-state.ts';
import { filterTabs, searchField } from '../parts/filters.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { pager } from '../parts/pager.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import type { Rows } from '../rows.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div, span, table, caption, thead, tbody, tr, th, td } = tags;

type Agent = ReplyOf<Rows['listAgents']>[number];

const PASSED = ['q', 'is_active', 'kind', 'favorite', 'cursor'] as const;

const passedQuery = ({ query }: Visit): Readonly<Record<string, string>> =>
  Object.fromEntries(PASSED.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])));

const rowOf = ({ id, tenant_id, name, slug, description, kind, is_active, is_favorite, code_ref, updated_at }: Agent) =>
  tr(
    { 'data-kind': 'agent', 'data-id': id },
    td(
      { class: 'main-cell' },
      a(
        { href: tenantPath(tenant_id, `/agents/${id}`), class: 'row-link' },
        is_favorite ? icon('star') : null,
        span({ class: 'event' }, name),
      ),
      div({ class: 'quiet clip' }, description ?? slug),
    ),
    td({ class: 'state-cell' }, badge(is_active ? 'active' : 'inactive')),
    td({ class: 'wide-only' }, kind),
    td({ class: 'wide-only mono' }, code_ref),
    td({ class: 'number' }, ago(updated_at)),
  );

const agentTable = (rows: readonly Agent[]) =>
  div(
    { class: 'table-box' },
    table(
      { class: 'list' },
      caption({ class: 'hidden' }, 'Agents'),
      thead(
        null,
        tr(
          null,
          th({ scope: 'col' }, 'Agent'),
          th({ scope: 'col' }, 'State'),
          th({ scope: 'col', class: 'wide-only' }, 'Kind'),
          th({ scope: 'col', class: 'wide-only' }, 'Code'),
          th({ scope: 'col', class: 'number' }, 'Changed'),
        ),
      ),
      tbody(null, ...rows.map(rowOf)),
    ),
  );

const activity = (visit: Visit) => {
  const linkTo = (changes: Record<string, string | null>) =>
    withQuery(visit, { is_active: null, favorite: null, cursor: null, ...changes });
  const current = visit.query.get('favorite') === 'true' ? 'favorite' : visit.query.get('is_active');
  return filterTabs('Filter by state', current, [
    { value: null, label: 'All', href: linkTo({}) },
    { value: 'true', label: badge('active'), href: linkTo({ is_active: 'true' }) },
    { value: 'false', label: badge('inactive'), href: linkTo({ is_active: 'false' }) },
    { value: 'favorite', label: span({ class: 'badge calm' }, icon('star'), 'favorites'), href: linkTo({ favorite: 'true' }) },
  ]);
};

const nothing = (visit: Visit, isFiltered: boolean) =>
  isFiltered
    ? emptyState(
        { icon: 'search', title: 'No agent matches', why: 'The filters of this page leave none.' },
        a({ class: 'button', href: visit.path }, 'Clear the filters'),
      )
    : emptyState({
        icon: 'bot',
        title: 'No agents yet',
        why: visit.may('tenant:agents:create')
          ? 'Create the first one with the operation createAgent.'
          : 'You see the agents on which somebody gave you a role. Ask an administrator of the tenant.',
      });

/** The agents that the visitor may see. */
export const agentListPage = page({
  path: '/console/t/:tenant_id/agents',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent'],
  asks: (visit) => ({ agents: visit.ask(visit.rows.listAgents, { tenant_id: visit.params.tenant_id!, ...passedQuery(visit) } as never) }),
  title: () => 'Agents',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ agents }, visit) => {
    const { cursor, ...filters } = passedQuery(visit);
    const { q = '', ...kept } = filters;
    const list = () => {
      if (!agents.ok) return problemPanel(agents.problem);
      return agents.value.length === 0 ? nothing(visit, Object.keys(filters).length > 0) : agentTable(agents.value);
    };
    return [
      heading('Agents', 'Who gets the deliveries, with which models and which code.'),
      div(
        { class: 'toolbar' },
        activity(visit),
        searchField(visit.path, { name: 'q', value: q, placeholder: 'Search by name or slug' }, kept),
      ),
      list(),
      pager(agents, cursor === undefined, (next) => withQuery(visit, { cursor: next })),
    ];
  },
});
