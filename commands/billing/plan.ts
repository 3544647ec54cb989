import { z } from 'zod';
import * as Plan from '../../domain/billing/plan.ts';
import { PLATFORM } from '../../domain/event.ts';
import { displayText, Slug } from '../../domain/fields.ts';
import { slugTaken } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Input, Secrets } from '../context.ts';
import { createUnique } from '../create-unique.ts';

const Count = z.int().min(0);

export const PlanCreate = z
  .strictObject({
    slug: Slug.meta({ description: 'The unique name, for programs; it never changes', examples: ['team'] }),
    name: displayText(1, 128).meta({ examples: ['Team'] }),
    monthly_usd: z
      .number()
      .min(0)
      .meta({ description: 'The price per month in US dollars', examples: [49] }),
    price_id: displayText(1, 128).nullable().default(null).meta({ description: 'The id of the price at the payment provider' }),
    limits: z
      .strictObject({
        agents: Count.meta({ description: 'How many agents a tenant may have', examples: [10] }),
        members: Count.meta({ description: 'How many members a tenant may have', examples: [5] }),
        cron_jobs: Count.meta({ description: 'How many cron jobs a tenant may have', examples: [10] }),
        webhooks_per_minute: Count.meta({ description: 'How many new deliveries a tenant may get per minute', examples: [600] }),
      })
      .meta({ description: 'The limits of the plan' }),
  })
  .meta({ id: 'PlanCreate' });

/** The plan of a tenant that is created without a plan. */
export const defaultPlanId = ({ uniqueId }: Pick<Secrets, 'uniqueId'>): string => uniqueId('plan', 'free', 0, PLATFORM);

/** The tenant's own plan, whose limits apply; if canceled, the default plan. */
export const planIdOf = (secrets: Pick<Secrets, 'uniqueId'>, { plan_id, plan_status }: Tenant.Tenant): string =>
  plan_status === 'canceled' ? defaultPlanId(secrets) : plan_id;

export const limitsOf = async (ctx: Ctx): Promise<Plan.Limits> => {
  const { state } = await ctx.load(Tenant, ctx.tenant);
  return (await ctx.load(Plan, planIdOf(ctx.secrets, state))).state.limits;
};

/** @throws Refusal slug_taken */
export const createPlan = (ctx: Ctx, fields: Input<typeof PlanCreate>) =>
  createUnique(ctx, Plan, {
    kind: 'plan',
    key: fields.slug,
    claim: () => (plan) => {
      if (plan.status !== 'absent') throw slugTaken(`There is already a plan ${fields.slug}`);
      return Plan.create(fields)(plan);
    },
  });
