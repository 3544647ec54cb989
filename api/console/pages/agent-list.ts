import type { Rows } from '../../areas.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { actionButton, formLink } from '../action.ts';
import { askHeld } from '../held-groups.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { countText } from '../parts/count-text.ts';
import { dataTable } from '../parts/data-table.ts';
import { emptyState } from '../parts/empty-state.ts';
import { filterTabs, searchField } from '../parts/filters.ts';
import { heading } from '../parts/heading.ts';
import { heldText } from '../parts/held-text.ts';
import { icon } from '../parts/icon.ts';
import { usd } from '../parts/money.ts';
import { sumOf } from '../parts/outcome-counts.ts';
import { pager } from '../parts/pager.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div, p, span } = tags;

type Agent = ReplyOf<Rows['listAgents']>[number];
type Presence = ReplyOf<Rows['listRunners']>[number];
type Held = ReplyOf<Rows['listHeldDeliveries']>;

const PASSED = ['q', 'is_active', 'kind', 'favorite', 'deleted', 'cursor'] as const;

const passedQuery = ({ query }: Visit): Readonly<Record<string, string>> =>
  Object.fromEntries(PASSED.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])));

/**
 * Renders the button that adds an agent to the visitor's favorites or removes it. Everybody who may see the agent may
 * do this.
 */
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

/**
 * What the list shows about an agent in addition to its settings. A field is absent if it was not requested or could
 * not be read.
 */
type Activity = {
  readonly presence?: Presence | undefined;
  readonly deliveries?: number | undefined;
  readonly cost_usd?: number | undefined;
  readonly held?: Held | undefined;
};

const runnerOf = ({ presence }: Activity): Child => {
  if (!presence) return span({ class: 'quiet' }, '—');
  if (presence.connected_since) return badge('connected');
  return presence.last_seen_at ? span({ class: 'quiet' }, 'seen ', ago(presence.last_seen_at)) : span({ class: 'quiet' }, 'never');
};

const heldOf = ({ held = [] }: Activity, href: string): Child => {
  const [first] = held;
  if (!first) return null;
  const count = held.reduce((sum, group) => sum + group.count, 0);
  return div(null, a({ href, 'data-held': count }, badge('held', `${countText(count)} held`)), div(null, heldText(first)));
};

const deliveriesOf = ({ deliveries }: Activity, href: string): Child =>
  deliveries === undefined ? span({ class: 'quiet' }, '—') : a({ href, 'data-deliveries': deliveries }, countText(deliveries));

const costOf = ({ cost_usd }: Activity): Child => (cost_usd === undefined ? span({ class: 'quiet' }, '—') : usd(cost_usd));

const agentTable = (visit: Visit, agents: readonly Agent[], of: (agent_id: string) => Activity): Child => {
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const areDeleted = visit.query.get('deleted') === 'true';
  return dataTable<Agent>(
    {
      ...{ title: 'Agents', kind: 'agent', nameTitle: 'Agent', id: ({ id }) => id, name: ({ name }) => name },
      href: ({ id }) => at(`/agents/${id}`),
      beside: (agent) => (areDeleted ? null : favoriteButton(visit, agent)),
      details: ({ id, description, slug }) => [
        description ?? slug,
        heldOf(of(id), at(`/deliveries?${new URLSearchParams({ status: 'held', agent_id: id })}`)),
      ],
      columns: [
        {
          ...{ title: 'State', look: 'state' },
          cell: ({ is_active }) => (areDeleted ? badge('inactive', 'deleted') : badge(is_active ? 'active' : 'inactive')),
        },
        {
          title: 'Runner',
          cell: ({ id }) => span({ 'data-runner': of(id).presence?.connected_since ? 'connected' : '' } as never, runnerOf(of(id))),
        },
        { title: 'Kind', cell: ({ kind }) => kind },
        { title: 'Deliveries, 24 h', look: 'number', cell: ({ id }) => deliveriesOf(of(id), at(`/deliveries?agent_id=${id}`)) },
        { title: 'Cost today', look: 'number', cell: ({ id }) => costOf(of(id)) },
        {
          ...{ title: 'Acknowledged', look: 'number' },
          cell: ({ id }) => {
            const last = of(id).presence?.last_acknowledged_at;
            return last ? ago(last) : span({ class: 'quiet' }, 'never');
          },
        },
      ],
    },
    agents,
  );
};

