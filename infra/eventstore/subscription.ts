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
  if ('streamPattern' in filter) return streamNameFilter({ regex: filter.streamPattern, ...window });
  return 'streamPrefixes' in filter
    ? streamNameFilter({ prefixes: [...filter.streamPrefixes], ...window })
    : eventTypeFilter({ prefixes: [...filter.eventTypes], ...window });
};

/** The filter compares full type names, because the server filters them only by prefix. */
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
  /** Called with a position when every event up to it is handled. */
  readonly onPosition: (position: Position) => void;
  readonly signal: AbortSignal;
};

/** Resolves when `signal` is aborted. Rejects when the subscription or the follower fails, after any event in progress. */
const runSubscription = (client: EventStoreDBClient, { follower, from, onPosition, signal }: FollowRun) =>
  new Promise<void>((resolve, reject) => {
    let isOver = false;
    let isHandling = false;
    let handled: Promise<void> = Promise.resolve();
    const passes = typeFilter(follower.filter);
    const isIdle = () => !isHandling && subscription.readableLength === 0;
    // A checkpoint can come while earlier events are still in the client's buffer, so it counts only if that is empty and no event is being
    // handled. After a failure, ignore what the client still delivers.
    const subscription = openSubscription(client, from, follower.filter, async (_, position) => {
      if (isOver || !isIdle()) return;
      await callFollower(() => follower.checkpoint?.(position));
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
    // The client does not handle errors of these calls: they would end the process.
    const callFollower = async (call: () => void | Promise<void>): Promise<void> => {
      try {
        await call();
      } catch (error) {
        fail(followerError(error));
      }
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
      void callFollower(() => follower.caughtUp?.());
    });
    subscription.on('data', ({ event }) => {
      const recorded = event && toRecorded(event);
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
 * Delivers the events of the log to the follower until it is stopped. After a connection error, it waits and subscribes
 * again at the last handled position. An error of the follower or a damaged record ends the subscription.
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
