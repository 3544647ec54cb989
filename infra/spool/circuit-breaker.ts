const MAX_FAILURES = 3;
const PROBE_INTERVAL_MS = 1_000;

/**
 * Says whether calls to a service may be made. After three failures in a row, the breaker is open, and none may be
 * made, except one per second as a test. The next success closes the breaker.
 */
export type CircuitBreaker = {
  readonly isOpen: () => boolean;
  /** Whether a call may be made now. While the breaker is open, returns true only once per second. */
  readonly mayTry: () => boolean;
  readonly succeeded: () => void;
  readonly failed: () => void;
};

/** Creates a circuit breaker. `now` returns milliseconds. */
export const createCircuitBreaker = (now: () => number = () => performance.now()): CircuitBreaker => {
  let failures = 0;
  let triedAt = Number.NEGATIVE_INFINITY;
  const isOpen = (): boolean => failures >= MAX_FAILURES;
  return {
    isOpen,
    mayTry: () => {
      if (!isOpen()) return true;
      if (now() - triedAt < PROBE_INTERVAL_MS) return false;
      triedAt = now();
      return true;
    },
    succeeded: () => {
      failures = 0;
    },
    failed: () => {
      failures++;
      triedAt = now();
    },
  };
};
