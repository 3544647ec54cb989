import { setTimeout as sleep } from 'node:timers/promises';

/** The delay doubles with every failure, from `minMs` to `maxMs`. `jitter` varies it at random: 0.25 means by ±25 %. */
export type BackoffOptions = { readonly minMs: number; readonly maxMs: number; readonly jitter?: number };

export type Backoff = {
  /** Counts one failure, and returns the milliseconds to wait before the next attempt. */
  readonly next: () => number;
  /** Counts one failure, then waits for its delay. Resolves early, without an error, when `signal` is aborted. */
  readonly wait: (signal?: AbortSignal) => Promise<void>;
  /** Sets the delay back to `minMs`. Call it after a success. */
  readonly reset: () => void;
};

/** Returns milliseconds. `failures` is the number of consecutive failures, from 1. */
export const retryDelay = ({ minMs, maxMs, jitter = 0 }: BackoffOptions, failures: number): number =>
  Math.min(maxMs, minMs * 2 ** Math.max(0, failures - 1)) * (1 + jitter * (2 * Math.random() - 1));

/**
 * Returns the delay in milliseconds before the next poll of something that is awaited since `since` (as of
 * `performance.now()`): 3 % of the time waited so far, at least `minMs` and at most `maxMs`. So polling delays what
 * comes next by at most 3 %, and takes little processor time on a busy machine, where everything takes longer.
 */
export const pollDelay = ({ minMs, maxMs }: Pick<BackoffOptions, 'minMs' | 'maxMs'>, since: number): number =>
  Math.min(maxMs, Math.max(minMs, (performance.now() - since) * 0.03));

export const createBackoff = (options: BackoffOptions): Backoff => {
  let failures = 0;
  const next = (): number => retryDelay(options, ++failures);
  return {
    next,
    wait: (signal) => sleep(next(), undefined, { signal }).catch(() => {}),
    reset: () => {
      failures = 0;
    },
  };
};
