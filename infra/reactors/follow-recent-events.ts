import type { Logger } from 'pino';
import { PLATFORM, type Position, parseToken, type Recorded, streamName } from '../../domain/event.ts';
import * as Publication from '../../domain/runners/publication.ts';
import { createBackoff } from '../backoff.ts';
import type { Log, Subscription } from '../eventstore/event-log.ts';
import { createUntilDone } from './until-done.ts';

const RETRY = { minMs: 500, maxMs: 10_000, jitter: 0.2 };
/**
 * The number of records of published messages that a follower goes back at its start. Two records are at least two
 * seconds apart. So the follower also reads events that an ended process may have left unhandled.
 */
const RECORDS_BACK = 100;

/**
 * The event types that a follower handles, and the function that handles an event. `failure` is the text that is logged
 * while `handle` fails and is repeated.
 */
export type Follower = {
  readonly eventTypes: readonly string[];
  readonly handle: (event: Recorded) => Promise<void>;
  readonly failure: string;
};

type FollowerParts = { readonly log: Log; readonly logger: Pick<Logger, 'warn' | 'debug'> };

/**
 * Returns a position that the followers of all processes passed long ago. Returns undefined (the start of the log) if
 * no message was ever published.
 */
const startPosition = async (log: Log): Promise<Position | undefined> => {
  const stream = streamName(Publication.category, PLATFORM, Publication.STREAM_ID);
  const last = await log.last(stream);
  if (!last) return undefined;
  const [record] = await Array.fromAsync(log.read(stream, { from: Math.max(0, last.revision - RECORDS_BACK), limit: 1 }));
  return parseToken((record as Recorded<Publication.PublicationEvent>).data.through) ?? undefined;
};

/**
 * Calls `handle` for every new event of some types and, at the start, for the recent events. Each call is repeated
 * until it succeeds; so if `handle` is called a second time for an event, it must do nothing.
 */
export const followRecentEvents = ({ eventTypes, handle, failure }: Follower, { log, logger }: FollowerParts) => {
  const closing = new AbortController();
  const { signal } = closing;
  const retry = createBackoff(RETRY);
  let subscription: Subscription | undefined;

  const onFailure = (error: Error): void => logger.debug({ error: error.message }, failure);
  const untilDone = createUntilDone({ signal, retry, onFailure });

  const run = async (): Promise<void> => {
    const start = await untilDone(async () => ({ position: await startPosition(log) }));
    if (!start) return;
    subscription = log.follow({
      from: start.position,
      filter: { eventTypes },
      event: async (event) => void (await untilDone(() => handle(event))),
    });
    const error = await subscription.failure;
    if (error && !signal.aborted) logger.warn({ error: error.message }, failure);
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
