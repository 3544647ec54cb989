import { retryDelay } from '../backoff.ts';

/** Each delay varies randomly by ±25 %. Otherwise processes that started together would always run their turns at the same time. */
const TICK = { minMs: 500, maxMs: 500, jitter: 0.25 };
const RETRY = { minMs: 50, maxMs: 5_000, jitter: 0.25 };

export type TickLoop = {
  /** Ends the current pause. If it is called during a turn that succeeds, there is no pause after that turn. */
  readonly wake: () => void;
  /** Stops the loop. Resolves when the current turn has ended. */
  readonly close: () => Promise<void>;
};

/**
 * Calls `turn` again and again until it is closed, with pauses of about half a second. While turns fail, the pauses
 * increase exponentially from 50 ms to 5 s, and `onFailure` is called after each failure.
 */
export const startTickLoop = (turn: () => Promise<void>, onFailure: (error: Error) => void): TickLoop => {
  let isClosed = false;
  let isWoken = false;
  let endPause = () => {};
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async () => {
    for (let failures = 0; !isClosed; ) {
      isWoken = false;
      try {
        await turn();
        failures = 0;
      } catch (error) {
        failures++;
        onFailure(error as Error);
      }
      if (!isClosed && (!isWoken || failures > 0)) await pause(failures > 0 ? retryDelay(RETRY, failures) : retryDelay(TICK, 1));
    }
  };
  const running = run();
  return {
    wake: () => {
      isWoken = true;
      endPause();
    },
    close: async () => {
      isClosed = true;
      endPause();
      await running;
    },
  };
};

export type SingleFlight = { readonly start: (task: () => Promise<void>) => void; readonly settled: () => Promise<void> };

/**
 * Creates a runner of background tasks. It runs one task at a time: while a task is running, `start` does nothing.
 * Errors of tasks are ignored, because the caller starts a failed task again in its next turn.
 */
export const createSingleFlight = (): SingleFlight => {
  let running: Promise<void> | null = null;
  return {
    start: (task) => {
      running ??= task()
        .catch(() => {})
        .finally(() => {
          running = null;
        });
    },
    settled: async () => running ?? undefined,
  };
};
