import type { AgentRole } from '../../domain/agents/role-permissions.ts';
import { type Position, sortKey } from '../../domain/event.ts';
import type { Condition, Doc, Page, Reads, Source } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AgentListRead, agentCounter, agents, agentsWithDeleted, table } from './agent.ts';

const from: Source = { projection: agents.name, table };

/** Which agents a caller sees: all of the tenant, or those that a role or grant shows which was given behind `since`, where they became a member. */
export type AgentVisibility =
  | { readonly all: true }
  | { readonly all: false; readonly user_id: string; readonly roles: readonly AgentRole[]; readonly since: string };

const visible = (sight: AgentVisibility): Condition[] =>
  sight.all
    ? []
    : [
        { column: 'is_admin_only', op: '=', value: false },
        {
          op: 'exists',
          table: 'agent_access',
          on: { agent_id: 'id', tenant_id: 'tenant_id' },
          where: [
            { column: 'user_id', op: '=', value: sight.user_id },
            { column: 'role', op: 'in', value: sight.roles },
            { column: 'given', op: '>', value: sight.since },
          ],
        },
      ];

/** One agent as AgentRead; null where it is not there or deleted. */
export const agentById = async (reads: Reads, tenant_id: string, id: string, doc = 'doc'): Promise<Doc | null> =>
  reads.one(from, { tenant_id, id }, doc);

export type AgentFilter = { readonly q?: string | undefined; readonly is_active?: boolean | undefined; readonly kind?: string | undefined };

/** What `agentPage` can be sorted by: an index for names and times, the tenant's agents looked through for the rest. */
export const AGENT_SORTS = sortFields(table, AgentListRead);

/** A page of AgentListRead. */
export const agentPage = (
  reads: Reads,
  tenant_id: string,
  sight: AgentVisibility,
  filter: AgentFilter,
  page: { sort: { column: string; descending: boolean }; limit: number; cursor?: string | undefined },
): Promise<Page> =>
  reads.page({
    from,
    doc: 'list_doc',
    where: [
      { column: 'tenant_id', op: '=', value: tenant_id },
      ...visible(sight),
      ...(filter.is_active === undefined ? [] : [{ column: 'is_active', op: '=', value: filter.is_active } as const]),
      ...(filter.kind === undefined ? [] : [{ column: 'kind', op: '=', value: filter.kind } as const]),
      ...(filter.q === undefined ? [] : [{ column: ['name', 'slug'], op: 'contains', value: filter.q } as const]),
    ],
    ...page,
  });

/** How many agents the tenant has. */
export const agentCount = (reads: Reads, tenant_id: string): Promise<number> => agentCounter.of(reads, agents.name, tenant_id);

/** The ids of the agents on which a user is OWNER, as far as the views know. */
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

/** The ids of a page of the agents that there were at a position. */
export const agentIdsAsOf = async (
  reads: Reads,
  tenant_id: string,
  at: Position,
  page: { limit: number; cursor?: string | undefined; sort: { column: string; descending: boolean } },
): Promise<{ ids: string[]; next: string | null }> => {
  const where: Condition[] = [
    { column: 'tenant_id', op: '=', value: tenant_id },
    { column: 'born', op: '<=', value: sortKey(at) },
    { column: 'died', op: '>', value: sortKey(at) },
  ];
  const { body, next } = await reads.page({ from: { projection: agents.name, table: agentsWithDeleted }, where, ...page });
  return { ids: (JSON.parse(body) as { id: string }[]).map(({ id }) => id), next };
};
