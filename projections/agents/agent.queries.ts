import type { AgentRole } from '../../domain/agents/role-permissions.ts';
import { type Position, sortKey } from '../../domain/event.ts';
import type { Condition, Doc, Page, PageWindow, Reads, Source } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AgentListRead, agentCounter, agents, agentsWithDeleted, table } from './agent.ts';

const from: Source = { projection: agents.name, table };

/**
 * Which agents a caller may see. Either all agents of the tenant, or those on which `user_id` has one of these roles,
 * by a role or a grant. The role or grant must be newer than `since`, the sort key of the position at which the user
 * became a member.
 */
export type AgentVisibility =
  | { readonly all: true }
  | { readonly all: false; readonly user_id: string; readonly roles: readonly AgentRole[]; readonly since: string };

const visibleTo = (visibility: AgentVisibility): Condition[] =>
  visibility.all
    ? []
    : [
        { column: 'is_admin_only', op: '=', value: false },
        {
          op: 'exists',
          table: 'agent_access',
          on: { agent_id: 'id', tenant_id: 'tenant_id' },
          where: [
            { column: 'user_id', op: '=', value: visibility.user_id },
            { column: 'role', op: 'in', value: visibility.roles },
            { column: 'given', op: '>', value: visibility.since },
          ],
        },
      ];

/** Returns one agent, by default as AgentRead; null if it does not exist or is deleted. */
export const agentById = async (reads: Reads, tenant_id: string, id: string, doc = 'doc'): Promise<Doc | null> =>
  reads.one(from, { tenant_id, id }, doc);

export type AgentFilter = { readonly q?: string | undefined; readonly is_active?: boolean | undefined; readonly kind?: string | undefined };

/**
 * The columns by which `agentPage` can sort. Names and times have an index. To sort by another column, Postgres sorts
 * all agents of the tenant.
 */
export const AGENT_SORTS = sortFields(table, AgentListRead);

/** Returns a page of agents, as AgentListRead. */
export const agentPage = (
  reads: Reads,
  tenant_id: string,
  { visibility, is_active, kind, q }: AgentFilter & { readonly visibility: AgentVisibility },
  window: PageWindow,
): Promise<Page> =>
  reads.page({
    from,
    doc: 'list_doc',
    where: [
      { column: 'tenant_id', op: '=', value: tenant_id },
      ...visibleTo(visibility),
      ...(is_active === undefined ? [] : [{ column: 'is_active', op: '=', value: is_active } as const]),
      ...(kind === undefined ? [] : [{ column: 'kind', op: '=', value: kind } as const]),
      ...(q === undefined ? [] : [{ column: ['name', 'slug'], op: 'contains', value: q } as const]),
    ],
    ...window,
  });

/** Returns the number of agents in the tenant. */
export const agentCount = (reads: Reads, tenant_id: string): Promise<number> => agentCounter.read(reads, agents.name, tenant_id);

/**
 * Returns the ids of the agents that a user owns. The projection may lag behind the log, so the latest changes may be
 * missing.
 */
export const agentsOwnedBy = async (reads: Reads, tenant_id: string, user_id: string): Promise<string[]> => {
  const owned: Condition = {
    op: 'exists',
    table: 'agent_access',
    on: { agent_id: 'id', tenant_id: 'tenant_id' },
    where: [
      { column: 'user_id', op: '=', value: user_id },
      { column: 'role', op: '=', value: 'OWNER' },
    ],
  };
  const where: Condition[] = [{ column: 'tenant_id', op: '=', value: tenant_id }, owned];
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await reads.page({ from, doc: 'list_doc', where, sort: { column: 'created_at', descending: true }, limit: 200, cursor });
    ids.push(...(JSON.parse(page.body) as { id: string }[]).map(({ id }) => id));
    if (page.next === null) return ids;
    cursor = page.next;
  }
};

/** Returns a page of the ids of the agents that existed at a log position. */
export const agentIdsAsOf = async (
  reads: Reads,
  tenant_id: string,
  at: Position,
  window: PageWindow,
): Promise<{ ids: string[]; next: string | null }> => {
  const where: Condition[] = [
    { column: 'tenant_id', op: '=', value: tenant_id },
    { column: 'born', op: '<=', value: sortKey(at) },
    { column: 'died', op: '>', value: sortKey(at) },
  ];
  const { body, next } = await reads.page({ from: { projection: agents.name, table: agentsWithDeleted }, where, ...window });
  return { ids: (JSON.parse(body) as { id: string }[]).map(({ id }) => id), next };
};
