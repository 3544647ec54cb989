import { z } from 'zod';
import { TENANT_PERMISSIONS, tenantRoleAllows, tenantRoleOf } from '../../domain/access/permission.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as User from '../../domain/identity/user.ts';
import type { Principal } from '../../domain/principal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { TENANT_ROLES } from '../../domain/tenants/tenant-role.ts';
import { membershipsOf } from '../../projections/identity/user.queries.ts';
import { userIdentity, users } from '../../projections/identity/user.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';

const MeRead = z
  .object({
    user: z
      .object({
        ...userIdentity,
        is_super_admin: z.boolean().meta({ description: 'Whether the credential may operate the platform' }),
      })
      .nullable()
      .meta({ description: 'The user; null for a runner key' }),
    tenants: z
      .array(
        z.object({
          id: idOf('tenant'),
          name: z.string().meta({ examples: ['Acme'] }),
          slug: z.string().meta({ description: 'The unique name of the tenant, for programs', examples: ['acme'] }),
          role: z.enum(TENANT_ROLES).nullable().meta({ description: 'The role in the tenant; null for a runner key' }),
          is_suspended: z.boolean().meta({ description: 'Whether requests to the tenant are refused' }),
          permissions: z.array(z.string()).meta({ description: 'The permissions on the tenant', examples: [['tenant:read']] }),
        }),
      )
      .meta({ description: 'The tenants in which the credential is valid' }),
    agent: z
      .object({
        id: idOf('agent'),
        name: z.string(),
        slug: z.string().meta({ description: 'The unique name of the agent in its tenant, for programs' }),
      })
      .nullable()
      .meta({ description: 'The agent of a runner key; null for other credentials', examples: [null] }),
    actor: z
      .object({
        kind: z.enum(['user', 'agent', 'system']).meta({ description: 'What kind of actor this is' }),
        id: z.string().meta({ description: 'The id of the user or agent', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
        key_id: z.string().nullish().meta({ description: 'The API key; null without one' }),
      })
      .meta({ description: 'Who the caller is in the events and the audit log' }),
    permissions: z.array(z.string()).meta({
      description: 'The permissions on the platform or, if the credential is bound to a tenant, those in this tenant',
      examples: [['tenant:read']],
    }),
    break_glass: z
      .object({
        tenant_id: idOf('tenant'),
        name: z.string().meta({ description: 'The name of the tenant', examples: ['Acme'] }),
        until: Timestamp.meta({ description: 'When the access ends, or ended' }),
      })
      .nullable()
      .meta({
        description: 'The last break-glass access of the caller to the tenant in `tenant_id`, even if it has ended; null without one',
        examples: [null],
      }),
    read_only: z.boolean().meta({ description: 'Whether the API key of the caller allows only reads' }),
  })
  .meta({ id: 'MeRead' });

const MeQuery = z.strictObject({
  tenant_id: idOf('tenant', 'The tenant whose `break_glass` is shown').optional(),
});

type MyTenant = z.output<typeof MeRead>['tenants'][number];

/**
 * Returns one tenant of the caller, with the caller's role in it. Null if the tenant is closed or the caller is no
 * longer a member.
 */
const tenantOf = async (ctx: Ctx, id: string): Promise<MyTenant | null> => {
  const { state } = await ctx.load(Tenant, id);
  const user_id = ctx.principal.kind === 'user' ? ctx.principal.user_id : null;
  const role = tenantRoleOf(state, ctx.principal);
  if (Tenant.isClosed(state) || (user_id !== null && role === null)) return null;
  const permissions = TENANT_PERMISSIONS.filter((permission) => role !== null && tenantRoleAllows(role, permission));
  return { id, name: state.name, slug: state.slug, role, is_suspended: state.is_suspended, permissions };
};

/**
 * Returns the ids of the tenants in which the credential is valid: the tenant to which it is bound or, if it is not
 * bound, all tenants of the user.
 */
const tenantIds = async (ctx: Ctx, principal: Principal): Promise<string[]> => {
  if (principal.kind === 'runner') return [principal.tenant_id];
  if (principal.kind === 'system') return [];
  if (principal.bound_to !== null) return [principal.bound_to];
  return (await membershipsOf(ctx.reads, principal.user_id)).map(({ tenant_id }) => tenant_id);
};

/**
 * Returns the caller's permissions: those in the tenant to which the credential is bound or, if it is not bound, those
 * on the whole platform.
 */
const permissionsOf = (principal: Principal, tenants: readonly MyTenant[]): string[] => {
  if (principal.kind !== 'user') return [];
  if (principal.bound_to !== null) return tenants.flatMap(({ permissions }) => permissions);
  return principal.super_admin ? ['platform'] : [];
};

/**
 * Returns the time until which the caller may read the tenant as a super-admin; null if the caller has never had this
 * access.
 */
const breakGlassOf = async ({ principal, load }: Ctx, tenant_id: string | undefined) => {
  const isSuperAdmin = principal.kind === 'user' && principal.super_admin && principal.bound_to === null;
  if (!isSuperAdmin || tenant_id === undefined) return null;
  const { state } = await load(Tenant, tenant_id);
  const until = Tenant.isClosed(state) ? undefined : state.super_admin_access[principal.user_id];
  return until === undefined ? null : { tenant_id, name: state.name, until };
};

/** Returns the description of the caller: a user with their tenants, or the agent of a runner key. */
const readMe = async (ctx: Ctx, { tenant_id }: z.output<typeof MeQuery>) => {
  const { principal, actor } = ctx;
  const user =
    principal.kind === 'user'
      ? { ...(await ctx.load(User, principal.user_id)).state, is_super_admin: principal.super_admin && principal.bound_to === null }
      : null;
  const agent = principal.kind === 'runner' ? (await ctx.load(Agent, principal.agent_id, { tenant: principal.tenant_id })).state : null;
  const ids = await tenantIds(ctx, principal);
  const tenants = (await Promise.all(ids.map((id) => tenantOf(ctx, id)))).filter((tenant) => tenant !== null);
  const permissions = permissionsOf(principal, tenants);
  const read_only = principal.kind !== 'system' && principal.read_only === true;
  const break_glass = await breakGlassOf(ctx, tenant_id);
  return { id: actor.id, revision: -1, position: null, state: { user, tenants, agent, actor, permissions, break_glass, read_only } };
};

export const meOperations = {
  readMe: operation({
    method: 'get',
    path: '/me',
    summary: 'Read who the caller is',
    permit: 'any',
    query: MeQuery,
    reply: MeRead,
    projection: users.name,
    noETag: true,
    run: readMe,
  }),
};
