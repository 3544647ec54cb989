import { createLruMap } from '../lru-map.ts';
import { type BucketState, newBucketState, type QuotaSync } from './shared-quota.ts';

/**
 * So many requests in any stretch of so many seconds, evenly refilled. `failsClosed`: where the other processes can't be heard of, one
 * lease passes and no more; else this process' own count decides alone.
 */
export type Policy = { readonly name: string; readonly quota: number; readonly seconds: number; readonly failsClosed?: true };

/** `reset` and `retry` are seconds: until all of the quota is there again, and until one more request is. */
export type TakeResult = { readonly allowed: boolean; readonly remaining: number; readonly reset: number; readonly retry: number };

/**
 * How many requests a process may let through before the shared row has heard of them: 50, but a thousandth of a quota that is large (a
 * fast client would need a lease every few milliseconds), and at most a quarter of one that is small.
 */
export const leaseOf = ({ quota }: Policy): number => Math.ceil(Math.max(Math.min(50, quota / 4), quota / 1_000));

const CAPACITY = 50_000;
const EPSILON = 1e-6;

/**
 * A token bucket for each key, kept as the one time at which it will be full again; `shared` keeps it in step with those of other
 * processes. Two generations bound the memory; what falls out has been idle the longest.
 */
export const createTokenBucket = (policy: Policy, capacity = CAPACITY, shared?: QuotaSync) => {
  const window = policy.seconds * 1_000;
  const each = window / policy.quota;
  const lease = leaseOf(policy) * each - EPSILON;
  // Processes together may be a few leases beyond the quota, and wait for them.
  const most = shared ? 2 * window : window;
  const states = createLruMap<string, BucketState>({ capacity });

  const find = states.peek;

  const keep = (key: string, now: number): BucketState => {
    const known = states.get(key);
    if (known) return known;
    const created = newBucketState(`${policy.name} ${key}`, lease, now);
    states.set(key, created);
    return created;
  };

  /** When the key's bucket is full; a clock that was set back must not close it for longer than a window. */
  const fullAt = (account: BucketState | undefined, now: number): number => Math.max(now, Math.min(account?.at ?? now, now + most));

  const isShut = (account: BucketState | undefined): boolean =>
    policy.failsClosed === true && account !== undefined && account.owed >= account.lease && shared?.isDown() === true;

  const told = (at: number, now: number, allowed: boolean): TakeResult => ({
    allowed,
    remaining: Math.max(0, Math.floor((window - (at - now)) / each + EPSILON)),
    reset: Math.ceil((at - now) / 1_000),
    // Of a quota of nothing there is never one more.
    retry: Math.max(0, Math.min(most, at + each - window - now) / 1_000),
  });

  return {
    /** How it stands, taking nothing: whether one more would be let through. */
    look: (key: string, now: number): TakeResult => {
      const account = find(key);
      const at = fullAt(account, now);
      return told(at, now, at + each - now <= window + EPSILON && !isShut(account));
    },
    take: (key: string, now: number): TakeResult => {
      const account = keep(key, now);
      const at = fullAt(account, now);
      const next = at + each;
      const allowed = next - now <= window + EPSILON && !isShut(account);
      account.at = allowed ? next : at;
      if (allowed) shared?.owe(account, each);
      return told(account.at, now, allowed);
    },
    /** Whether a whole lease has been spent that the row has not heard of. */
    waits: (key: string): boolean => shared !== undefined && (find(key)?.owed ?? 0) >= lease,
    /** Hears what others have taken. */
    refresh: async (key: string): Promise<void> => {
      const account = find(key);
      if (account) await shared?.refresh(account);
    },
  };
};

export type TokenBucket = ReturnType<typeof createTokenBucket>;
