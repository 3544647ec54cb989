import type { Logger } from 'pino';
import {
  BUDGET_COUNTER,
  COUNTED_MS,
  type CountedEvent,
  countedEventTypes,
  createUsageCounter,
} from '../../commands/billing/count-usage.reactor.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import { createBackoff } from '../backoff.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { Reactor, Running } from '../reactors/reactor.ts';
import { positionBefore } from '../reactors/resume-position.ts';
import { createUntilDone } from '../reactors/until-done.ts';

const INTERVAL_MS = 500;
const RETRY = { minMs: 500, maxMs: 10_000, jitter: 0.2 };

type Services = {
  readonly log: Log;
  readonly logger: Pick<Logger, 'warn' | 'debug'>;
  readonly now?: (() => number) | undefined;
  readonly intervalMs?: number | undefined;
};

const start = ({ log, logger, now, intervalMs = INTERVAL_MS }: Services): Running => {
  const closing = new AbortController();
  const { signal } = closing;
  const counter = createUsageCounter();
  const retry = createBackoff(RETRY);
  const pause = createBackoff({ minMs: intervalMs, maxMs: intervalMs });
  const ctx = reactorContext(log, { actor: BUDGET_COUNTER, now });

  const onFailure = (error: Error): void => logger.debug({ error: error.message }, 'usage cannot be counted now; trying again');
  const untilDone = createUntilDone({ signal, retry, onFailure });

  const run = async (): Promise<void> => {
    const start = await untilDone(async () => ({ position: await positionBefore(log, COUNTED_MS, signal) }));
    if (!start) return;
    const caughtUp = Promise.withResolvers<void>();
    const subscription = log.follow({
      from: start.position,
      filter: { eventTypes: countedEventTypes },
      event: (event) => counter.apply(event as CountedEvent, ctx.at()),
      caughtUp: caughtUp.resolve,
    });
    signal.addEventListener('abort', () => caughtUp.resolve());
    void subscription.failure.then((failure) => {
      if (failure && !signal.aborted) logger.warn({ error: failure.message }, 'usage is not counted against budgets any more');
    });
    // Record nothing before the log is read to its end: the totals of the present hour are incomplete until then.
    await caughtUp.promise;
    while (!signal.aborted) {
      await untilDone(() => counter.record(ctx));
      await pause.wait(signal);
    }
    await subscription.stop();
  };

  const running = run();
  return {
    close: async (): Promise<void> => {
      closing.abort();
      await running;
    },
  };
};

/**
 * Counts the costs of the messages of sessions against the hourly budgets of their agents, and records when budgets are used up. Any number
 * of processes can do this.
 */
export const usageCounting: Reactor<Services> = { name: 'usage counter', start };
