import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';

export const category = 'plan';
export const platform = true;

export type Limits = { agents: number; members: number; cron_jobs: number; webhooks_per_minute: number };
export type PlanFields = {
  slug: string;
  name: string;
  monthly_usd: number;
  price_id: string | null;
  limits: Limits;
};
export type PlanEvent = { type: 'PlanCreated'; data: PlanFields };
export type Plan = PlanFields & { status: 'absent' | 'active'; id: string; created_at: string };

export const initial: Plan = {
  status: 'absent',
  id: '',
  slug: '',
  name: '',
  monthly_usd: 0,
  price_id: null,
  limits: { agents: 0, members: 0, cron_jobs: 0, webhooks_per_minute: 0 },
  created_at: '',
};

export const evolve = (plan: Plan, event: Recorded<PlanEvent>): Plan => ({
  ...plan,
  ...event.data,
  status: 'active',
  id: event.id,
  created_at: event.at,
});

export const create =
  (fields: PlanFields) =>
  (plan: Plan): PlanEvent[] =>
    plan.status === 'absent' ? [{ type: 'PlanCreated', data: fields }] : [];

/**
 * For agents, members, cron jobs; infra/ratelimit/limiter.ts limits deliveries per minute. @throws Refusal plan_limit (409) at the limit
 */
export const checkLimit = (limits: Limits, limit: keyof Limits, current: number): void => {
  if (current < limits[limit]) return;
  const allowed = limits[limit];
  throw new Refusal('plan_limit', `The plan allows at most ${allowed} ${limit.replaceAll('_', ' ')}`, { members: { limit, allowed } });
};
