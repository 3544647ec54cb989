import * as Agent from '../../domain/agents/agent.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import type * as CronJob from '../../domain/schedule/cron-job.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { ReactorCtx } from '../context.ts';

/** No job of the agent fires, and nothing is sent to it. */
export type InactiveReason = 'tenant_suspended' | 'agent_inactive';

export const INACTIVE_TEXTS: Readonly<Record<InactiveReason, string>> = {
  agent_inactive: 'The agent is inactive or deleted',
  tenant_suspended: 'The tenant is suspended or closed',
};

/** Calls `find` only once for each key. */
export const memoized = <Key extends string[], T>(find: (...key: Key) => Promise<T>): ((...key: Key) => Promise<T>) => {
  const found = new Map<string, Promise<T>>();
  return (...key) => {
    const name = key.join('\0');
    const known = found.get(name) ?? find(...key);
    found.set(name, known);
    return known;
  };
};

/** Works for any tenant; loads each tenant and agent only once. */
export const createAgentChecks = (ctx: Pick<ReactorCtx, 'load' | 'at'>) => {
  const tenantIsActive = memoized(async (id: string) => (await ctx.load(Tenant, id)).state.status === 'active');
  const agentOf = memoized(async (tenant: string, id: string) => {
    const { status, is_active, hourly_limit_micros } = (await ctx.load(Agent, id, { tenant })).state;
    return { isActive: status === 'live' && is_active, limit_micros: hourly_limit_micros };
  });
  return {
    /** Null if messages can be sent to the agent at present. */
    inactiveReason: async (tenant_id: string, agent_id: string): Promise<InactiveReason | null> => {
      if (!(await tenantIsActive(tenant_id))) return 'tenant_suspended';
      return (await agentOf(tenant_id, agent_id)).isActive ? null : 'agent_inactive';
    },
    /** Whether the agent's budget of this hour is used up. */
    isBudgetSpent: memoized(async (tenant: string, agent_id: string) => {
      const { limit_micros } = await agentOf(tenant, agent_id);
      if (limit_micros === null) return false;
      const at = ctx.at();
      const hour = await ctx.load(BudgetHour, BudgetHour.budgetHourId(agent_id, at), { tenant });
      return BudgetHour.isSpent(hour.state, { agent_id, limit_micros, at });
    }),
  };
};

export type AgentChecks = ReturnType<typeof createAgentChecks>;

/** A text for people; null if an attempt of a run may call its target. */
export const reasonNotToCall = async (
  { inactiveReason }: AgentChecks,
  { tenant_id, status }: CronJob.CronJob,
  agent_id: string,
): Promise<string | null> => {
  if (status === 'archived') return 'The cron job was deleted';
  const reason = await inactiveReason(tenant_id, agent_id);
  return reason && INACTIVE_TEXTS[reason];
};
