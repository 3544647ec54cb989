import { type Kysely, sql } from 'kysely';
import type { AgentRole } from '../../domain/agents/role-permissions.ts';
import { type Position, sortKey } from '../../domain/event.ts';
import { omit } from '../../domain/omit.ts';
import type { Database } from '../database.ts';
import { containsPattern, defineList, defineQuery } from '../query.ts';
import { DOC_SEPARATOR, type Doc, type Page, type PageWindow, type Reads, type Source, tenantCount } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AgentListRead, agentCounter, agents, table } from './agent.ts';

const from: Source<typeof table> = { projection: agents.name, table };

/**
 * The agents that a caller may see: all agents of the tenant, or those on which the user has one of `roles`, by a role
 * or by a grant. A role or grant counts only if it is newer than `since`, the sort key of the position at which the
 * user became a member.
 */
export type AgentVisibility =
  | { readonly all: true }
  | { readonly all: false; readonly user_id: string; readonly roles: readonly AgentRole[]; readonly since: string };

/** Returns one agent, by default as AgentRead; null if it does not exist or is deleted. */
export const agentById = async (reads: Reads, tenant_id: string, id: string, doc: keyof typeof table.docs = 'doc'): Promise<Doc | null> =>
  reads.one(from, { tenant_id, id }, doc);

export type AgentFilter = {
  readonly q?: string | undefined;
  readonly is_active?: boolean | undefined;
  readonly kind?: string | undefined;
  /** If true, only favorites are listed; if false, only the other agents. */
  readonly favorite?: boolean | undefined;
  /** If true, only deleted agents are listed. */
  readonly deleted?: boolean | undefined;
  /** If given, only the agents with these ids are listed. This cannot be combined with `favorite`. */
  readonly ids?: readonly string[] | undefined;
  /** If given, only the agents that have this skill or tool are listed. */
  readonly item_id?: string | undefined;
};

/** The favorites of the user who reads a list: agent ids mapped to tenant ids. */
export type Favorites = Readonly<Record<string, string>>;

/**
 * The columns by which `agentPage` can sort. There are indexes for names and times; for any other column, Postgres
 * sorts all agents of the tenant.
 */
export const AGENT_SORTS = sortFields(table, AgentListRead);

type AgentListArgs = Omit<AgentFilter, 'q' | 'favorite' | 'ids' | 'deleted'> & {
  readonly tenant_id: string;
  readonly pattern: string | undefined;
  /** The agents that this user may see. If absent, all agents of the tenant. */
  readonly user_id?: string;
  readonly roles?: readonly string[];
  readonly since?: string;
  /** With `only`, the agents with these ids are listed; with `except`, all other agents. */
  readonly only?: readonly string[] | undefined;
  readonly except?: readonly string[] | undefined;
};

const selectAgents = (db: Kysely<Database>, args: AgentListArgs) => {
  const { tenant_id, user_id, roles, since, is_active, kind, pattern, only, except, item_id } = args;
  return db
    .selectFrom('agents.agents as agent')
    .where('agent.tenant_id', '=', tenant_id)
    .$if(user_id !== undefined, (query) =>
      query.where('agent.is_admin_only', '=', false).where(({ exists, selectFrom }) =>
        exists(
          selectFrom('agents.agent_access as access')
            .whereRef('access.tenant_id', '=', 'agent.tenant_id')
            .whereRef('access.agent_id', '=', 'agent.id')
            .where('access.user_id', '=', user_id!)
            .where(({ eb, fn, val }) => eb('access.role', '=', fn.any(val(roles!))))
            .where('access.given', '>', since!),
        ),
      ),
    )
    .$if(is_active !== undefined, (query) => query.where('agent.is_active', '=', is_active!))
    .$if(kind !== undefined, (query) => query.where('agent.kind', '=', kind!))
    .$if(item_id !== undefined, (query) =>
      query.where(({ exists, selectFrom }) =>
        exists(
          selectFrom('agents.granted_items as granted')
            .whereRef('granted.tenant_id', '=', 'agent.tenant_id')
            .whereRef('granted.agent_id', '=', 'agent.id')
            .where('granted.item_id', '=', item_id!),
        ),
      ),
    )
    .$if(pattern !== undefined, (query) => query.where('agent.search', 'ilike', pattern!))
    .$if(only !== undefined, (query) => query.where(({ eb, fn, val }) => eb('agent.id', '=', fn.any(val(only!)))))
    .$if(except !== undefined, (query) => query.where(({ eb, fn, val, not }) => not(eb('agent.id', '=', fn.any(val(except!))))));
};

const agentList = defineList({ table, doc: 'list_doc' }, selectAgents);

/** The columns of a list that is sorted by a number which no column has, such as the deliveries of a day. */
const rankedTable = { ...table, columns: { ...table.columns, rank: 'double precision' } } as const;

type RankedArgs = AgentListArgs & { readonly ranked: readonly string[]; readonly ranks: readonly string[] };

