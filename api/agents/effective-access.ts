import { z } from 'zod';
import { type AccessState, assertComplete, effectiveAccess, previewAccess } from '../../domain/access/effective-access.ts';
import { tenantRoleOf } from '../../domain/access/permission.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { AGENT_ROLES, GRANT_ROLES, LABELS } from '../../domain/agents/role-permissions.ts';
import { integer } from '../../domain/fields.ts';
import { Id25, idOf } from '../../domain/id.ts';
import { notFound } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { TENANT_ROLES } from '../../domain/tenants/tenant-role.ts';
import { agentNames } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { AsOf, Decimal } from '../http/paging.ts';

const ACCESS = '/tenant/:tenant_id/effective-permissions';
const Labels = (description: string) => z.array(z.enum(LABELS)).meta({ description, examples: [['View', 'Chat (read-only)']] });
const MAX_CHANGES = 100;

export const EffectiveAccess = z
  .object({
    user_id: idOf('user'),
    agent_id: idOf('agent'),
    tenant_role: z.enum(TENANT_ROLES).meta({ description: 'The role of the member in the tenant' }),
    role: z.enum(AGENT_ROLES).nullable().meta({ description: 'The role of the member on the agent; null if they have none' }),
    grant: z.enum(GRANT_ROLES).nullable().meta({ description: 'The grant of the member on the agent; null if they have none' }),
    labels: Labels('The labels of the permissions that follow from them'),
  })
  .meta({ id: 'EffectiveAccess' });

const Grid = z.strictObject({
  VIEWER: Labels('The permissions of VIEWERs').optional(),
  MANAGER: Labels('The permissions of MANAGERs').optional(),
  OWNER: Labels('The permissions of OWNERs: all of them').optional(),
});

const AccessChange = z
  .strictObject({
    user_id: idOf('user').optional().meta({ description: 'The user whose role or grant changes' }),
    agent_id: idOf('agent').optional().meta({ description: 'The agent on which the role or grant changes' }),
    tenant_role: z.enum(TENANT_ROLES).nullable().optional().meta({ description: 'The new role in the tenant; null removes the member' }),
    role: z.enum(AGENT_ROLES).nullable().optional().meta({ description: 'The new role on the agent; null revokes it' }),
    grant: z.enum(GRANT_ROLES).nullable().optional().meta({ description: 'The new grant on the agent; null revokes it' }),
    grid: Grid.optional().meta({ description: 'The new permissions of the agent roles that it names', examples: [{ VIEWER: ['View'] }] }),
  })
  .meta({ id: 'AccessChange', examples: [{ user_id: 'c1u33xtplpft75v2seh60kvj5', tenant_role: 'MEMBER' }] });

export const AccessDifference = z
  .object({
    user_id: idOf('user'),
    agent_id: idOf('agent'),
    gained: Labels('The labels of the permissions that the user would gain'),
    lost: Labels('The labels of the permissions that the user would lose'),
  })
  .meta({ id: 'AccessDifference' });

const CURSOR = /^(c[a-z0-9]{24})\.(c[a-z0-9]{24})$/;

const AccessQuery = z.strictObject({
  user_id: idOf('user', 'Only the access of this user').optional(),
  agent_id: idOf('agent', 'Only the access to this agent').optional(),
  limit: Decimal(integer(1, 200).default(50)).meta({ description: 'How many items the page may have' }),
  cursor: z
    .string()
    .regex(CURSOR, 'must be the cursor of a previous page')
    .optional()
    .meta({ description: 'Where the page starts; take it from the `Link` header of the previous page' }),
  as_of: AsOf,
});

/**
 * Returns the sorted ids of all agents of the tenant. Deleted agents are included, because they may have existed at an
 * earlier time.
 */
const agentIdsOf = async (ctx: Ctx): Promise<string[]> => (await agentNames(ctx.reads, ctx.tenant)).map(({ id }) => id).sort();

/**
 * Lists the access of members to agents, ordered by agent and then by user. The cursor contains the agent and the user
 * of the last item of the previous page.
 */
