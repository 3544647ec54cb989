import type { RateLimitPolicy } from '../../domain/access/rate-limit-policy.ts';
import { createLruMap } from '../lru-map.ts';
import { type BucketState, newBucketState } from './bucket-state.ts';
import type { QuotaSync } from './shared-quota.ts';

/** `remaining` is in tokens. In seconds: `reset` until the complete quota is available again, `retry` until one more request is allowed. */
export type TakeResult = { readonly allowed: boolean; readonly remaining: number; readonly reset: number; readonly retry: number };

const DEFAULT_CAPACITY = 50_000;
const EPSILON = 1e-6;

/**
 * The number of requests that a process may let through before it must charge them to the quota table: usually 50, at most a quarter and at
 * least a thousandth of the quota, so that a fast client does not need a new lease every few milliseconds.
 */
export const leaseOf = ({ quota }: RateLimitPolicy): number => Math.ceil(Math.max(Math.min(50, quota / 4), quota / 1_000));

/**
 * The values of a policy, all in milliseconds. `window` is the time in which an empty bucket becomes full, and `cost`
 * the time in which one token is refilled. `lease` is the cost of all tokens of a lease. `maxAhead` is the maximum time
 * until a bucket is full.
 */
type Rates = { readonly window: number; readonly cost: number; readonly lease: number; readonly maxAhead: number };

const ratesOf = (policy: RateLimitPolicy, isShared: boolean): Rates => {
  const window = policy.seconds * 1_000;
  const cost = window / policy.quota;
  // Together, processes can exceed the quota by a few leases, so a shared bucket can need more than a window.
  return { window, cost, lease: leaseOf(policy) * cost - EPSILON, maxAhead: isShared ? 2 * window : window };
};

/** Limited to `maxAhead` from now: if the clock is set back, the bucket refuses requests for a limited time only. */
const fullAtOf = ({ maxAhead }: Rates, state: BucketState | undefined, now: number): number =>
  Math.max(now, Math.min(state?.fullAt ?? now, now + maxAhead));

const hasToken = ({ window, cost }: Rates, fullAt: number, now: number): boolean => fullAt + cost - now <= window + EPSILON;

const resultOf = ({ window, cost, maxAhead }: Rates, fullAt: number, now: number, allowed: boolean): TakeResult => ({
  allowed,
  remaining: Math.max(0, Math.floor((window - (fullAt - now)) / cost + EPSILON)),
  reset: Math.ceil((fullAt - now) / 1_000),
  // With a quota of zero, `cost` is infinite. `maxAhead` keeps the result finite.
  retry: Math.max(0, Math.min(maxAhead, fullAt + cost - window - now) / 1_000),
});

type BucketOptions = { readonly capacity?: number; readonly sync?: QuotaSync | undefined };

/**
 * Creates the token buckets of one policy, one for each key (for example a tenant's id). A bucket is stored as the time
 * at which it will be full again. `sync` shares the buckets with the other processes. At most twice `capacity` buckets
 * are in memory; the least recently used ones are dropped.
 */
export const createTokenBuckets = (policy: RateLimitPolicy, { capacity = DEFAULT_CAPACITY, sync }: BucketOptions = {}) => {
  const rates = ratesOf(policy, sync !== undefined);
  const states = createLruMap<string, BucketState>({ capacity });

  const findOrCreate = (key: string, now: number): BucketState => {
    const known = states.get(key);
    if (known) return known;
    const created = newBucketState(`${policy.name} ${key}`, rates.lease, now);
    states.set(key, created);
    return created;
  };

  const isClosed = (state: BucketState | undefined): boolean =>
    policy.failsClosed === true && state !== undefined && state.unsettled >= state.lease && sync?.isDown() === true;

  return {
    peek: (key: string, now: number): TakeResult => {
      const state = states.peek(key);
      const fullAt = fullAtOf(rates, state, now);
      return resultOf(rates, fullAt, now, hasToken(rates, fullAt, now) && !isClosed(state));
    },
    take: (key: string, now: number): TakeResult => {
      const state = findOrCreate(key, now);
      const fullAt = fullAtOf(rates, state, now);
      const allowed = hasToken(rates, fullAt, now) && !isClosed(state);
      state.fullAt = allowed ? fullAt + rates.cost : fullAt;
      if (allowed) sync?.charge(state, rates.cost);
      return resultOf(rates, state.fullAt, now, allowed);
    },
    /** A whole lease is not charged to the shared row yet: the next request must wait for that. */
    isLeaseSpent: (key: string): boolean => sync !== undefined && (states.peek(key)?.unsettled ?? 0) >= rates.lease,
    /** The row includes the tokens that the other processes have taken. */
    refresh: async (key: string): Promise<void> => {
      const state = states.peek(key);
      if (state) await sync?.refresh(state);
    },
  };
};

export type TokenBuckets = ReturnType<typeof createTokenBuckets>;