/** The agents with their ranks: that of `ranked[n]` is `ranks[n]`, and all others have the rank 0. */
const rankedAgentList = defineList({ table: rankedTable, doc: 'list_doc' }, (db, { ranked, ranks, ...args }: RankedArgs) =>
  db.selectFrom(
    selectAgents(db, args)
      .leftJoin(
        sql<{ agent_id: string; rank: number }>`unnest(${ranked}::text[], ${ranks}::float8[])`.as<'given'>(sql`given (agent_id, rank)`),
        (join) => join.onRef('given.agent_id', '=', 'agent.id'),
      )
      .select(['agent.id', 'agent.deleted', 'agent.list_doc', ({ fn, lit }) => fn.coalesce('given.rank', lit(0)).as('rank')])
      .as('agent'),
  ),
);

const deletedAgentList = defineList({ table, doc: 'list_doc', includesDeleted: true }, (db, args: AgentListArgs) =>
  selectAgents(db, args).where('agent.deleted', '=', true),
);

/**
 * The start and the end of a document in the list: a document starts with the id of the agent, and ends with
 * `is_favorite`, which is stored as false.
 */
const [START, END] = ['{"id":"', 'false}'];

/** Sets `is_favorite` to true in the documents of favorites on a page, without parsing the page. */
const withFavorites = (page: Page, favorites: Favorites): Page => {
  const { body } = page;
  let marked = '';
  let copied = 0;
  for (let start = 1; start < body.length - 1; ) {
    const separator = body.indexOf(DOC_SEPARATOR, start);
    const end = separator < 0 ? body.length - 1 : separator;
    const id = body.slice(start + START.length, body.indexOf('"', start + START.length));
    if (favorites[id] !== undefined) {
      marked += `${body.slice(copied, end - END.length)}true}`;
      copied = end;
    }
    start = end + DOC_SEPARATOR.length;
  }
  return copied === 0 ? page : { ...page, body: marked + body.slice(copied) };
};

const NO_FAVORITES: Favorites = {};

type VisibleAgents = { readonly visibility: AgentVisibility; readonly favorites?: Favorites };

/** Numbers by which agents are sorted, by their ids. An agent without one has 0. */
export type AgentRanks = ReadonlyMap<string, number>;

/** Returns the arguments of a list for these filters. */
const listArgs = (
  tenant_id: string,
  { visibility, favorites = NO_FAVORITES, q, favorite, ids, ...filter }: AgentFilter & VisibleAgents,
) => {
  const visible = omit(visibility, 'all');
  const marked = favorite === undefined ? [] : Object.keys(favorites).filter((id) => favorites[id] === tenant_id);
  const among = favorite === undefined ? (ids ? { only: ids } : {}) : favorite ? { only: marked } : { except: marked };
  const { is_active, kind, item_id } = filter;
  return { tenant_id, ...visible, is_active, kind, item_id, ...among, pattern: q === undefined ? q : containsPattern(q) };
};

/**
 * Returns a page of agents, as AgentListRead. `favorites` are the favorites of the caller; if absent, no agent is a favorite. With `ranks`,
 * the agents are sorted by these instead of a column; deleted agents have none.
 */
export const agentPage = (
  reads: Reads,
  tenant_id: string,
  filter: AgentFilter & VisibleAgents & { readonly ranks?: AgentRanks | undefined },
  window: PageWindow,
): Promise<Page> => {
  const { favorites = NO_FAVORITES, deleted, ranks } = filter;
  const args = listArgs(tenant_id, filter);
  const sort = { ...window.sort, column: 'rank', name: window.sort.column };
  const page = ranks
    ? reads.page(rankedAgentList, { ...args, ranked: [...ranks.keys()], ranks: [...ranks.values()].map(String) }, { ...window, sort })
    : reads.page(deleted ? deletedAgentList : agentList, args, window);
  return Object.keys(favorites).length === 0 ? page : page.then((found) => withFavorites(found, favorites));
};

const counted = defineQuery((db, args: AgentListArgs) =>
  selectAgents(db, args).select(({ fn, cast, eb, and }) => {
    const isLive = eb('agent.deleted', 'is not', true);
    const countOf = (condition: typeof isLive) => cast<number>(fn.countAll().filterWhere(condition), 'integer');
    return [
      countOf(isLive).as('all'),
      countOf(and([isLive, eb('agent.is_active', '=', true)])).as('active'),
      countOf(and([isLive, eb('agent.is_active', '=', false)])).as('paused'),
      countOf(eb('agent.deleted', '=', true)).as('deleted'),
    ];
  }),
);

/** Counts the agents that a user may see. */
export const agentCounts = async (reads: Reads, tenant_id: string, filter: Pick<AgentFilter, 'ids'> & VisibleAgents) =>
  (await reads.rows(counted, listArgs(tenant_id, filter)))[0]!;

