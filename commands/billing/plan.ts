import { z } from 'zod';
import * as Plan from '../../domain/billing/plan.ts';
import { PLATFORM } from '../../domain/event.ts';
import { displayText, Slug } from '../../domain/fields.ts';
import { slugTaken } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Input } from '../context.ts';
import { createUnique } from '../create-unique.ts';

const Count = z.int().min(0);

export const PlanCreate = z
  .strictObject({
    slug: Slug,
    name: displayText(1, 128),
    monthly_usd: z.number().min(0),
    price_id: displayText(1, 128).nullable().default(null),
    limits: z.strictObject({ agents: Count, members: Count, cron_jobs: Count, webhooks_per_minute: Count }),
  })
  .meta({ id: 'PlanCreate' });

/** Returns the id of the default plan, which a tenant gets if it is created without a plan. */
export const defaultPlanId = (ctx: Pick<Ctx, 'uniqueId'>): string => ctx.uniqueId('plan', 'free', 0, PLATFORM);

/**
 * Returns the id of the plan whose limits apply to a tenant: its own plan, or the default plan if its own is canceled.
 */
export const planIdOf = (ctx: Pick<Ctx, 'uniqueId'>, { plan_id, plan_status }: Tenant.Tenant): string =>
  plan_status === 'canceled' ? defaultPlanId(ctx) : plan_id;

/** Returns the limits that apply to the context's tenant. */
export const limitsOf = async (ctx: Ctx): Promise<Plan.Limits> => {
  const { state } = await ctx.load(Tenant, ctx.tenant);
  return (await ctx.load(Plan, planIdOf(ctx, state))).state.limits;
};

/** Creates a plan. @throws Refusal slug_taken */
export const createPlan = (ctx: Ctx, fields: Input<typeof PlanCreate>) =>
  createUnique(ctx, Plan, {
    kind: 'plan',
    key: fields.slug,
    claim: () => (plan) => {
      if (plan.status !== 'absent') throw slugTaken(`There is already a plan ${fields.slug}`);
      return Plan.create(fields)(plan);
    },
  });
