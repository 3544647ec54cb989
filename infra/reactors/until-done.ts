import type { Backoff } from '../backoff.ts';

export type Retries = { readonly signal: AbortSignal; readonly retry: Backoff; readonly onFailure: (error: Error) => void };

/** Repeats `work` until it succeeds, with the delays of `retry`. Returns undefined if `signal` is aborted first, also during `work`. */
export const createUntilDone =
  ({ signal, retry, onFailure }: Retries) =>
  async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    while (!signal.aborted) {
      try {
        const done = await work();
        retry.reset();
        if (!signal.aborted) return done;
      } catch (error) {
        if (!signal.aborted) onFailure(error as Error);
        await retry.wait(signal);
      }
    }
    return undefined;
  };
