import type { Logger } from 'pino';
import type { ReactorCtx } from '../../commands/context.ts';
import type { Reads } from '../../projections/read-model.ts';
import { ignoreErased, type ReactorEvents, reactorContext } from '../aggregates/reactor-context.ts';
import { retryDelay } from '../backoff.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import { forEachConcurrently } from './for-each-concurrently.ts';
import type { Reactor } from './reactor.ts';
import type { ReactorSessions } from './reactor-sessions.ts';

const RETRY_DELAY_MS = 5_000;
/** A share of the delay (0.1: up to 10 % shorter or longer). */
const JITTER = 0.1;
/** SQLSTATE for a missing table or column: the workers have not built the projection in this version yet. */
const MISSING_TABLE = ['42P01', '42703'];
/** In milliseconds, if more work is due. Meanwhile, the read models usually catch up. */
const MORE_DELAY_MS = 500;

export type TimerServices = {
  readonly log: Log;
  readonly logger: Logger;
  readonly sessions: ReactorSessions;
  /** In Unix milliseconds. */
  readonly now?: (() => number) | undefined;
  /** Replaces the intervals of all reactors. */
  readonly intervalMs?: number | undefined;
};

type Timer<Services> = Pick<Reactor<Services>, 'isWanted'> & {
  /** The name of the lock that ensures that only one process does the work at a time. */
  readonly lock: string;
  readonly everyMs: number;
  /** Logged if a run fails. */
  readonly failure: string;
};

export type Runs = {
  /** Does what is due at `at` (RFC 3339 UTC). Returns whether more is due, so that the next run follows soon. */
  readonly run: (reads: Pick<Reads, 'rows'>, at: string) => Promise<boolean>;
  /** Called after the last run. */
  readonly close?: () => Promise<unknown>;
};

/**
 * Calls `open` at the start of the process, and then its `run` at intervals. `closing` is aborted when the reactor is closed, before the last
 * run has ended. If there are several processes, only the holder of the lock does.
 */
export const timedRuns = <Services extends TimerServices>({
  lock,
  everyMs,
  failure,
  isWanted,
  open,
}: Timer<Services> & { readonly open: (services: Services, closing: AbortSignal) => Runs }): Reactor<Services> => ({
  name: lock,
  ...(isWanted && { isWanted }),
  start: (services) => {
    const { sessions, logger, now = Date.now, intervalMs = everyMs } = services;
    const closing = new AbortController();
    const { run, close } = open(services, closing.signal);
    let timer: NodeJS.Timeout | undefined;

    const runOnce = async (): Promise<number> => {
      if (!(await sessions.acquire(lock))) return intervalMs;
      const isMoreDue = await run(sessions.reads, new Date(now()).toISOString());
      return isMoreDue ? Math.min(MORE_DELAY_MS, intervalMs) : intervalMs;
    };

    const logFailure = ({ code = '', message }: Error & { code?: string }): void =>
      logger[MISSING_TABLE.includes(code) ? 'debug' : 'warn']({ reason: message }, failure);

    const tick = async (): Promise<void> => {
      const delay = await runOnce().catch((error: Error) => {
        logFailure(error);
        return Math.min(RETRY_DELAY_MS, intervalMs);
      });
      if (!closing.signal.aborted) timer = setTimeout(startTick, retryDelay({ minMs: delay, maxMs: delay, jitter: JITTER }, 1)).unref();
    };
    let running = Promise.resolve();
    const startTick = (): void => {
      running = tick();
    };
    startTick();

    return {
      close: async (): Promise<void> => {
        closing.abort();
        clearTimeout(timer);
        await running;
        await close?.();
      },
    };
  },
});

/** What is due according to a read model, which may be outdated, and how each of it is handled. */
export type Due<Services, One, Opened, Result> = Pick<ReactorEvents, 'seed'> & {
  readonly due: (reads: Pick<Reads, 'rows'>, at: string) => Promise<readonly One[]>;
  /** The most that one call of `due` returns: then, more may be due. */
  readonly max?: number;
  /** Called when something is due for the first time. After a failure, called again in the next run. */
  readonly open?: (services: Services) => Promise<Opened>;
  readonly close?: (opened: Opened) => Promise<unknown>;
  /** Without `failed`, the refusal `not_found` is ignored: a stream was erased. */
  readonly handle: (ctx: ReactorCtx, one: One, opened: Opened) => Promise<Result>;
  /** By default, events get the time of the run. */
  readonly eventTime?: 'append';
  /** How many are handled at the same time; by default, one. */
  readonly concurrency?: number;
  /** If present, a failure is only logged. If absent, it ends the run. */
  readonly failed?: (logger: Logger, one: One, reason: string) => void;
  /** Called if something was due, after all is handled. */
  readonly done?: (logger: Logger, due: readonly One[], results: readonly Result[]) => void;
};

/** The context in which what was due at `at` (RFC 3339 UTC) is handled. */
export const contextOf = (
  { seed, eventTime }: Pick<Due<never, never, never, never>, 'seed' | 'eventTime'>,
  { log, now }: Pick<TimerServices, 'log' | 'now'>,
  at: string,
): ReactorCtx => reactorContext(log, { seed, ...(eventTime ? { now } : { at }) });

/** Handles these as if they had been due at `at`. @throws the first error, if `failed` is absent */
export const handleDue = async <Services, One, Opened, Result>(
  reactor: Due<Services, One, Opened, Result>,
  services: Pick<TimerServices, 'log' | 'logger' | 'now'>,
  due: readonly One[],
  { at, opened }: { readonly at: string; readonly opened?: Opened | undefined },
): Promise<void> => {
  const { handle, concurrency = 1, failed, done } = reactor;
  const ctx = contextOf(reactor, services, at);
  const results: Result[] = [];
  const handleOne = async (one: One): Promise<void> => {
    try {
      results.push(await handle(ctx, one, opened as Opened));
    } catch (error) {
      if (!failed) return ignoreErased(error);
      failed(services.logger, one, (error as Error).message);
    }
  };
  await forEachConcurrently(due, handleOne, concurrency);
  if (due.length > 0) done?.(services.logger, due, results);
};

/** At intervals, handles what is due. Only one process does this at a time. If nothing is due, this costs the query `due`. */
export const timed = <Services extends TimerServices, One, Opened, Result>(
  reactor: Timer<Services> & Due<Services, One, Opened, Result>,
) => {
  const { due: find, max = Number.POSITIVE_INFINITY, open, close } = reactor;
  const openRuns = (services: Services): Runs => {
    let opened: Promise<Opened> | undefined;
    const openFirst = openOnce(async () => (opened = open?.(services)));
    return {
      run: async (reads, at) => {
        const due = await find(reads, at);
        if (due.length > 0) await handleDue(reactor, services, due, { at, opened: await openFirst() });
        return due.length >= max;
      },
      close: async () => {
        const first = await opened?.catch(() => undefined);
        if (first) await close?.(first);
      },
    };
  };
  return { ...reactor, ...timedRuns({ ...reactor, open: openRuns }) };
};
