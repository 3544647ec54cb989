import { END, type EventStoreDBClient, eventTypeFilter, START, streamNameFilter } from '@eventstore/db-client';
import type { Position } from '../../domain/event.ts';
import { classify } from './errors.ts';
import { toRecorded } from './event-codec.ts';
import type { Filter, Follower, Subscription } from './event-log.ts';

const clientFilter = (filter: Filter | undefined) => {
  const window = { checkpointInterval: 1, maxSearchWindow: 1000 };
  if (!filter) return eventTypeFilter({ regex: '^[^$]', ...window });
  return 'streamPrefixes' in filter
    ? streamNameFilter({ prefixes: [...filter.streamPrefixes], ...window })
    : eventTypeFilter({ prefixes: [...filter.eventTypes], ...window });
};

const wanted = (filter: Filter | undefined): ((type: string) => boolean) =>
  filter && 'eventTypes' in filter ? (type) => filter.eventTypes.includes(type) : () => true;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });

const failed = (cause: unknown): Error => Object.assign(new Error('the follower failed', { cause }), { follower: true });

/** One life of a subscription: resolves when it was stopped, rejects when it broke or the handler did, and the handler is done. */
const once = (
  client: EventStoreDBClient,
  follower: Follower,
  from: Position | 'end' | undefined,
  moved: (position: Position) => void,
  signal: AbortSignal,
) =>
  new Promise<void>((resolve, reject) => {
    let isOver = false;
    let working = false;
    let handled: Promise<void> = Promise.resolve();
    const passes = wanted(follower.filter);
    const filter = clientFilter(follower.filter);
    const idle = () => !working && subscription.readableLength === 0;
    // A checkpoint may overtake events that wait in the buffer: it counts only when nothing waits. What a broken subscription had buffered
    // still comes, to nobody, and its checkpoints behind it.
    const checkpointReached = async (_: unknown, position: Position) => {
      if (isOver || !idle()) return;
      await follower.checkpoint?.(position);
      if (!isOver) moved(position);
    };
    const subscription = client.subscribeToAll(
      { fromPosition: from === undefined ? START : from === 'end' ? END : from, filter: { ...filter, checkpointReached } as typeof filter },
      { highWaterMark: 1024 },
    );
    const leave = () => {
      isOver = true;
      subscription.removeAllListeners('data');
      subscription.on('error', () => {});
      void subscription.unsubscribe().catch(() => {});
    };
    const stop = () => {
      leave();
      resolve();
    };
    const broken = (error: unknown) => {
      if (isOver) return;
      leave();
      handled.then(() => reject(error), reject).then(() => signal.removeEventListener('abort', stop));
    };
    signal.addEventListener('abort', stop, { once: true });
    subscription.on('error', broken);
    subscription.on('end', () => broken(new Error('the subscription ended')));
    subscription.on('caughtUp', function whenIdle() {
      if (isOver) return;
      if (!idle()) return void setImmediate(whenIdle);
      follower.caughtUp?.();
    });
    const handling = async (work: Promise<void>, position: Position): Promise<void> => {
      working = true;
      subscription.pause();
      try {
        await work;
      } catch (error) {
        throw failed(error);
      }
      working = false;
      moved(position);
      if (!isOver) subscription.resume();
    };
    subscription.on('data', ({ event }) => {
      const recorded = event && toRecorded(event as never);
      if (!recorded || !passes(recorded.type)) return;
      let work: void | Promise<void>;
      try {
        work = follower.event(recorded);
      } catch (error) {
        return broken(failed(error));
      }
      if (!work) return moved(recorded.position);
      handled = handling(work, recorded.position);
      handled.catch(broken);
    });
  });

/** Follows $all until stopped; breaks of the connection are mended from the last position seen. A follower's own error ends it, and damage that it can't pass. */
export const follow = (client: () => EventStoreDBClient, follower: Follower, sorted = classify): Subscription => {
  const control = new AbortController();
  let position: Position | undefined = follower.from === 'end' ? undefined : follower.from;
  let from = follower.from;
  const live = async (): Promise<Error | null> => {
    for (let failures = 0; !control.signal.aborted; ) {
      try {
        await once(
          client(),
          follower,
          from,
          (at) => {
            position = at;
            from = at;
            failures = 0;
          },
          control.signal,
        );
      } catch (error) {
        if ((error as { follower?: boolean }).follower) return (error as Error).cause as Error;
        const { kind, message } = sorted(error);
        if (kind === 'damaged' || (kind === 'wrong-request' && /Unexpected ReadAllResult/.test(message))) return error as Error;
        await pause(Math.min(2000, 50 * 2 ** failures++) * (0.75 + Math.random() / 2), control.signal);
      }
    }
    return null;
  };
  const failure = live();
  return {
    stop: async () => {
      control.abort();
      await failure;
    },
    position: () => position,
    failure,
  };
};