const activity = (visit: Visit) => {
  const linkTo = (changes: Record<string, string | null>) =>
    withQuery(visit, { is_active: null, favorite: null, deleted: null, cursor: null, ...changes });
  const current = ['favorite', 'deleted'].find((name) => visit.query.get(name) === 'true') ?? visit.query.get('is_active');
  return filterTabs('Filter by state', current, [
    { value: null, label: 'All', href: linkTo({}) },
    { value: 'true', label: badge('active'), href: linkTo({ is_active: 'true' }) },
    { value: 'false', label: badge('inactive'), href: linkTo({ is_active: 'false' }) },
    { value: 'favorite', label: span({ class: 'badge calm' }, icon('star'), 'favorites'), href: linkTo({ favorite: 'true' }) },
    { value: 'deleted', label: span({ class: 'badge calm' }, icon('trash-2'), 'deleted'), href: linkTo({ deleted: 'true' }) },
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

const MAX_IDS = 200;
const DAY_MS = 86_400_000;
const NOT_ASKED: Promise<null> = Promise.resolve(null);

const dayAgo = (): string => new Date(Date.now() - DAY_MS).toISOString();

/** Returns the current day (UTC) as the period of a cost query. */
const today = () => {
  const start = new Date(new Date().setUTCHours(0, 0, 0, 0));
  return { start: start.toISOString(), end: new Date(start.getTime() + DAY_MS).toISOString() };
};

type Lists = {
  readonly runners: Answer<readonly Presence[]> | null;
  readonly deliveries: Answer<ReplyOf<Rows['summarizeDeliveries']>> | null;
  readonly costs: Answer<ReplyOf<Rows['readCostBreakdown']>> | null;
  readonly held: Answer<Held> | null;
};

/** Returns a function that looks up the activity of an agent in the answers. */
const activities = ({ runners, deliveries, costs, held }: Lists): ((agent_id: string) => Activity) => {
  const presences = new Map((runners?.ok ? runners.value : []).map((one) => [one.agent_id, one]));
  const counts = deliveries?.ok ? new Map(deliveries.value.groups.map(({ key, outcomes }) => [key, sumOf(outcomes)])) : null;
  const spent = costs?.ok ? new Map(costs.value.groups.map(({ key, cost_usd }) => [key, cost_usd])) : null;
  const groups = Map.groupBy(held?.ok ? held.value : [], ({ agent_id }) => agent_id);
  return (agent_id) => ({
    held: groups.get(agent_id),
    presence: presences.get(agent_id),
    deliveries: counts ? (counts.get(agent_id) ?? 0) : undefined,
    cost_usd: spent ? (spent.get(agent_id) ?? 0) : undefined,
  });
};

/** The page with the agents that the visitor may see. */
export const agentListPage = page({
  path: '/console/t/:tenant_id/agents',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'delivery', 'acknowledgement'],
  polls: true,
  asks: (visit) => {
    const { ask, rows, may } = visit;
    const tenant = { tenant_id: visit.params.tenant_id! };
    const { cursor, ...filters } = passedQuery(visit);
    // A list at a time in the past cannot be filtered. The page says so.
    const query: Readonly<Record<string, string>> = { ...(visit.asOf ? {} : filters), ...(cursor ? { cursor } : {}) };
    const list = (fields: object) => ask(rows.listAgents, { ...tenant, ...query, ...fields } as never);
    const isMixed = !(query.favorite || visit.asOf);
    const agents = list(isMixed ? { favorite: 'false' } : {});
    // Favorites come first. They are shown only on the first page of the list.
    const favorites = isMixed && !query.cursor ? list({ favorite: 'true', limit: '200' }) : NOT_ASKED;
    const runners = Promise.all([agents, favorites]).then((found) => {
      const ids = found.flatMap((one) => (one?.ok ? one.value.map(({ id }) => id) : [])).slice(0, MAX_IDS);
      return ids.length === 0 || visit.asOf
        ? null
        : ask(rows.listRunners, { ...tenant, agent_id: ids.join(','), limit: String(MAX_IDS) } as never);
    });
    return {
      agents,
      favorites,
      runners,
      held: askHeld(visit),
      deliveries: visit.asOf ? NOT_ASKED : ask(rows.summarizeDeliveries, { ...tenant, from: dayAgo(), group_by: 'agent_id' }),
      costs:
        may('tenant:billing:read') && !visit.asOf ? ask(rows.readCostBreakdown, { ...tenant, ...today(), group_by: 'agent' }) : NOT_ASKED,
    };
  },
  title: () => 'Agents',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ agents, favorites, runners, held, deliveries, costs }, visit) => {
    const { cursor, ...filters } = passedQuery(visit);
    const { q = '', ...kept } = filters;
    const list = () => {
      if (!agents.ok) return problemPanel(agents.problem);
      const first = favorites?.ok ? favorites.value : [];
      const all = [...first, ...agents.value];
      if (all.length === 0) return nothing(visit, Object.keys(filters).length > 0);
      const activityOf = activities({ runners, deliveries, costs, held });
      return agentTable(visit, all, activityOf);
    };
    return [
      heading('Agents', 'Who gets the deliveries, with which models and which code.', createLink(visit)),
      div(
        { class: 'toolbar' },
        activity(visit),
        searchField(visit.path, { name: 'q', value: q, placeholder: 'Search by name or slug' }, kept),
      ),
      visit.asOf && Object.keys(filters).length > 0
        ? p({ class: 'note', 'data-unfiltered': '' } as never, icon('info'), 'A list of the past cannot be filtered: it shows all agents.')
        : null,
      list(),
      pager(agents, cursor === undefined, (next) => withQuery(visit, { cursor: next })),
    ];
  },
});
