import { z } from 'zod';
import { tenantRoleOf } from '../../domain/access/permission.ts';
import * as Agent from '../../domain/agents/agent.ts';
import type { Decision } from '../../domain/aggregate.ts';
import { checkLimit } from '../../domain/billing/plan.ts';
import { Email } from '../../domain/fields.ts';
import * as User from '../../domain/identity/user.ts';
import * as Member from '../../domain/tenants/member.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { TENANT_ROLES, type TenantRole } from '../../domain/tenants/tenant-role.ts';
import { limitsOf } from '../billing/plan.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { registerUser, userIdOf } from '../identity/user.ts';

export const MemberInvite = z
  .strictObject({
    email: Email.meta({ examples: ['ada@example.com'] }),
    role: z
      .enum(TENANT_ROLES)
      .default('MEMBER')
      .meta({ description: 'The role in the tenant', examples: ['MEMBER'] }),
  })
  .meta({ id: 'MemberInvite' });
export const MemberUpdate = z
  .strictObject({ role: z.enum(TENANT_ROLES).meta({ description: 'The role in the tenant', examples: ['ADMIN'] }) })
  .meta({ id: 'MemberUpdate' });

export type MemberView = { user_id: string; email: string; name: string | null; role: TenantRole; created_at: string };

const callerRoleIn = ({ principal }: Ctx, tenant: Tenant.Tenant): TenantRole => tenantRoleOf(tenant, principal) ?? 'MEMBER';

/** The decision gets the caller's role in the state for which it is made: only an OWNER may change OWNERs. */
export const asCaller =
  (
    ctx: Ctx,
    decide: (callerRole: TenantRole) => Decision<Tenant.Tenant, Tenant.TenantEvent>,
  ): Decision<Tenant.Tenant, Tenant.TenantEvent> =>
  (tenant) =>
    decide(callerRoleIn(ctx, tenant))(tenant);

/** Includes name and e-mail address. */
export const memberView = async (ctx: Ctx, tenant: Tenant.Tenant, user_id: string): Promise<MemberView> => {
  const { email, name } = (await ctx.load(User, user_id)).state;
  const { role, created_at } = tenant.members[user_id]!;
  return { user_id, email, name, role, created_at };
};

const withMemberView = async (ctx: Ctx, loaded: Loaded<Tenant.Tenant>, user_id: string): Promise<Loaded<MemberView>> => ({
  ...loaded,
  state: await memberView(ctx, loaded.state, user_id),
});

/** Registers the user if there is none. @throws Refusal conflict, plan_limit, rate_limited, forbidden */
export const inviteMember = async (ctx: Ctx, { email, role }: Input<typeof MemberInvite, 'tenant_id'>) => {
  const limits = await limitsOf(ctx);
  const { state } = await ctx.load(Tenant, ctx.tenant);
  // Before the user is registered, so that a refused invitation registers no user.
  Member.assertMayChangeOwners(callerRoleIn(ctx, state), role);
  if (!state.members[userIdOf(ctx, email)]) checkLimit(limits, 'members', Object.keys(state.members).length);
  await ctx.limitFlow('invite');
  const user = await registerUser(ctx, email);
  const add = asCaller(ctx, (callerRole) => Member.add(user.id, role, callerRole, limits));
  return withMemberView(ctx, await ctx.transact(Tenant, ctx.tenant, add), user.id);
};

export const changeMemberRole = async (ctx: Ctx, { user_id, role }: Input<typeof MemberUpdate, 'tenant_id' | 'user_id'>) =>
  withMemberView(
    ctx,
    await ctx.transact(
      Tenant,
      ctx.tenant,
      asCaller(ctx, (callerRole) => Member.changeRole(user_id, role, callerRole)),
    ),
    user_id,
  );

/**
 * `findOwnedAgentIds`: agents that the member owns. @throws Refusal not_found, forbidden, conflict (with the ids of agents) if the tenant
 * or an agent would lose its last OWNER
 */
export const removeMember = async (ctx: Ctx, user_id: string, findOwnedAgentIds: () => Promise<readonly string[]>) => {
  const agents = await Promise.all((await findOwnedAgentIds()).map(async (id) => (await ctx.load(Agent, id)).state));
  return ctx.transact(
    Tenant,
    ctx.tenant,
    asCaller(ctx, (callerRole) => Member.remove(user_id, callerRole, agents)),
  );
};
