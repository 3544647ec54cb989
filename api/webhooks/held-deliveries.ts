import { z } from 'zod';
import { Id25 } from '../../domain/id.ts';
import { type HeldKind, heldKind } from '../../domain/webhooks/held-kind.ts';
import { deliveries } from '../../projections/webhooks/delivery.ts';
import {
  type HeldArgs,
  HeldDeliveries,
  heldByRules,
  heldByRulesOfAllTenants,
  heldBySpentBudgets,
} from '../../projections/webhooks/held-groups.queries.ts';
import { openAgents, openAgentsOfAllTenants } from '../../projections/webhooks/open-deliveries.queries.ts';
import { operation } from '../http/operation.ts';
import { readableAgents } from './delivery-list.ts';
import type { DeliveryStates, QueueCtx } from './delivery-states.ts';

type SpentQueues = Pick<DeliveryStates, 'spentQueues'>;

/** Returns the deliveries of the context's tenant that rules and budgets hold, those first that have waited longest. */
const heldOf = async (ctx: QueueCtx, args: HeldArgs, { spentQueues }: SpentQueues): Promise<HeldDeliveries[]> => {
  const [byRules, byBudgets] = await Promise.all([
    heldByRules(ctx.reads, args),
    openAgents(ctx.reads, args).then(async (agents) => heldBySpentBudgets(ctx.reads, args, await spentQueues(ctx, agents))),
  ]);
  return [...byRules, ...byBudgets].sort((one, other) => Date.parse(one.since) - Date.parse(other.since));
};

/** How many deliveries of all tenants something holds, and when the first of them can go on; null if this is not known. */
export type HeldTotal = { readonly count: number; readonly until: string | null };

const earlier = (one: string | null, other: string | null): string | null =>
  one === null || other === null ? (one ?? other) : one < other ? one : other;

/**
 * Counts the held deliveries of all tenants, by what holds them. Budgets are read of at most 100 agents: those whose
 * deliveries have waited longest. `contextOf` returns the context of a tenant.
 */
export const heldOfAllTenants = async (
  contextOf: (tenant: string) => QueueCtx,
  reads: QueueCtx['reads'],
  states: SpentQueues,
): Promise<Readonly<Record<HeldKind, HeldTotal>>> => {
  const [byRules, open] = await Promise.all([heldByRulesOfAllTenants(reads), openAgentsOfAllTenants(reads)]);
  const byBudgets = await Promise.all(
    [...Map.groupBy(open, ({ tenant_id }) => tenant_id)].map(async ([tenant_id, agents]) => {
      const ctx = contextOf(tenant_id);
      const queues = await states.spentQueues(
        ctx,
        agents.map(({ agent_id }) => agent_id),
      );
      return heldBySpentBudgets(reads, { tenant_id }, queues);
    }),
  );
  const totals: Record<HeldKind, HeldTotal> = {
    budget: { count: 0, until: null },
    rate: { count: 0, until: null },
    hours: { count: 0, until: null },
  };
  for (const { reason, rule, count, until } of [...byRules, ...byBudgets.flat()]) {
    const kind = heldKind(reason, rule);
    totals[kind] = { count: totals[kind].count + count, until: earlier(totals[kind].until, until) };
  }
  return totals;
};

/** Creates the operation that says which deliveries are held. */
export const heldDeliveryOperationsOf = (states: SpentQueues) => ({
  listHeldDeliveries: operation({
    method: 'get',
    path: '/tenant/:tenant_id/deliveries/held',
    summary: 'Group the deliveries that are held',
    details:
      'By agent and by what holds them: a rule, or the hourly budget of the agent. Those that have waited longest come first. Budgets are read of at most 100 agents: those whose deliveries have waited longest.',
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `tenant:read`. Lists the deliveries of the agents on which the caller has `agent:chat:read`; with `tenant:integrations:read`, all.',
    query: z.strictObject({ agent_id: Id25.optional().meta({ description: 'Only deliveries for this agent' }) }),
    reply: z.array(HeldDeliveries),
    projection: deliveries.name,
    noETag: true,
    run: async (ctx, { tenant_id, agent_id }) => {
      const agent_ids = await readableAgents(ctx);
      return { doc: JSON.stringify(await heldOf(ctx, { tenant_id, agent_id, agent_ids }, states)), revision: null };
    },
  }),
});
