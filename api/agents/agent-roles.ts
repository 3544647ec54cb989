import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import {
  AgentGrantRequest,
  AgentOwnershipTransfer,
  AgentRoleAssignmentCreate,
  AgentRolePermissionGrid,
  AgentUserGrant,
  assignRole,
  changeRolePermissions,
  grantAccess,
  grantView,
  loadMembers,
  requestGrant,
  revokeAccess,
  revokeRole,
  roleView,
  transferOwnership,
} from '../../commands/agents/agent-roles.ts';
import { loadTenant } from '../../commands/tenants/tenant.ts';
import type * as Agent from '../../domain/agents/agent.ts';
import { effectiveRoles, rolesOf } from '../../domain/agents/agent-roles.ts';
import { AGENT_ROLES, permissionsOfRoles } from '../../domain/agents/role-permissions.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type * as Tenant from '../../domain/tenants/tenant.ts';
import { AgentRead } from '../../projections/agents/agent.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { AsOf, asOfQuery, listQuery, type PageWindow, paginate } from '../http/paging.ts';
import { requireOnAgentInBody } from './agent-in-body.ts';
import { PermissionRead } from './effective-permissions.ts';

const AGENT = '/tenant/:tenant_id/agents/:agent_id';

const AgentRoleAssignmentRead = z
  .object({
    agent_id: idOf('agent'),
    user_id: idOf('user'),
    tenant_id: idOf('tenant'),
    role: z.enum(AGENT_ROLES).meta({ description: 'The role on the agent' }),
    created_at: Timestamp,
    updated_at: Timestamp,
    user_email: z
      .string()
      .nullable()
      .meta({ description: 'The e-mail address of the user', examples: ['ada@example.com'] }),
    user_name: z
      .string()
      .nullable()
      .meta({ description: 'The name of the user', examples: ['Ada Lovelace'] }),
  })
  .meta({ id: 'AgentRoleAssignmentRead' });

const AgentUserGrantRead = z
  .object({
    agent_id: idOf('agent'),
    user_id: idOf('user'),
    role: z.string().meta({ description: 'The kind of access: VIEWER or EDITOR', examples: ['EDITOR'] }),
    created_at: Timestamp,
  })
  .meta({ id: 'AgentUserGrantRead' });

const RolePermissionsRead = z
  .object({
    roles: z
      .record(z.string(), z.array(z.string()))
      .meta({ description: 'The labels of the permissions of each role', examples: [{ VIEWER: ['View', 'Chat (read-only)'] }] }),
    permissions: z.record(z.string(), z.array(PermissionRead)).meta({
      description: 'The same permissions with their identifiers, which `/me` and problems use',
      examples: [
        {
          VIEWER: [
            { id: 'agent:read', label: 'View' },
            { id: 'agent:chat:read', label: 'Chat (read-only)' },
          ],
        },
      ],
    }),
  })
  .meta({ id: 'AgentRolePermissions' });

const rolePermissionsView = ({ role_permissions: roles }: Tenant.Tenant) => ({ roles, permissions: permissionsOfRoles(roles) });

const listItemsOf = <Role>(assignments: Agent.RoleAssignments<Role>) =>
  Object.entries(assignments).map(([id, { created_at }]) => ({ id, created_at }));

const listRoles = async (ctx: Ctx, { agent_id, ...window }: PageWindow & { agent_id: string }) => {
  const { state, position } = await loadAgent(ctx, agent_id);
  const roles = rolesOf(state, await loadMembers(ctx));
  const { items, next } = paginate(listItemsOf(roles), window);
  const views = await Promise.all(items.map(({ id }) => roleView(ctx, state, id, roles[id])));
  return { body: JSON.stringify(z.array(AgentRoleAssignmentRead).parse(views)), next, position };
};

