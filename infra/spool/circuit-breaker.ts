const MAX_FAILURES = 3;
const PROBE_INTERVAL_MS = 1_000;

/** After three failures in a row, the breaker is open: no calls but one per second as a test. A success closes it. */
export type CircuitBreaker = {
  readonly isOpen: () => boolean;
  /** Whether a call may be made now. While the breaker is open, returns true only once per second. */
  readonly mayTry: () => boolean;
  readonly succeeded: () => void;
  readonly failed: (reason: string) => void;
};

/** The callback gets the reason at each failure while open, and each closing success. `now` returns milliseconds. */
export type BreakerOptions = {
  readonly now?: () => number;
  readonly onFailure?: (reason: string) => void;
  readonly onSuccess?: () => void;
};

export const createCircuitBreaker = ({
  now = () => performance.now(),
  onFailure = () => {},
  onSuccess = () => {},
}: BreakerOptions = {}): CircuitBreaker => {
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
      const wasOpen = isOpen();
      failures = 0;
      if (wasOpen) onSuccess();
    },
    failed: (reason) => {
      failures++;
      triedAt = now();
      if (isOpen()) onFailure(reason);
    },
  };
};
