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

/** So near to its limit a tenant's changes take turns, and wait for the view to have counted the one before. */
const NEAR_LIMIT = 1_000;
/** So long a count far from the limit is good for: less than NEAR agents are made in it. */
const COUNT_TTL_MS = 250;
/** Views that could not be asked are left alone so long. */
const RETRY_DELAY_MS = 5_000;
const MAX_TENANTS = 10_000;

/** `held` was counted last, and is not asked for again before `until`; the views are not asked at all before `away`. */
type AgentCounter = { count: number; validUntil: number; unavailableUntil: number; queue: Promise<unknown>; lastChange: string | null };

const counters = scopedCache<AgentCounter>(MAX_TENANTS);

const counterOf = ({ reads, tenant }: Ctx): AgentCounter => {
  const known = counters.get(reads, tenant);
  if (known) return known;
  const made: AgentCounter = { count: 0, validUntil: 0, unavailableUntil: 0, queue: Promise.resolve(), lastChange: null };
  counters.set(reads, tenant, made);
  return made;
};

const isUnavailable = ({ unavailableUntil }: AgentCounter): boolean => performance.now() < unavailableUntil;

/** Where the views are away or behind the number that they gave last has to do. */
const refreshCount = async (ctx: Ctx, tally: AgentCounter): Promise<void> => {
  if (isUnavailable(tally)) return;
  await agentCount(ctx.reads, ctx.tenant).then(
    (held) => {
      tally.count = held;
      tally.validUntil = performance.now() + COUNT_TTL_MS;
    },
    (error) => {
      ignoreUnavailable(error);
      tally.unavailableUntil = performance.now() + RETRY_DELAY_MS;
    },
  );
};

/**
 * Runs what makes one more agent, or one less, under the limit of the tenant's plan. Within a process the limit holds exactly while the view
 * is less than NEAR agents behind; several processes at once may overshoot it by one each, and without the views nothing is counted.
 */
export const withinAgentLimit = async <S>(ctx: Ctx, change: (checkRoom: CheckAgentLimit) => Promise<Loaded<S>>): Promise<Loaded<S>> => {
  const limits = await limitsOf(ctx);
  const tally = counterOf(ctx);
  const changed = async (): Promise<Loaded<S>> => {
    const loaded = await change(() => checkLimit(limits, 'agents', tally.count));
    if (loaded.position) tally.lastChange = tokenOf(loaded.position);
    return loaded;
  };
  if (performance.now() >= tally.validUntil) await refreshCount(ctx, tally);
  if (limits.agents - tally.count > NEAR_LIMIT) return changed();
  const mine = tally.queue.then(async () => {
    if (tally.lastChange && !isUnavailable(tally)) await ctx.reads.passed(agents.name, tally.lastChange).catch(ignoreUnavailable);
    await refreshCount(ctx, tally);
    return changed();
  });
  tally.queue = mine.catch(() => {});
  return mine;
};
