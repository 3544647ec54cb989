import { limitsOf } from '../../commands/billing/plan.ts';
import type { Loaded } from '../../commands/context.ts';
import { checkLimit, type Limits } from '../../domain/billing/plan.ts';
import { tokenOf } from '../../domain/event.ts';
import type { Reads } from '../../projections/read-model.ts';
import type { Ctx } from '../http/operation.ts';
import { scopedCache } from '../http/scoped-cache.ts';
import { ignoreUnavailable } from '../http/stale-if-error.ts';

/**
 * If a tenant may create at most this many more resources, its creations, deletions and restores run one after another.
 * Each of them waits until the projection has counted the previous one.
 */
const NEAR_LIMIT = 1_000;
/**
 * A count that is far from the limit is used for this many milliseconds. This assumes that fewer than NEAR_LIMIT
 * resources are created in this time.
 */
const COUNT_TTL_MS = 250;
/** If the read model is unavailable, it is not queried again for this many milliseconds. */
const RETRY_DELAY_MS = 5_000;
const MAX_TENANTS = 10_000;

/**
 * The counter of a tenant. `count` is the last known count; it is valid until `validUntil`. After a failed query, the
 * read model is not queried again before `unavailableUntil`. Both times are in ms of `performance.now()`. `queue`
 * settles when the last queued change is done. `lastChange` is the consistency token of the last recorded change.
 */
type Counter = { count: number; validUntil: number; unavailableUntil: number; queue: Promise<unknown>; lastChange: string | null };

/** A limit in plans, the projection that counts the limited resources, and the function that reads a tenant's count. */
type CountedLimit = {
  readonly limit: keyof Limits;
  readonly projection: string;
  readonly countOf: (reads: Reads, tenant_id: string) => Promise<number>;
};

const isUnavailable = ({ unavailableUntil }: Counter): boolean => performance.now() < unavailableUntil;

/**
 * Counts the tenant's resources in the read model. If the read model is unavailable or behind, `count` stays as it is.
 */
const refreshCount = async (ctx: Ctx, countOf: CountedLimit['countOf'], counter: Counter): Promise<void> => {
  if (isUnavailable(counter)) return;
  await countOf(ctx.reads, ctx.tenant).then(
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
 * Returns a function that runs a change which adds or removes a resource. The change gets a function that checks the
 * limit of the tenant's plan. Within one process, the limit is exact if the projection lags by fewer than NEAR_LIMIT
 * resources. Each further process can exceed the limit by one. While the read model is unavailable, the last known
 * count is used.
 */
export const planLimit = ({ limit, projection, countOf }: CountedLimit) => {
  const counters = scopedCache<Counter>(MAX_TENANTS);

  const counterOf = ({ reads, tenant }: Ctx): Counter => {
    const known = counters.get(reads, tenant);
    if (known) return known;
    const counter: Counter = { count: 0, validUntil: 0, unavailableUntil: 0, queue: Promise.resolve(), lastChange: null };
    counters.set(reads, tenant, counter);
    return counter;
  };

  return async <S>(ctx: Ctx, change: (check: () => void) => Promise<Loaded<S>>): Promise<Loaded<S>> => {
    const limits = await limitsOf(ctx);
    const counter = counterOf(ctx);
    const runChange = async (): Promise<Loaded<S>> => {
      const loaded = await change(() => checkLimit(limits, limit, counter.count));
      if (loaded.position) counter.lastChange = tokenOf(loaded.position);
      return loaded;
    };
    if (performance.now() >= counter.validUntil) await refreshCount(ctx, countOf, counter);
    if (limits[limit] - counter.count > NEAR_LIMIT) return runChange();
    const queued = counter.queue.then(async () => {
      if (counter.lastChange && !isUnavailable(counter)) await ctx.reads.passed(projection, counter.lastChange).catch(ignoreUnavailable);
      await refreshCount(ctx, countOf, counter);
      return runChange();
    });
    counter.queue = queued.catch(() => {});
    return queued;
  };
};
