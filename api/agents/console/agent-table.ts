import type { Rows } from '../../areas.ts';
import { actionButton } from '../../console/action.ts';
import { hourStart } from '../../console/agent-now.ts';
import { badge } from '../../console/parts/badge.ts';
import { limitBar } from '../../console/parts/budget-bar.ts';
import { countText } from '../../console/parts/count-text.ts';
import { type ColumnSort, dataTable } from '../../console/parts/data-table.ts';
import { heldText } from '../../console/parts/held-text.ts';
import { givenUpInLastDay } from '../../console/parts/last-day.ts';
import { usd } from '../../console/parts/money.ts';
import { sparkline } from '../../console/parts/sparkline.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, div, span } = tags;

type Agent = ReplyOf<Rows['listAgents']>[number];
type Activity = ReplyOf<Rows['listAgentActivity']>[number];

/** What the list shows of an agent besides its settings. A field is undefined if it was not requested or could not be read. */
export type AgentNumbers = {
  readonly presence: ReplyOf<Rows['listRunners']>[number] | undefined;
  readonly activity: Activity | undefined;
  readonly held: ReplyOf<Rows['listHeldDeliveries']>;
};

/** The button that adds an agent to the visitor's favourites or removes it. Everybody who may see the agent may do this. */
const favoriteButton = (visit: Visit, { id, tenant_id, name, is_favorite }: Agent) => {
  const row = is_favorite ? visit.rows.unfavoriteAgent : visit.rows.favoriteAgent;
  const label = is_favorite ? `Remove ${name} from the favorites` : `Add ${name} to the favorites`;
  return actionButton(visit, row, { tenant_id, agent_id: id }, label, {
    ...{ onAgent: () => true, returnTo: visit.url, icon: 'star', isIconOnly: true },
    look: is_favorite ? 'ghost small marked' : 'ghost small',
  });
};

const unknown = () => span({ class: 'quiet' }, '—');

const runnerOf = ({ presence }: AgentNumbers): Child => {
  if (!presence) return unknown();
  if (presence.connected_since) return badge('connected');
  return presence.last_seen_at ? span({ class: 'quiet' }, 'seen ', ago(presence.last_seen_at)) : span({ class: 'quiet' }, 'never');
};

const heldOf = ({ held }: AgentNumbers, href: string): Child => {
  const [first] = held;
  if (!first) return null;
  const count = held.reduce((sum, group) => sum + group.count, 0);
  return div(null, a({ href, 'data-held': count }, badge('held', `${countText(count)} held`)), div(null, heldText(first)));
};

/** Renders a number that leads to what was counted, if there is something. */
const numberOf = (count: number | null | undefined, name: string, href: string): Child => {
  if (typeof count !== 'number') return unknown();
  const attribute = { [`data-${name}`]: count };
  return count === 0 ? span({ class: 'quiet', ...attribute }, '0') : a({ href, ...attribute }, countText(count));
};

const dayOf = ({ activity }: AgentNumbers, href: string): Child =>
  typeof activity?.deliveries === 'number'
    ? div(
        { class: 'spark-cell' },
        sparkline({ title: 'Deliveries per hour', values: activity.buckets }),
        numberOf(activity.deliveries, 'deliveries', href),
      )
    : unknown();

const budgetOf = ({ activity }: AgentNumbers): Child => {
  if (!activity) return unknown();
  const { budget_usd, used_usd } = activity;
  if (budget_usd === null) return span({ class: 'quiet', 'data-budget': 'none' }, 'no limit');
  return limitBar({ hour: hourStart(), used_usd, limit_usd: budget_usd });
};

/** Returns the link that sorts by a column. A second click reverses the order. `first` is the order after one click. */
const sortBy = (visit: Visit, current: string, column: string, first: 'ascending' | 'descending'): ColumnSort => {
  const order = current === column ? 'ascending' : current === `-${column}` ? 'descending' : null;
  const isDescending = order === null ? first === 'descending' : order === 'ascending';
  return { order, href: withQuery(visit, { sort: isDescending ? `-${column}` : column, cursor: null }) };
};

type Shown = {
  readonly of: (agent_id: string) => AgentNumbers;
  /** The order of the list; null if it cannot be sorted. */
  readonly sort: string | null;
};

/** Renders a table of agents with what they do. */
export const agentTable = (visit: Visit, agents: readonly Agent[], { of, sort }: Shown): Child => {
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const deliveries = (agent_id: string, filter = {}) => `${at('/deliveries')}?${new URLSearchParams({ ...filter, agent_id })}`;
  const areDeleted = visit.query.get('deleted') === 'true';
  // Neither deleted agents nor those of the past have numbers.
  const isNamesOnly = areDeleted || visit.asOf !== null;
  const by = (column: string, first: 'ascending' | 'descending' = 'descending') =>
    sort === null ? {} : { sort: sortBy(visit, sort, column, first) };
  const name = by('name', 'ascending').sort;
  const stateOf = ({ is_active }: Agent): Child => (areDeleted ? badge('inactive', 'deleted') : is_active ? null : badge('paused'));
  return dataTable<Agent>(
    {
      ...{ title: 'Agents', kind: 'agent', nameTitle: 'Agent', id: ({ id }) => id, name: ({ name }) => name },
      ...(name && { nameSort: name }),
      href: ({ id }) => at(`/agents/${id}`),
      beside: (agent) => [' ', stateOf(agent), areDeleted ? null : favoriteButton(visit, agent)],
      details: ({ id, description, slug }) => [description ?? slug, heldOf(of(id), deliveries(id, { status: 'held' }))],
      columns: isNamesOnly
        ? []
        : [
            {
              title: 'Runner',
              cell: ({ id }) => span({ 'data-runner': of(id).presence?.connected_since ? 'connected' : '' }, runnerOf(of(id))),
            },
            {
              ...{ title: 'Queue', look: 'number', ...by('queue') },
              cell: ({ id }) => numberOf(of(id).activity?.queue, 'queue', deliveries(id, { status: 'queued' })),
            },
            { title: 'Deliveries, 24 h', look: 'number', ...by('deliveries'), cell: ({ id }) => dayOf(of(id), deliveries(id)) },
            {
              ...{ title: 'Given up, 24 h', look: 'number', ...by('failed') },
              cell: ({ id }) => numberOf(of(id).activity?.failed, 'failed', deliveries(id, givenUpInLastDay())),
            },
            {
              ...{ title: 'Last delivery', look: 'number', ...by('activity') },
              cell: ({ id }) => {
                const last = of(id).activity?.last_at;
                return last ? ago(last) : unknown();
              },
            },
            { title: 'Budget', cell: ({ id }) => budgetOf(of(id)) },
            {
              ...{ title: 'Cost today', look: 'number', ...by('cost') },
              cell: ({ id }) => {
                const cost = of(id).activity?.cost_usd;
                return typeof cost === 'number' ? usd(cost) : unknown();
              },
            },
          ],
    },
    agents,
  );
};
