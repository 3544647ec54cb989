/** The delay after a runner has refused a message. It doubles with each attempt. */
export const REDELIVERY_DELAY = { minMs: 1_000, maxMs: 300_000 } as const;

/**
 * Returns when the broker sends a message again after an attempt that failed at `at`, unless the runner has requested another delay.
 * `attempts` is its number.
 */
export const redeliveryTime = (at: string, attempts: number): string =>
  new Date(Date.parse(at) + Math.min(REDELIVERY_DELAY.maxMs, REDELIVERY_DELAY.minMs * 2 ** Math.max(0, attempts - 1))).toISOString();
