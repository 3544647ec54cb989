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

/**
 * Creates a decision that also gets the caller's role in the tenant, because only an OWNER may change OWNERs. The role
 * is that in the state for which the decision is made.
 */
export const asCaller =
  (
    ctx: Ctx,
    decide: (callerRole: TenantRole) => Decision<Tenant.Tenant, Tenant.TenantEvent>,
  ): Decision<Tenant.Tenant, Tenant.TenantEvent> =>
  (tenant) =>
    decide(callerRoleIn(ctx, tenant))(tenant);

/** Returns a member with their name and e-mail address. */
export const memberView = async (ctx: Ctx, tenant: Tenant.Tenant, user_id: string): Promise<MemberView> => {
  const { email, name } = (await ctx.load(User, user_id)).state;
  const { role, created_at } = tenant.members[user_id]!;
  return { user_id, email, name, role, created_at };
};

const withMemberView = async (ctx: Ctx, loaded: Loaded<Tenant.Tenant>, user_id: string): Promise<Loaded<MemberView>> => ({
  ...loaded,
  state: await memberView(ctx, loaded.state, user_id),
});

/**
 * Adds the user with this e-mail address to the tenant. If there is no such user, registers one.
 * @throws Refusal conflict, plan_limit, rate_limited, forbidden
 */
export const inviteMember = async (ctx: Ctx, { email, role }: Input<typeof MemberInvite, 'tenant_id'>) => {
  const limits = await limitsOf(ctx);
  const { state } = await ctx.load(Tenant, ctx.tenant);
  // Check this before the user is registered, so that a refused invitation does not register a user.
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
 * Removes a member. `findOwnedAgentIds` returns the ids of the agents that the member owns.
 * @throws Refusal not_found, forbidden, conflict if the tenant or an agent would lose its last OWNER (with the ids of
 * the agents)
 */
export const removeMember = async (ctx: Ctx, user_id: string, findOwnedAgentIds: () => Promise<readonly string[]>) => {
  const agents = await Promise.all((await findOwnedAgentIds()).map(async (id) => (await ctx.load(Agent, id)).state));
  return ctx.transact(
    Tenant,
    ctx.tenant,
    asCaller(ctx, (callerRole) => Member.remove(user_id, callerRole, agents)),
  );
};
