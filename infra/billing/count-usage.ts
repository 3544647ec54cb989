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
import { positionBefore } from '../reactors/resume-position.ts';
import { createUntilDone } from '../reactors/until-done.ts';

const INTERVAL_MS = 500;
const RETRY = { minMs: 500, maxMs: 10_000, jitter: 0.2 };

export type UsageCounterParts = {
  readonly log: Log;
  readonly logger: Pick<Logger, 'warn' | 'debug'>;
  readonly now?: () => number;
  readonly intervalMs?: number;
};

/**
 * Starts the reactor that counts the costs of the messages of sessions against the hourly budgets of their agents. It
 * records when budgets are used up. Any number of processes can run this reactor.
 */
export const startUsageCounter = ({ log, logger, now = Date.now, intervalMs = INTERVAL_MS }: UsageCounterParts) => {
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
