import type { ReplyOf } from '../../http/ask.ts';
import { actionButton, formLink } from '../action.ts';
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

/** Renders the button with which the visitor marks an agent as a favorite. Everybody who sees an agent may mark it. */
const favoriteButton = (visit: Visit, { id, tenant_id, name, is_favorite }: Agent) => {
  const row = is_favorite ? visit.rows.unfavoriteAgent : visit.rows.favoriteAgent;
  const label = is_favorite ? `Remove ${name} from the favorites` : `Add ${name} to the favorites`;
  return actionButton(visit, row, { tenant_id, agent_id: id }, label, {
    onAgent: () => true,
    returnTo: visit.url,
    icon: 'star',
    isIconOnly: true,
    look: is_favorite ? 'ghost small marked' : 'ghost small',
  });
};

const rowOf = (visit: Visit) => (agent: Agent) => {
  const { id, tenant_id, name, slug, description, kind, is_active, code_ref, updated_at } = agent;
  return tr(
    { 'data-kind': 'agent', 'data-id': id },
    td(
      { class: 'main-cell' },
      a({ href: tenantPath(tenant_id, `/agents/${id}`), class: 'row-link' }, span({ class: 'event' }, name)),
      div({ class: 'quiet clip' }, description ?? slug),
    ),
    td({ class: 'state-cell' }, badge(is_active ? 'active' : 'inactive')),
    td({ class: 'wide-only' }, kind),
    td({ class: 'wide-only mono' }, code_ref),
    td({ class: 'number' }, ago(updated_at)),
    td({ class: 'number wide-only' }, favoriteButton(visit, agent)),
  );
};

const agentTable = (visit: Visit, rows: readonly Agent[]) =>
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
          th({ scope: 'col', class: 'number wide-only' }, span({ class: 'hidden' }, 'Favorite')),
        ),
      ),
      tbody(null, ...rows.map(rowOf(visit))),
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

const createLink = (visit: Visit) =>
  formLink(visit, visit.rows.createAgent, { tenant_id: visit.params.tenant_id! }, 'New agent', { icon: 'plus', look: 'primary' });

const nothing = (visit: Visit, isFiltered: boolean) =>
  isFiltered
    ? emptyState(
        { icon: 'search', title: 'No agent matches', why: 'Nothing matches the filters of this page.' },
        a({ class: 'button', href: visit.path }, 'Clear the filters'),
      )
    : emptyState(
        {
          icon: 'bot',
          title: 'No agents yet',
          why: visit.may('tenant:agents:create')
            ? 'An agent gets the deliveries of its integrations.'
            : 'You see the agents on which somebody gave you a role. Ask an administrator of the tenant.',
        },
        createLink(visit),
      );

/** The page with the agents that the visitor may see. */
export const agentListPage = page({
  path: '/console/t/:tenant_id/agents',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent'],
  asks: (visit) => {
    const query = passedQuery(visit);
    const list = (fields: object) => visit.ask(visit.rows.listAgents, { tenant_id: visit.params.tenant_id!, ...query, ...fields } as never);
    // A list of the past has no filters.
    if (query.favorite || visit.asOf) return { agents: list({}), favorites: Promise.resolve(null) };
    // Favorites are shown first, and only on the first page of the list.
    return {
      agents: list({ favorite: 'false' }),
      favorites: query.cursor ? Promise.resolve(null) : list({ favorite: 'true', limit: '200' }),
    };
  },
  title: () => 'Agents',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ agents, favorites }, visit) => {
    const { cursor, ...filters } = passedQuery(visit);
    const { q = '', ...kept } = filters;
    const list = () => {
      if (!agents.ok) return problemPanel(agents.problem);
      const first = favorites?.ok ? favorites.value : [];
      const all = [...first, ...agents.value];
      return all.length === 0 ? nothing(visit, Object.keys(filters).length > 0) : agentTable(visit, all);
    };
    return [
      heading('Agents', 'Who gets the deliveries, with which models and which code.', createLink(visit)),
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
