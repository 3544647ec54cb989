import { z } from 'zod';
import { Id25 } from '../domain/id.ts';
import * as Plan from '../domain/plan.ts';
import { invalid } from '../domain/refusal.ts';
import * as Tenant from '../domain/tenant.ts';
import { Slug, text } from '../domain/text.ts';
import * as User from '../domain/user.ts';
import { issueKey } from './apikey.ts';
import type { Ctx, Input } from './context.ts';
import { createNatural } from './natural.ts';

export const TenantCreate = z
  .strictObject({
    name: text(1, 255),
    slug: Slug,
    plan_id: Id25.optional(),
    billing_email: z.email().max(253).nullable().default(null),
    owner_email: z.email().min(3).max(253),
  })
  .meta({ id: 'TenantCreate' });

/** The user of an e-mail address, registered where nobody has it yet. */
export const registerUser = (ctx: Ctx, email: string, name: string | null = null) => {
  const address = email.toLowerCase();
  return ctx.transact(User, ctx.naturalId('user', address, 0, 'platform'), User.register(address, name), { fresh: true });
};

/** The plan that a tenant is on where none is named. */
export const firstPlanId = (ctx: Ctx): string => ctx.naturalId('plan', 'free', 0, 'platform');

/** Creates tenant, owner and the owner's key, shown once as `owner_key`. @throws Refusal slug_taken, invalid */
export const createTenant = async (ctx: Ctx, { owner_email, plan_id = firstPlanId(ctx), ...fields }: Input<typeof TenantCreate>) => {
  const plan = await ctx.load(Plan, plan_id);
  if (plan.state.status === 'absent') throw invalid('/plan_id', 'there is no such plan', 'unknown_plan');
  const owner = await registerUser(ctx, owner_email);
  const tenant = await createNatural(
    ctx,
    Tenant,
    'tenant',
    fields.slug,
    (state, generation) => ({ events: Tenant.create({ ...fields, plan_id, generation }, owner.id)(state) }),
    (id) => id,
  );
  const issued = await issueKey(
    ctx,
    { kind: 'tenant', tenant_id: tenant.id, agent_id: null, owner_id: owner.id },
    { name: 'Owner', expires_at: null },
  );
  const state = { ...tenant.state, member_count: 1, agent_count: 0, owner_key: issued.state.key };
  return { ...tenant, state, position: issued.position };
};
