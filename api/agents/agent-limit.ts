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
const NEAR = 1_000;
/** So long a count far from the limit is good for: less than NEAR agents are made in it. */
const FRESH_MS = 250;
/** Views that could not be asked are left alone so long. */
const AWAY_MS = 5_000;
const MAX_TENANTS = 10_000;

/** `held` was counted last, and is not asked for again before `until`; the views are not asked at all before `away`. */
type Tally = { held: number; until: number; away: number; turn: Promise<unknown>; last: string | null };

const tallies = scopedCache<Tally>(MAX_TENANTS);

const tallyOf = ({ reads, tenant }: Ctx): Tally => {
  const known = tallies.get(reads, tenant);
  if (known) return known;
  const made: Tally = { held: 0, until: 0, away: 0, turn: Promise.resolve(), last: null };
  tallies.set(reads, tenant, made);
  return made;
};

const isAway = ({ away }: Tally): boolean => performance.now() < away;

/** Where the views are away or behind the number that they gave last has to do. */
const count = async (ctx: Ctx, tally: Tally): Promise<void> => {
  if (isAway(tally)) return;
  await agentCount(ctx.reads, ctx.tenant).then(
    (held) => {
      tally.held = held;
      tally.until = performance.now() + FRESH_MS;
    },
    (error) => {
      ignoreUnavailable(error);
      tally.away = performance.now() + AWAY_MS;
    },
  );
};

/**
 * Runs what makes one more agent, or one less, under the limit of the tenant's plan. Within a process the limit holds exactly while the view
 * is less than NEAR agents behind; several processes at once may overshoot it by one each, and without the views nothing is counted.
 */
export const withinAgentLimit = async <S>(ctx: Ctx, change: (checkRoom: CheckAgentLimit) => Promise<Loaded<S>>): Promise<Loaded<S>> => {
  const limits = await limitsOf(ctx);
  const tally = tallyOf(ctx);
  const changed = async (): Promise<Loaded<S>> => {
    const loaded = await change(() => checkLimit(limits, 'agents', tally.held));
    if (loaded.position) tally.last = tokenOf(loaded.position);
    return loaded;
  };
  if (performance.now() >= tally.until) await count(ctx, tally);
  if (limits.agents - tally.held > NEAR) return changed();
  const mine = tally.turn.then(async () => {
    if (tally.last && !isAway(tally)) await ctx.reads.passed(agents.name, tally.last).catch(ignoreUnavailable);
    await count(ctx, tally);
    return changed();
  });
  tally.turn = mine.catch(() => {});
  return mine;
};