const listAccess = async (ctx: Ctx, { user_id, agent_id, limit, cursor }: z.output<typeof AccessQuery>) => {
  const { state: tenant, position } = await ctx.load(Tenant, ctx.tenant);
  const users = Object.keys(tenant.members)
    .filter((id) => user_id === undefined || id === user_id)
    .sort();
  const [, afterAgent = '', afterUser = ''] = CURSOR.exec(cursor ?? '') ?? [];
  const ids = agent_id === undefined ? await agentIdsOf(ctx) : [agent_id];
  const rows: z.output<typeof EffectiveAccess>[] = [];
  for (const id of ids) {
    if (id < afterAgent || rows.length > limit) continue;
    const { state: agent } = await ctx.load(Agent, id);
    if (agent.status !== 'live') continue;
    const wanted = users.filter((user) => id > afterAgent || user > afterUser);
    rows.push(...wanted.map((user) => effectiveAccess(tenant, user, agent) as z.output<typeof EffectiveAccess>));
  }
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const next = rows.length > limit && last ? `${last.agent_id}.${last.user_id}` : null;
  return { body: JSON.stringify(page), next, position };
};

const NamedInBody = z.array(
  z.object({ agent_id: Id25.optional().catch(undefined), grid: z.unknown(), tenant_role: z.unknown() }).partial(),
);

/**
 * Checks that the caller may make the changes in the body. A malformed body passes, because it is refused later.
 * @throws Refusal forbidden, not_found
 */
const requireForChanges = async (ctx: Ctx, readBody: () => Promise<unknown>): Promise<void> => {
  const { data = [] } = NamedInBody.safeParse(await readBody());
  for (const agent_id of new Set(data.map((change) => change.agent_id))) if (agent_id) await ctx.require('agent:roles:write', agent_id);
  if (data.some(({ grid }) => grid !== undefined)) await ctx.require('tenant:settings:write');
  if (data.some(({ tenant_role }) => tenant_role !== undefined)) await ctx.require('tenant:members:write');
};

/**
 * Returns the state for a preview of changes. If a change concerns the whole tenant, the state contains all agents;
 * otherwise, only the agents that the changes name.
 */
const stateFor = async (ctx: Ctx, changes: readonly z.output<typeof AccessChange>[]): Promise<AccessState> => {
  const isOfTenant = changes.some(({ grid, tenant_role }) => grid !== undefined || tenant_role !== undefined);
  const named = changes.flatMap(({ agent_id }) => (agent_id ? [agent_id] : []));
  const ids = isOfTenant ? [...new Set([...(await agentIdsOf(ctx)), ...named])] : [...new Set(named)];
  const { state: tenant } = await ctx.load(Tenant, ctx.tenant);
  const loaded: Agent.Agent[] = [];
  for (const id of ids) loaded.push((await ctx.load(Agent, id)).state);
  const live = loaded.filter(({ status }) => status === 'live');
  if (named.some((id) => !live.some((agent) => agent.id === id))) throw notFound();
  return { tenant, agents: Object.fromEntries(live.map((agent) => [agent.id, agent])) };
};

const previewChanges = async (ctx: Ctx, changes: readonly z.output<typeof AccessChange>[]) => {
  assertComplete(changes);
  const state = await stateFor(ctx, changes);
  const callerRole = tenantRoleOf(state.tenant, ctx.principal);
  if (!callerRole) throw notFound();
  return previewAccess(state, changes, { at: ctx.at(), callerRole });
};

export const effectiveAccessOperations = {
  listEffectiveAccess: operation({
    method: 'get',
    path: ACCESS,
    summary: 'List what members may do with agents',
    details: 'Every pair of a member and an agent, ordered by agent and then by user.',
    permit: 'tenant:audit:read',
    projection: agents.name,
    query: AccessQuery,
    reply: z.array(EffectiveAccess),
    noETag: true,
    run: listAccess,
  }),
  previewAccess: operation({
    method: 'post',
    path: `${ACCESS}/preview`,
    summary: 'Preview who gains and loses what',
    details: 'The changes are applied in order and by the rules of the changes themselves, but nothing is recorded.',
    permit: 'tenant:read',
    permissionNote:
      'Requires `tenant:read`, and the permissions of the changes: `agent:roles:write` on each agent named, `tenant:settings:write` for the grid, `tenant:members:write` for roles in the tenant.',
    preauthorize: (ctx, _, readBody) => requireForChanges(ctx, readBody),
    body: z.array(AccessChange).max(MAX_CHANGES).meta({ id: 'AccessChanges', description: 'The changes, at most 100' }),
    reply: z.array(AccessDifference),
    readsOnly: true,
    projection: agents.name,
    noETag: true,
    run: async (ctx, { tenant_id, items }) => ({
      id: tenant_id,
      revision: -1,
      position: null,
      state: await ctx.sideEffect(() => previewChanges(ctx, items)),
    }),
  }),
};
