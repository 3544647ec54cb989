import { setTimeout as sleep } from 'node:timers/promises';
import { retryDelay } from '../backoff.ts';
import { retryAfterMs } from '../runner/retry-after.ts';

const RETRY_DELAY = { minMs: 250, maxMs: 10_000, jitter: 0.25 };
/** If the service requests a longer delay, the request is not repeated, and the caller gets the response at once. */
const MAX_WAIT_MS = 60_000;
const TEMPORARY_STATUSES = [408, 429, 502, 503, 504];

export type RetryOptions = {
  /** How many times a request is repeated after the first attempt. */
  readonly retries: number;
  readonly signal?: AbortSignal | undefined;
};

/** True also for a conflict with Retry-After: an earlier attempt of the same request is still being processed. */
const isTemporary = ({ status, headers }: Response): boolean =>
  TEMPORARY_STATUSES.includes(status) || (status === 409 && headers.has('retry-after'));

/**
 * Waits as long as Retry-After says, otherwise with growing delays. Call it only for requests whose repetition has no second effect.
 * @throws the error of the last attempt if the service does not answer
 */
export const sendWithRetries = async (send: () => Promise<Response>, { retries, signal }: RetryOptions): Promise<Response> => {
  for (let failures = 1; ; failures += 1) {
    const isLast = failures > retries;
    const outcome = await send().catch((error: Error) => {
      if (isLast || signal?.aborted) throw error;
      return null;
    });
    if (outcome !== null && (isLast || !isTemporary(outcome))) return outcome;
    const delayMs = retryAfterMs(outcome?.headers.get('retry-after') ?? null) ?? retryDelay(RETRY_DELAY, failures);
    if (outcome !== null && delayMs > MAX_WAIT_MS) return outcome;
    await sleep(delayMs, undefined, { signal });
  }
};
