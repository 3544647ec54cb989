import type { CheckAgentLimit } from '../../commands/agents/agent.ts';
import { limitsOf } from '../../commands/billing/plan.ts';
import type { Loaded } from '../../commands/context.ts';
import { checkLimit } from '../../domain/billing/plan.ts';
import { tokenOf } from '../../domain/event.ts';
import { agentCount } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import type { Ctx } from '../http/operation.ts';
import { scopedCache } from '../http/scoped-cache.ts';
import { ignoreUnavailable } from '../http/stale-if-error.ts';

/**
 * If a tenant may create at most this many more agents, its changes (creations, deletions and restores of agents) run
 * one after another. Each waits until the projection has counted the previous one.
 */
const NEAR_LIMIT = 1_000;
/**
 * How long a count that is far from the limit stays valid. This assumes that fewer than NEAR_LIMIT agents are created
 * in this time.
 */
const COUNT_TTL_MS = 250;
/**
 * After a query has failed because the read model was unavailable, the read model is not queried again for this long.
 */
const RETRY_DELAY_MS = 5_000;
const MAX_TENANTS = 10_000;

/**
 * A tenant's agent counter. `count` is the last count; it is valid until `validUntil`. After a failed query, the read
 * model is not queried again before `unavailableUntil`. Both times are in ms of `performance.now()`. `queue` settles
 * when the last queued change is done. `lastChange` is the consistency token of the last recorded change.
 */
type AgentCounter = { count: number; validUntil: number; unavailableUntil: number; queue: Promise<unknown>; lastChange: string | null };

const counters = scopedCache<AgentCounter>(MAX_TENANTS);

const counterOf = ({ reads, tenant }: Ctx): AgentCounter => {
  const known = counters.get(reads, tenant);
  if (known) return known;
  const counter: AgentCounter = { count: 0, validUntil: 0, unavailableUntil: 0, queue: Promise.resolve(), lastChange: null };
  counters.set(reads, tenant, counter);
  return counter;
};

const isUnavailable = ({ unavailableUntil }: AgentCounter): boolean => performance.now() < unavailableUntil;

/** Counts the tenant's agents in the read model. If the read model is unavailable or behind, `count` stays as it is. */
const refreshCount = async (ctx: Ctx, counter: AgentCounter): Promise<void> => {
  if (isUnavailable(counter)) return;
  await agentCount(ctx.reads, ctx.tenant).then(
    (count) => {
      counter.count = count;
      counter.validUntil = performance.now() + COUNT_TTL_MS;
    },
    (error) => {
      ignoreUnavailable(error);
      counter.unavailableUntil = performance.now() + RETRY_DELAY_MS;
    },
  );
};

/**
 * Runs a change that adds or removes an agent. `change` gets a function that checks the limit of the tenant's plan.
 * Within one process, the limit is exact if the projection lags by fewer than NEAR_LIMIT agents. With several
 * processes, each further process can exceed the limit by one agent. While the read model is unavailable, the last
 * known count is used.
 */
export const withinAgentLimit = async <S>(ctx: Ctx, change: (check: CheckAgentLimit) => Promise<Loaded<S>>): Promise<Loaded<S>> => {
  const limits = await limitsOf(ctx);
  const counter = counterOf(ctx);
  const runChange = async (): Promise<Loaded<S>> => {
    const loaded = await change(() => checkLimit(limits, 'agents', counter.count));
    if (loaded.position) counter.lastChange = tokenOf(loaded.position);
    return loaded;
  };
  if (performance.now() >= counter.validUntil) await refreshCount(ctx, counter);
  if (limits.agents - counter.count > NEAR_LIMIT) return runChange();
  const queued = counter.queue.then(async () => {
    if (counter.lastChange && !isUnavailable(counter)) await ctx.reads.passed(agents.name, counter.lastChange).catch(ignoreUnavailable);
    await refreshCount(ctx, counter);
    return runChange();
  });
  counter.queue = queued.catch(() => {});
  return queued;
};
