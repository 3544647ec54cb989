import type { Logger } from 'pino';
import type { Reads } from '../../projections/read-model.ts';
import { retryDelay } from '../backoff.ts';
import { openReactorSessions, type ReactorSessions } from './reactor-sessions.ts';

const RETRY_DELAY_MS = 5_000;
/** The maximum random deviation of a delay, as a share of the delay (0.1: up to 10 % shorter or longer). */
const JITTER = 0.1;
/**
 * The SQLSTATE codes for a missing table and a missing column. They mean that the workers have not yet built the
 * projection in this version.
 */
const MISSING_TABLE = ['42P01', '42703'];

export type TimedReactorParts = {
  readonly databaseUrl: string;
  /** The sessions that all reactors of the process share. A reactor without them opens sessions of its own. */
  readonly sessions?: ReactorSessions;
  readonly logger: Logger;
  readonly now?: () => number;
  readonly intervalMs?: number;
};

/** The work of a timed reactor, and its interval. */
export type TimedReactor = {
  /** The name of the lock that ensures that only one process does the work at a time. */
  readonly lock: string;
  readonly intervalMs: number;
  /** The message that is logged if `run` fails. */
  readonly failure: string;
  /**
   * Does the work that is due at `at` (RFC 3339 UTC) according to the read models. Returns whether more work is due, so
   * that the next run follows soon.
   */
  readonly run: (reads: Pick<Reads, 'rows'>, at: string) => Promise<boolean>;
};

/**
 * The delay in milliseconds before the next run if more work is due. In this time, the read models usually catch up.
 */
const MORE_DELAY_MS = 500;

/**
 * Runs a reactor at regular intervals until `close` is called. A lock ensures that only one process does this. The
 * other processes try to acquire the lock at the same intervals.
 */
export const startTimedReactor = (
  reactor: TimedReactor,
  { databaseUrl, sessions: shared, logger, now = Date.now, intervalMs }: TimedReactorParts,
) => {
  const interval = intervalMs ?? reactor.intervalMs;
  const sessions = shared ?? openReactorSessions(databaseUrl, logger);
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const runOnce = async (): Promise<number> => {
    if (!(await sessions.acquire(reactor.lock))) return interval;
    const isMoreDue = await reactor.run(sessions.reads, new Date(now()).toISOString());
    return isMoreDue ? Math.min(MORE_DELAY_MS, interval) : interval;
  };

  const logFailure = ({ code = '', message }: Error & { code?: string }): void =>
    logger[MISSING_TABLE.includes(code) ? 'debug' : 'warn']({ reason: message }, reactor.failure);

  const tick = async (): Promise<void> => {
    const delay = await runOnce().catch((error: Error) => {
      logFailure(error);
      return Math.min(RETRY_DELAY_MS, interval);
    });
    if (!isClosed) timer = setTimeout(startTick, retryDelay({ minMs: delay, maxMs: delay, jitter: JITTER }, 1)).unref();
  };
  let running = Promise.resolve();
  const startTick = (): void => {
    running = tick();
  };
  startTick();

  return {
    close: async (): Promise<void> => {
      isClosed = true;
      clearTimeout(timer);
      await running;
      if (!shared) await sessions.close();
    },
  };
};
