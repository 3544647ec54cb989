import { END, type EventStoreDBClient, eventTypeFilter, START, streamNameFilter } from '@eventstore/db-client';
import type { Position } from '../../domain/event.ts';
import { createBackoff } from '../backoff.ts';
import { classify } from './errors.ts';
import { toRecorded } from './event-codec.ts';
import type { Filter, Follower, Subscription } from './event-log.ts';

const RESUBSCRIBE = { minMs: 50, maxMs: 2_000, jitter: 0.25 };
const READ_AHEAD_EVENTS = 1_024;

const clientFilter = (filter: Filter | undefined) => {
  const window = { checkpointInterval: 1, maxSearchWindow: 1000 };
  if (!filter) return eventTypeFilter({ regex: '^[^$]', ...window });
  return 'streamPrefixes' in filter
    ? streamNameFilter({ prefixes: [...filter.streamPrefixes], ...window })
    : eventTypeFilter({ prefixes: [...filter.eventTypes], ...window });
};

/** The server compares event types by prefix only, so their full names are compared here. */
const typeFilter = (filter: Filter | undefined): ((type: string) => boolean) =>
  filter && 'eventTypes' in filter ? (type) => filter.eventTypes.includes(type) : () => true;

const followerError = (cause: unknown): Error => Object.assign(new Error('the follower failed', { cause }), { follower: true });

type Start = Position | 'end' | undefined;
type CheckpointReached = (subscription: unknown, position: Position) => Promise<void>;

const openSubscription = (client: EventStoreDBClient, from: Start, filter: Filter | undefined, checkpointReached: CheckpointReached) =>
  client.subscribeToAll(
    {
      fromPosition: from === undefined ? START : from === 'end' ? END : from,
      filter: { ...clientFilter(filter), checkpointReached } as ReturnType<typeof clientFilter>,
    },
    { highWaterMark: READ_AHEAD_EVENTS },
  );

type ClientSubscription = ReturnType<typeof openSubscription>;

const detach = (subscription: ClientSubscription): void => {
  subscription.removeAllListeners('data');
  subscription.on('error', () => {});
  void subscription.unsubscribe().catch(() => {});
};

type FollowRun = {
  readonly follower: Follower;
  readonly from: Start;
  /** Called with each position up to which everything is handled. */
  readonly onPosition: (position: Position) => void;
  readonly signal: AbortSignal;
};

/**
 * Runs one subscription until it ends. Resolves when `signal` is aborted; rejects when the subscription or the follower
 * failed, but not before the follower has finished the event it was handling.
 */
const runSubscription = (client: EventStoreDBClient, { follower, from, onPosition, signal }: FollowRun) =>
  new Promise<void>((resolve, reject) => {
    let isOver = false;
    let isHandling = false;
    let handled: Promise<void> = Promise.resolve();
    const passes = typeFilter(follower.filter);
    const isIdle = () => !isHandling && subscription.readableLength === 0;
    // A checkpoint may overtake events that are still buffered, so it counts only while nothing waits. A failed
    // subscription still delivers its buffer and later checkpoints; they are ignored.
    const subscription = openSubscription(client, from, follower.filter, async (_, position) => {
      if (isOver || !isIdle()) return;
      await follower.checkpoint?.(position);
      if (!isOver) onPosition(position);
    });
    const stop = () => {
      isOver = true;
      detach(subscription);
      resolve();
    };
    const fail = (error: unknown) => {
      if (isOver) return;
      isOver = true;
      detach(subscription);
      handled.then(() => reject(error), reject).then(() => signal.removeEventListener('abort', stop));
    };
    const waitForFollower = async (work: Promise<void>, position: Position): Promise<void> => {
      isHandling = true;
      subscription.pause();
      try {
        await work;
      } catch (error) {
        throw followerError(error);
      }
      isHandling = false;
      onPosition(position);
      if (!isOver) subscription.resume();
    };
    signal.addEventListener('abort', stop, { once: true });
    subscription.on('error', fail);
    subscription.on('end', () => fail(new Error('the subscription ended')));
    subscription.on('caughtUp', function reportWhenIdle() {
      if (isOver) return;
      if (!isIdle()) return void setImmediate(reportWhenIdle);
      follower.caughtUp?.();
    });
    subscription.on('data', ({ event }) => {
      const recorded = event && toRecorded(event as never);
      if (!recorded || !passes(recorded.type)) return;
      let work: void | Promise<void>;
      try {
        work = follower.event(recorded);
      } catch (error) {
        return fail(followerError(error));
      }
      if (!work) return onPosition(recorded.position);
      handled = waitForFollower(work, recorded.position);
      handled.catch(fail);
    });
  });

/**
 * Follows $all until stopped. After a connection error it resubscribes at the last handled position. An error of the
 * follower, or a damaged record that it cannot pass, ends it.
 */
export const follow = (client: () => EventStoreDBClient, follower: Follower, toLogError = classify): Subscription => {
  const control = new AbortController();
  const backoff = createBackoff(RESUBSCRIBE);
  let position: Position | undefined = follower.from === 'end' ? undefined : follower.from;
  let from = follower.from;
  const onPosition = (reached: Position): void => {
    position = reached;
    from = reached;
    backoff.reset();
  };
  const run = async (): Promise<Error | null> => {
    while (!control.signal.aborted) {
      try {
        await runSubscription(client(), { follower, from, onPosition, signal: control.signal });
      } catch (error) {
        if ((error as { follower?: boolean }).follower) return (error as Error).cause as Error;
        const { kind, message } = toLogError(error);
        if (kind === 'damaged' || (kind === 'wrong-request' && /Unexpected ReadAllResult/.test(message))) return error as Error;
        await backoff.wait(control.signal);
      }
    }
    return null;
  };
  const failure = run();
  return {
    stop: async () => {
      control.abort();
      await failure;
    },
    position: () => position,
    failure,
  };
};
