import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { NOT_ASKED, page } from '../../console/page.ts';
import { countText } from '../../console/parts/count-text.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { filterTabs, searchField } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { pager } from '../../console/parts/pager.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { tags } from '../../console/parts/tags.ts';
import { type Visit, withQuery } from '../../console/visit.ts';
import { askHeld } from '../../deliveries/console/held-groups.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { type AgentNumbers, agentTable } from './agent-table.ts';

const { a, div, p, span } = tags;

const FILTERS = ['q', 'is_active', 'kind', 'favorite', 'deleted'] as const;
const MAX_IDS = 200;
/** Agents are sorted by their last delivery, unless the visitor chooses another order. */
const DEFAULT_SORT = '-activity';

type Summary = ReplyOf<Rows['readAgentSummary']>;

const passed = ({ query }: Visit, names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])));

const areDeleted = ({ query }: Visit): boolean => query.get('deleted') === 'true';

/** The tabs: the count of each, and its filter. */
const TABS: readonly (readonly [
  label: string,
  count: Exclude<keyof Summary, 'attention_ids'>,
  filter: Readonly<Record<string, string>>,
])[] = [
  ['All', 'all', {}],
  ['Needs attention', 'attention', { attention: 'true' }],
  ['Active', 'active', { is_active: 'true' }],
  ['Paused', 'paused', { is_active: 'false' }],
  ['Deleted', 'deleted', { deleted: 'true' }],
  ['Favourites', 'favorites', { favorite: 'true' }],
];
const NO_TAB = { attention: null, is_active: null, deleted: null, favorite: null, cursor: null } as const;

const tabsOf = (visit: Visit, summary: Answer<Summary> | null) => {
  const current = TABS.find(([, , filter]) => Object.entries(filter).some(([name, value]) => visit.query.get(name) === value));
  return filterTabs(
    'Filter by state',
    current?.[0] ?? 'All',
    TABS.map(([label, count, filter]) => ({
      value: label,
      // Deleted agents have no activity by which they could be sorted.
      href: withQuery(visit, { ...NO_TAB, ...filter, ...(filter.deleted ? { sort: null } : {}) }),
      label: [
        label,
        summary?.ok ? span({ class: 'quiet', 'data-count': String(summary.value[count]) }, ` ${countText(summary.value[count])}`) : null,
      ],
    })),
  );
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

type Lists = {
  readonly activity: Answer<ReplyOf<Rows['listAgentActivity']>> | null;
  readonly runners: Answer<ReplyOf<Rows['listRunners']>> | null;
  readonly held: Answer<ReplyOf<Rows['listHeldDeliveries']>> | null;
};

/** Returns a function that looks up what the list shows of an agent besides its settings. */
const numbersIn = ({ activity, runners, held }: Lists): ((agent_id: string) => AgentNumbers) => {
  const presences = new Map((runners?.ok ? runners.value : []).map((one) => [one.agent_id, one]));
  const activities = new Map((activity?.ok ? activity.value : []).map((one) => [one.agent_id, one]));
  const groups = Map.groupBy(held?.ok ? held.value : [], ({ agent_id }) => agent_id);
  return (agent_id) => ({ presence: presences.get(agent_id), activity: activities.get(agent_id), held: groups.get(agent_id) ?? [] });
};

/** The page with the agents that the visitor may see. */
export const agentListPage = page({
  path: '/console/t/:tenant_id/agents',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'delivery', 'acknowledgement'],
  polls: true,
  asks: (visit) => {
    const { ask, rows, asOf } = visit;
    const tenant = { tenant_id: visit.params.tenant_id! };
    // A list at a time in the past cannot be filtered or sorted. The page says so.
    const chosen = asOf ? {} : passed(visit, [...FILTERS, 'sort']);
    const order = asOf || areDeleted(visit) ? {} : { sort: DEFAULT_SORT };
    const list = (more: object) => ask(rows.listAgents, { ...tenant, ...order, ...chosen, ...passed(visit, ['cursor']), ...more });
    const summary = asOf === null ? ask(rows.readAgentSummary, tenant) : NOT_ASKED;
    const inNeed = async () => {
      const found = await summary;
      const ids = found?.ok ? found.value.attention_ids : [];
      if (ids.length > 0) return list({ agent_id: ids.slice(0, MAX_IDS).join(',') });
      return found && (found.ok ? { ...found, value: [] } : found);
    };
    const agents = asOf === null && visit.query.get('attention') === 'true' ? inNeed().then((found) => found ?? list({})) : list({});
    const isPresent = asOf === null && !areDeleted(visit);
    const ofAgents = <T>(call: (agent_id: string, limit: number) => Promise<T>): Promise<T | null> =>
      isPresent
        ? agents.then((found) =>
            found.ok && found.value.length > 0 ? call(found.value.map(({ id }) => id).join(','), found.value.length) : null,
          )
        : NOT_ASKED;
    return {
      agents,
      summary,
      activity: ofAgents((agent_id) => ask(rows.listAgentActivity, { ...tenant, agent_id })),
      runners: ofAgents((agent_id, limit) => ask(rows.listRunners, { ...tenant, agent_id, limit })),
      held: askHeld(visit),
    };
  },
  title: () => 'Agents',
  view: ({ agents, summary, ...lists }, visit) => {
    const filters = passed(visit, FILTERS);
    const { q = '', ...kept } = filters;
    const isFiltered = Object.keys(filters).length > 0 || visit.query.has('attention');
    const sort = visit.asOf || areDeleted(visit) ? null : (visit.query.get('sort') ?? DEFAULT_SORT);
    const list = () => {
      if (!agents.ok) return problemPanel(agents.problem);
      return agents.value.length === 0 ? nothing(visit, isFiltered) : agentTable(visit, agents.value, { of: numbersIn(lists), sort });
    };
    return [
      heading('Agents', 'Who gets the deliveries, with which models and which code.', createLink(visit)),
      // A list at a time in the past cannot be filtered.
      visit.asOf
        ? null
        : div(
            { class: 'toolbar' },
            tabsOf(visit, summary),
            searchField(
              visit.path,
              { name: 'q', value: q, placeholder: 'Search by name or slug' },
              { ...kept, ...passed(visit, ['sort', 'attention']) },
            ),
          ),
      visit.asOf && isFiltered
        ? p({ class: 'note', 'data-unfiltered': '' }, icon('info'), 'A list of the past cannot be filtered: it shows all agents.')
        : null,
      list(),
      pager(agents, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next }), { first: 'First page', next: 'Next page' }),
    ];
  },
});
