import { setTimeout as sleep } from 'node:timers/promises';
import type { Recorded } from '../../domain/event.ts';
import type { Log, Subscription } from '../eventstore/event-log.ts';

const RESUBSCRIBE_DELAY_MS = 500;

type Options = {
  readonly log: Log;
  readonly categories: readonly string[];
  readonly onEvent: (event: Recorded) => void;
  /** Called when the subscription is lost, and again before each attempt to re-establish it. */
  readonly onLost: () => void;
};

/** Delivers the events of these categories that are appended after its start. */
export const createCacheSubscription = ({ log, categories, onEvent, onLost }: Options) => {
  const filter = { streamPrefixes: categories.map((category) => `${category}-`) };
  let subscription: Subscription | undefined;
  let isLost = false;
  let isClosed = false;
  let epoch = 0;

  const start = async (): Promise<void> => {
    const [last] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
    if (isClosed) return;
    subscription = log.follow({ ...(last ? { from: last.position } : {}), filter, event: onEvent });
    void subscription.failure.then((error) => error && resubscribe());
  };

  const resubscribe = async (): Promise<void> => {
    isLost = true;
    while (isLost && !isClosed) {
      onLost();
      await sleep(RESUBSCRIBE_DELAY_MS);
      if (isClosed) return;
      await start().then(
        () => {
          epoch++;
          isLost = false;
        },
        () => {},
      );
    }
  };

  return {
    /** Subscribes at the end of the log. If the subscription is lost later, it is re-established. @throws LogError */
    start,
    close: async (): Promise<void> => {
      isClosed = true;
      await subscription?.stop();
    },
    /** While the subscription is lost, `onEvent` is not called, so the cache misses changes. */
    isLost: (): boolean => isLost,
    isActive: (): boolean => subscription !== undefined && !isLost,
    /**
     * Increases each time a lost subscription is re-established. Do not cache the result of a read that began before: it can lack events.
     */
    epoch: (): number => epoch,
  };
};
