import { z } from 'zod';
import { withinTime } from '../../commands/within-time.ts';
import { type HeldKind, heldKind } from '../../domain/deliveries/held-kind.ts';
import { Id25 } from '../../domain/id.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import {
  type HeldArgs,
  HeldDeliveries,
  heldByRules,
  heldByRulesOfAllTenants,
  heldBySpentBudgets,
} from '../../projections/deliveries/held-groups.queries.ts';
import { type OpenQueues, openAgents } from '../../projections/deliveries/open-deliveries.queries.ts';
import { readableAgents } from '../agents/readable-agents.ts';
import { operation } from '../http/operation.ts';
import type { DeliveryStates, QueueCtx } from './delivery-states.ts';
import { futureUntil } from './held-words.ts';

type SpentQueues = Pick<DeliveryStates, 'spentQueues'>;

/** Returns the deliveries of the context's tenant that rules and budgets hold, those first that have waited longest. */
export const heldOf = async (ctx: QueueCtx, args: HeldArgs, { spentQueues }: SpentQueues): Promise<HeldDeliveries[]> => {
  const [byRules, byBudgets] = await Promise.all([
    heldByRules(ctx.reads, args),
    openAgents(ctx.reads, args).then(async (agents) => heldBySpentBudgets(ctx.reads, args, await spentQueues(ctx, agents))),
  ]);
  return [...byRules, ...byBudgets].sort((one, other) => Date.parse(one.since) - Date.parse(other.since));
};

/** The number of held deliveries of all tenants, and the future time at which the first of them can continue, if it is known. */
export type HeldTotal = { readonly count: number; readonly until: string | null };

/** Null is later than any time. */
export const earlier = (one: string | null, other: string | null): string | null =>
  one === null || other === null ? (one ?? other) : one < other ? one : other;

/** The totals by kind of hold. The total for budgets is an error while budgets cannot be read. */
export type HeldTotals = Readonly<Record<Exclude<HeldKind, 'budget'>, HeldTotal> & { budget: HeldTotal | Error }>;

/** The time limit for the reading of the budgets of all tenants, which are in the event store, in milliseconds. */
const BUDGETS_TIMEOUT_MS = 1_000;

const totalOf = (groups: readonly HeldTotal[]): HeldTotal => ({
  count: groups.reduce((sum, { count }) => sum + count, 0),
  until: groups.map(({ until }) => futureUntil(until)).reduce(earlier, null),
});

/**
 * What the totals of all tenants are read from. `contextOf` returns the context of a tenant. `readQueues` reads the queues of
 * all tenants, which others may read at the same time.
 */
export type HeldSources = {
  readonly reads: QueueCtx['reads'];
  readonly contextOf: (tenant: string) => QueueCtx;
  readonly readQueues: () => Promise<Pick<OpenQueues, 'queues'>>;
  readonly states: SpentQueues;
};

/** Counts the deliveries that budgets hold, in all tenants. */
const heldByBudgetsOfAllTenants = async ({ reads, contextOf, readQueues, states }: HeldSources): Promise<HeldTotal> => {
  const { queues: open } = await readQueues();
  const tenants = Map.groupBy(open, ({ tenant_id }) => tenant_id);
  const groups = [...tenants].map(async ([tenant_id, agents]) => {
    const queues = await states.spentQueues(
      contextOf(tenant_id),
      agents.map(({ agent_id }) => agent_id),
    );
    return heldBySpentBudgets(reads, { tenant_id }, queues);
  });
  return totalOf((await Promise.all(groups)).flat());
};

/**
 * Counts the held deliveries of all tenants by kind of hold, except those of suspended or closed tenants and of deleted agents. Reads the
 * budgets of at most 100 agents: those whose deliveries have waited longest.
 */
export const heldOfAllTenants = async (sources: HeldSources): Promise<HeldTotals> => {
  const [byRules, budget] = await Promise.all([
    heldByRulesOfAllTenants(sources.reads),
    withinTime(heldByBudgetsOfAllTenants(sources), BUDGETS_TIMEOUT_MS),
  ]);
  const ofKind = (kind: HeldKind): HeldTotal => totalOf(byRules.filter(({ reason, rule }) => heldKind(reason, rule) === kind));
  return { budget, rate: ofKind('rate'), hours: ofKind('hours') };
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
