import { usdOf } from '../../domain/money.ts';
import { usageSince } from '../../projections/billing/cost.queries.ts';
import { sessionCountsSince } from '../../projections/sessions/session.queries.ts';
import { countUpToMax, MAX_COUNTED } from '../../projections/tenants/overview-figures.queries.ts';
import type { Ctx } from '../http/operation.ts';
import { staleIfError } from '../http/stale-if-error.ts';

export { MAX_COUNTED };

const DAYS = 30;
const DAY_MS = 86_400_000;

/** Returns the period of the last 30 days in UTC. Its last day is today, so it ends at the time of the request. */
const periodOf = (ctx: Ctx) => {
  const today = Date.parse(`${ctx.at().slice(0, 10)}T00:00:00.000Z`);
  return { start: new Date(today - (DAYS - 1) * DAY_MS).toISOString(), end: ctx.at() };
};

type Period = ReturnType<typeof periodOf>;

const NO_USAGE = { requests: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0 };
const NO_TASKS = { total: 0, running: 0, completed: 0, failed: 0, cancelled: 0 };

const NO_DELIVERIES = { accepted: 0, dead: 0 };

const countsOf = async (ctx: Ctx, { start }: Period) => {
  const [{ cost_micros, ...usage }, counts, deliveries] = await Promise.all([
    usageSince(ctx.reads, ctx.tenant, start.slice(0, 10)),
    sessionCountsSince(ctx.reads, ctx.tenant, start),
    countUpToMax(ctx.reads, { tenant_id: ctx.tenant, from: start }),
  ]);
  const { running = 0, waiting = 0, completed = 0, failed = 0, cancelled = 0 } = counts;
  return {
    deliveries,
    usage: { ...usage, cost_usd: usdOf(cost_micros) },
    tasks: {
      total: Object.values(counts).reduce((sum, count) => sum + count, 0),
      running: running + waiting,
      completed,
      failed,
      cancelled,
    },
  };
};

type Counts = Awaited<ReturnType<typeof countsOf>>;
const lastKnownCounts = staleIfError<Counts>({ usage: NO_USAGE, tasks: NO_TASKS, deliveries: NO_DELIVERIES });

const summariesFrom = (period: Period, { usage, tasks, deliveries }: Counts) => ({
  usage_summary_30d: { ...usage, period },
  task_summary_30d: tasks,
  delivery_summary_30d: deliveries,
});

/** The deliveries of a tenant, and the activity and the usage of its sessions, in the last 30 days. A waiting session counts as running. */
export type TenantSummaries = ReturnType<typeof summariesFrom>;

/** Returns the summaries of the context's tenant. @throws Refusal unavailable */
export const summariesOf = async (ctx: Ctx): Promise<TenantSummaries> => {
  const period = periodOf(ctx);
  return summariesFrom(period, await countsOf(ctx, period));
};

/**
 * Returns the same as `summariesOf`, for the response to a mutation. If the read models are unavailable, the last known
 * numbers are returned.
 */
export const summariesOrLastKnown = (ctx: Ctx): Promise<TenantSummaries> =>
  ctx.sideEffect(async () => {
    const period = periodOf(ctx);
    return summariesFrom(period, await lastKnownCounts(ctx.reads, ctx.tenant, countsOf(ctx, period)));
  });
