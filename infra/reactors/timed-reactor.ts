import type { Logger } from 'pino';
import type { Reads } from '../../projections/read-model.ts';
import { retryDelay } from '../backoff.ts';
import { openReactorSessions, type ReactorSessions } from './reactor-sessions.ts';

const RETRY_DELAY_MS = 5_000;
/** A share of the delay (0.1: up to 10 % shorter or longer). */
const JITTER = 0.1;
/** SQLSTATE for a missing table or column: the workers have not built the projection in this version yet. */
const MISSING_TABLE = ['42P01', '42703'];

export type TimedReactorParts = {
  readonly databaseUrl: string;
  /** The sessions that all reactors of the process share. A reactor without them opens sessions of its own. */
  readonly sessions?: ReactorSessions;
  readonly logger: Logger;
  readonly now?: () => number;
  readonly intervalMs?: number;
};

export type TimedReactor = {
  /** The name of the lock that ensures that only one process does the work at a time. */
  readonly lock: string;
  readonly intervalMs: number;
  /** Logged if `run` fails. */
  readonly failure: string;
  /** Does what is due at `at` (RFC 3339 UTC). Returns whether more is due, so that the next run follows soon. */
  readonly run: (reads: Pick<Reads, 'rows'>, at: string) => Promise<boolean>;
};

/** In milliseconds, if more work is due. Meanwhile, the read models usually catch up. */
const MORE_DELAY_MS = 500;

/** A lock ensures that only one process runs it; the others try to acquire the lock at the same intervals. */
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
