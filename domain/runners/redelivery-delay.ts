/** The delay before a message that a runner has refused is delivered again. It doubles with each attempt. */
export const REDELIVERY_DELAY = { minMs: 1_000, maxMs: 300_000 } as const;

/**
 * Returns when a message is delivered again after an attempt that failed at the time `at`, unless the runner has asked
 * for another delay. `attempts` is the number of the attempt.
 */
export const redeliveryTime = (at: string, attempts: number): string =>
  new Date(Date.parse(at) + Math.min(REDELIVERY_DELAY.maxMs, REDELIVERY_DELAY.minMs * 2 ** Math.max(0, attempts - 1))).toISOString();
