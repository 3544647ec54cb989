import { z } from 'zod';
import * as Permission from '../../domain/access/permission.ts';
import * as Agent from '../../domain/agents/agent.ts';
import * as AgentRoles from '../../domain/agents/agent-roles.ts';
import { AGENT_ROLES, GRANT_ROLES, LABELS } from '../../domain/agents/role-permissions.ts';
import { idOf } from '../../domain/id.ts';
import * as User from '../../domain/identity/user.ts';
import { omit } from '../../domain/omit.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Input } from '../context.ts';

export const AgentRoleAssignmentCreate = z
  .strictObject({ role: z.enum(AGENT_ROLES).meta({ description: 'The role on the agent' }) })
  .meta({ id: 'AgentRoleAssignmentCreate' });
export const AgentUserGrant = z
  .strictObject({
    user_id: idOf('user').meta({ description: 'The member who gets access' }),
    role: z
      .enum(GRANT_ROLES)
      .default('VIEWER')
      .meta({ description: 'VIEWER gives the permissions of the role VIEWER, EDITOR those of MANAGER', examples: ['EDITOR'] }),
  })
  .meta({ id: 'AgentUserGrant' });
export const AgentGrantRequest = z
  .strictObject({
    user_id: idOf('user').meta({ description: 'The member who gets access' }),
    agent_id: idOf('agent'),
    role: z
      .enum(GRANT_ROLES)
      .nullable()
      .default('VIEWER')
      .meta({
        description: 'VIEWER gives the permissions of the role VIEWER, EDITOR those of MANAGER; null revokes the grant',
        examples: ['EDITOR'],
      }),
  })
  .meta({ id: 'AgentGrantRequest' });
export const AgentOwnershipTransfer = z
  .strictObject({ new_owner_id: idOf('user').meta({ description: 'The member who becomes the only owner' }) })
  .meta({ id: 'AgentOwnershipTransfer' });

const Labels = z.array(z.enum(LABELS)).max(LABELS.length);
export const AgentRolePermissionGrid = z
  .strictObject({
    roles: z
      .strictObject({
        VIEWER: Labels.optional().meta({ description: 'The permissions of VIEWERs' }),
        MANAGER: Labels.optional().meta({ description: 'The permissions of MANAGERs' }),
        OWNER: Labels.optional().meta({ description: 'The permissions of OWNERs' }),
      })
      .meta({ description: 'The labels of the permissions of each role. Roles that are left out keep theirs; OWNER has all' }),
  })
  .meta({ id: 'AgentRolePermissionGrid', examples: [{ roles: { VIEWER: ['View', 'Chat (read-only)'] } }] });

type AgentPath = { readonly tenant_id: string; readonly agent_id: string };
type AgentUserPath = AgentPath & { readonly user_id: string };

/** Members by user id. */
export const loadMembers = async (ctx: Ctx): Promise<Tenant.Tenant['members']> => (await ctx.load(Tenant, ctx.tenant)).state.members;

export const roleView = async (ctx: Ctx, agent: Agent.Agent, user_id: string, role = agent.roles[user_id]!) => {
  const user = (await ctx.load(User, user_id)).state;
  const assignment = omit(role, 'by', 'since');
  return { agent_id: agent.id, user_id, tenant_id: agent.tenant_id, ...assignment, user_email: user.email || null, user_name: user.name };
};

export const grantView = (agent: Agent.Agent, user_id: string) => {
  const { role, created_at } = agent.grants[user_id]!;
  return { agent_id: agent.id, user_id, role, created_at };
};

export const assignRole = async (
  ctx: Ctx,
  { agent_id, user_id, role }: Input<typeof AgentRoleAssignmentCreate, 'tenant_id' | 'agent_id' | 'user_id'>,
) => {
  const loaded = await ctx.transact(Agent, agent_id, AgentRoles.assignRole(user_id, role, await loadMembers(ctx)));
  return { ...loaded, state: await roleView(ctx, loaded.state, user_id) };
};

export const revokeRole = async (ctx: Ctx, { agent_id, user_id }: AgentUserPath) =>
  ctx.transact(Agent, agent_id, AgentRoles.revokeRole(user_id, await loadMembers(ctx)));

export const grantAccess = async (ctx: Ctx, { agent_id, user_id, role }: Input<typeof AgentUserGrant, 'tenant_id' | 'agent_id'>) => {
  const members = await loadMembers(ctx);
  let existed = false;
  const loaded = await ctx.transact(Agent, agent_id, (agent) => {
    existed = AgentRoles.effectiveRole(agent.grants, members, user_id) !== undefined;
    return AgentRoles.grant(user_id, role, members)(agent);
  });
  return { ...loaded, state: grantView(loaded.state, user_id), existed };
};

export const revokeAccess = async (ctx: Ctx, { agent_id, user_id }: AgentUserPath) =>
  ctx.transact(Agent, agent_id, AgentRoles.revokeGrant(user_id, await loadMembers(ctx)));

/** Null revokes the grant. @returns the grant as `state`; null if it was revoked */
export const requestGrant = async (ctx: Ctx, { agent_id, user_id, role }: Input<typeof AgentGrantRequest, 'tenant_id'>) => {
  if (role !== null) return grantAccess(ctx, { tenant_id: ctx.tenant, agent_id, user_id, role });
  return { ...(await revokeAccess(ctx, { tenant_id: ctx.tenant, agent_id, user_id })), state: null };
};

export const transferOwnership = async (
  ctx: Ctx,
  { agent_id, new_owner_id }: Input<typeof AgentOwnershipTransfer, 'tenant_id' | 'agent_id'>,
) => ctx.transact(Agent, agent_id, AgentRoles.transferOwnership(new_owner_id, await loadMembers(ctx)));

/** Roles that are not given keep their permissions. @throws Refusal invalid if OWNER would lose a permission */
export const changeRolePermissions = (ctx: Ctx, { roles }: Input<typeof AgentRolePermissionGrid, 'tenant_id'>) =>
  ctx.transact(Tenant, ctx.tenant, Permission.changeRolePermissions(roles));