const listGrants = async (ctx: Ctx, { agent_id, ...window }: PageWindow & { agent_id: string }) => {
  const { state, position } = await loadAgent(ctx, agent_id);
  const { items, next } = paginate(listItemsOf(effectiveRoles(state.grants, await loadMembers(ctx))), window);
  return { body: JSON.stringify(items.map(({ id }) => AgentUserGrantRead.parse(grantView(state, id)))), next, position };
};

const readRolePermissions = async (ctx: Ctx) => {
  const tenant = await loadTenant(ctx);
  return { ...tenant, state: rolePermissionsView(tenant.state) };
};

export const agentRoleOperations = {
  listAgentRoles: operation({
    method: 'get',
    path: `${AGENT}/roles`,
    summary: 'List the roles on the agent',
    details: 'If all its owners have left the tenant, the OWNERs of the tenant own it.',
    permit: 'agent:read',
    query: listQuery({ as_of: AsOf }),
    reply: z.array(AgentRoleAssignmentRead),
    run: listRoles,
  }),
  assignAgentRole: operation({
    method: 'put',
    path: `${AGENT}/roles/:user_id`,
    summary: 'Assign a member a role on the agent',
    permit: 'agent:roles:write',
    body: AgentRoleAssignmentCreate,
    reply: AgentRoleAssignmentRead,
    run: assignRole,
  }),
  revokeAgentRole: operation({
    method: 'delete',
    path: `${AGENT}/roles/:user_id`,
    summary: "Revoke a member's role on the agent",
    permit: 'agent:roles:write',
    run: revokeRole,
  }),
  listAgentGrants: operation({
    method: 'get',
    path: `${AGENT}/grants`,
    summary: 'List the access grants of the agent',
    permit: 'agent:read',
    query: listQuery({ as_of: AsOf }),
    reply: z.array(AgentUserGrantRead),
    run: listGrants,
  }),
  grantAgentAccess: operation({
    method: 'post',
    path: `${AGENT}/grants`,
    summary: 'Grant a member access to the agent',
    permit: 'agent:roles:write',
    body: AgentUserGrant,
    reply: AgentUserGrantRead,
    status: 201,
    alternateStatus: 200,
    location: `${AGENT}/grants/:user_id`,
    run: grantAccess,
  }),
  revokeAgentAccess: operation({
    method: 'delete',
    path: `${AGENT}/grants/:user_id`,
    summary: 'Revoke a grant',
    permit: 'agent:roles:write',
    run: revokeAccess,
  }),
  requestAgentGrant: operation({
    method: 'put',
    path: '/tenant/:tenant_id/agent-grants',
    summary: 'Grant access to an agent',
    details: 'The role null revokes it.',
    permit: 'tenant:read',
    permissionNote: 'Requires the permission `agent:roles:write` on the agent.',
    preauthorize: requireOnAgentInBody('agent:roles:write'),
    body: AgentGrantRequest,
    reply: AgentUserGrantRead,
    alternateStatus: 204,
    run: requestGrant,
  }),
  transferOwnership: operation({
    method: 'post',
    path: `${AGENT}/transfer-ownership`,
    summary: 'Make a member the only owner of the agent',
    permit: 'agent:ownership:transfer',
    body: AgentOwnershipTransfer,
    reply: AgentRead,
    run: transferOwnership,
  }),
  readRolePermissions: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agent-role-permissions',
    summary: 'Read the permissions of each agent role',
    permit: 'tenant:read',
    query: asOfQuery,
    reply: RolePermissionsRead,
    run: readRolePermissions,
  }),
  changeRolePermissions: operation({
    method: 'put',
    path: '/tenant/:tenant_id/agent-role-permissions',
    summary: 'Change the permissions of agent roles',
    permit: 'tenant:settings:write',
    body: AgentRolePermissionGrid,
    reply: RolePermissionsRead,
    run: async (ctx, input) => {
      const tenant = await changeRolePermissions(ctx, input);
      return { ...tenant, state: rolePermissionsView(tenant.state) };
    },
  }),
};
