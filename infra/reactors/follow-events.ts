import type { Logger } from 'pino';
import type { ReactorCtx } from '../../commands/context.ts';
import type { Position, Recorded } from '../../domain/event.ts';
import { ignoreErased, reactorContext } from '../aggregates/reactor-context.ts';
import { createBackoff } from '../backoff.ts';
import type { Log, Subscription } from '../eventstore/event-log.ts';
import type { FollowerPositions } from '../projector/follower-positions.ts';
import type { Reactor, Running } from './reactor.ts';
import { createUntilDone } from './until-done.ts';

const RETRY = { minMs: 500, maxMs: 10_000, jitter: 0.2 };
/** How often the position up to which all events are handled is stored, in milliseconds. */
const STORE_INTERVAL_MS = 10_000;

/** `name` is that of the stored position. `failure` is logged while `handle` fails and is repeated. */
export type EventFollower = {
  readonly name: string;
  readonly eventTypes: readonly string[];
  readonly handle: (event: Recorded) => Promise<void>;
  readonly failure: string;
  /** Returns whether the position may be stored now. If absent, it always may. */
  readonly mayStore?: () => boolean;
};

export type FollowerServices = {
  readonly log: Log;
  readonly logger: Pick<Logger, 'warn' | 'debug'>;
  readonly positions: FollowerPositions;
};

/**
 * Calls `handle` for every event of some types that is recorded after the stored position; for all events if none is
 * stored. Each call is repeated until it succeeds. After a restart, the events of the last seconds are handled again; so
 * if `handle` is called a second time for an event, it must do nothing. Any number of processes can do this.
 */
export const followEvents = (
  { name, eventTypes, handle, failure, mayStore = () => true }: EventFollower,
  { log, logger, positions }: FollowerServices,
): Running => {
  const closing = new AbortController();
  const { signal } = closing;
  const retry = createBackoff(RETRY);
  let subscription: Subscription | undefined;
  let storedAt = performance.now();

  const onFailure = (error: Error): void => logger.debug({ error: error.message }, failure);
  const untilDone = createUntilDone({ signal, retry, onFailure });

  const store = async (position: Position | undefined): Promise<void> => {
    if (position && mayStore()) await positions.write(name, position).catch(onFailure);
    storedAt = performance.now();
  };
  const storeIfDue = async (position: Position): Promise<void> => {
    if (performance.now() - storedAt > STORE_INTERVAL_MS) await store(position);
  };

  const run = async (): Promise<void> => {
    const start = await untilDone(async () => ({ position: await positions.read(name) }));
    if (!start) return;
    let handled: Position | undefined;
    subscription = log.follow({
      from: start.position,
      filter: { eventTypes },
      event: async (event) => {
        await untilDone(() => handle(event));
        if (signal.aborted) return;
        handled = event.position;
        await storeIfDue(handled);
      },
      checkpoint: async (position) => {
        if (signal.aborted) return;
        handled = position;
        await storeIfDue(handled);
      },
    });
    const error = await subscription.failure;
    if (error && !signal.aborted) logger.warn({ error: error.message }, failure);
    await store(handled);
  };

  const running = run();
  return {
    close: async (): Promise<void> => {
      closing.abort();
      await subscription?.stop();
      await running;
    },
  };
};

type Following<Services> = Pick<Reactor<Services>, 'isWanted'> &
  Omit<EventFollower, 'handle' | 'mayStore'> & {
    /** The ids of events derive from that of the event. If a stream was erased, the refusal `not_found` is ignored. */
    readonly handle: (ctx: ReactorCtx, event: Recorded, services: Services) => Promise<unknown>;
  };

/** Handles every event of some types. Any number of processes can do this. */
export const following = <Services extends FollowerServices>({
  isWanted,
  handle,
  ...follower
}: Following<Services>): Reactor<Services> => ({
  name: follower.name,
  ...(isWanted && { isWanted }),
  start: (services) => {
    const ctx = reactorContext(services.log);
    const handleOne = async (event: Recorded): Promise<void> => {
      await handle(ctx.inTenant(event.tenant).withSeed(event.event_id), event, services).catch(ignoreErased);
    };
    return followEvents({ ...follower, handle: handleOne }, services);
  },
});