const countedGrants = defineQuery((db, { item_ids, ...args }: AgentListArgs & { readonly item_ids: readonly string[] }) =>
  selectAgents(db, args)
    .innerJoin('agents.granted_items as granted', (join) =>
      join.onRef('granted.tenant_id', '=', 'agent.tenant_id').onRef('granted.agent_id', '=', 'agent.id'),
    )
    .where('agent.deleted', 'is not', true)
    .where(({ eb, fn, val }) => eb('granted.item_id', '=', fn.any(val(item_ids))))
    .select(['granted.item_id', ({ fn, cast }) => cast<number>(fn.countAll(), 'integer').as('count')])
    .groupBy('granted.item_id'),
);

/** Returns how many agents that a user may see have these skills and tools, by their ids. Those that no agent has are absent. */
export const grantCounts = async (
  reads: Reads,
  tenant_id: string,
  { item_ids, visibility }: Pick<VisibleAgents, 'visibility'> & { readonly item_ids: readonly string[] },
): Promise<ReadonlyMap<string, number>> => {
  const rows = await reads.rows(countedGrants, { ...listArgs(tenant_id, { visibility }), item_ids });
  return new Map(rows.map(({ item_id, count }) => [item_id!, count]));
};

export const agentCount = (reads: Reads, tenant_id: string): Promise<number> =>
  tenantCount(reads, agents.name, agentCounter.table, tenant_id);

const chains = defineQuery((db, { tenant_id, ids }: { tenant_id: string; ids: readonly string[] }) =>
  db
    .selectFrom('agents.agents as agent')
    .select(['agent.id', 'agent.models'])
    .where('agent.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('agent.id', '=', fn.any(val(ids)))),
);

/** Returns the primary models of these agents: agent ids mapped to model ids. Agents without a model have no entry. */
export const primaryModelsOf = async (reads: Reads, tenant_id: string, ids: readonly string[]): Promise<Map<string, string>> => {
  const rows = ids.length === 0 ? [] : await reads.rows(chains, { tenant_id, ids });
  return new Map(rows.flatMap(({ id, models }) => (models as { model_id: string }[]).slice(0, 1).map(({ model_id }) => [id, model_id])));
};

/**
 * The agents that existed at the log position `at`. The columns `born` and `died` are the positions from which and
 * until which an agent existed.
 */
const agentListAsOf = defineList({ table, includesDeleted: true }, (db, { tenant_id, at }: { tenant_id: string; at: string }) =>
  db
    .selectFrom('agents.agents as agent')
    .where('agent.tenant_id', '=', tenant_id)
    .where('agent.born', '<=', at)
    .where('agent.died', '>', at),
);

/** Returns a page of the ids of the agents that existed at a log position. */
export const agentIdsAsOf = async (
  reads: Reads,
  tenant_id: string,
  at: Position,
  window: PageWindow,
): Promise<{ ids: string[]; next: string | null }> => {
  const { body, next } = await reads.page(agentListAsOf, { tenant_id, at: sortKey(at) }, window);
  return { ids: (JSON.parse(body) as { id: string }[]).map(({ id }) => id), next };
};

const allNames = defineQuery((db, { tenant_id }: { tenant_id: string }) =>
  db.selectFrom('agents.agents as agent').select(['agent.id', 'agent.name', 'agent.deleted']).where('agent.tenant_id', '=', tenant_id),
);

/** Returns the names of all agents of a tenant, including deleted agents. */
export const agentNames = async (reads: Reads, tenant_id: string): Promise<{ id: string; name: string; deleted: boolean }[]> =>
  (await reads.rows(allNames, { tenant_id })) as { id: string; name: string; deleted: boolean }[];

const BATCH_SIZE = 200;

const agentsAfter = defineQuery((db, { tenant_id, id }: { tenant_id: string; id: string }) =>
  db
    .selectFrom('agents.agents as agent')
    .select(['agent.tenant_id', 'agent.id'])
    .where(({ eb, refTuple, tuple, val }) => eb(refTuple('agent.tenant_id', 'agent.id'), '>', tuple(val(tenant_id), val(id))))
    .where('agent.deleted', 'is not', true)
    .orderBy('agent.tenant_id')
    .orderBy('agent.id')
    .limit(({ lit }) => lit(BATCH_SIZE)),
);

/** Yields the agents that are not deleted, of all tenants, in batches. */
export async function* allAgents(reads: Reads): AsyncGenerator<readonly { tenant_id: string; agent_id: string }[], void> {
  for (let last = { tenant_id: '', id: '' }; ; ) {
    const batch = await reads.rows(agentsAfter, last);
    if (batch.length > 0) yield batch.map(({ tenant_id, id }) => ({ tenant_id, agent_id: id }));
    if (batch.length < BATCH_SIZE) return;
    last = batch.at(-1)!;
  }
}

const adminOnly = defineQuery((db, { tenant_id }: { tenant_id: string }) =>
  db
    .selectFrom('agents.agents as agent')
    .select('agent.id')
    .where('agent.tenant_id', '=', tenant_id)
    .where('agent.is_admin_only', '=', true),
);

/** Returns the ids of the agents of a tenant that only its administrators may see. */
export const adminOnlyAgents = async (reads: Reads, tenant_id: string): Promise<string[]> =>
  (await reads.rows(adminOnly, { tenant_id })).map(({ id }) => id);
