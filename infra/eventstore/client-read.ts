import { ErrorType, type ResolvedEvent } from '@eventstore/db-client';
import type { Recorded } from '../../domain/event.ts';
import { withDeadline } from './deadline.ts';
import { toRecorded } from './event-codec.ts';
import type { LogError } from './event-log.ts';

/**
 * The maximum time to wait for the first event of a read, in milliseconds. Without this limit, the client would notice
 * a dead connection only after 20 s.
 */
const FIRST_EVENT_TIMEOUT_MS = 5_000;

/**
 * The time to wait before cancelling a read that got "stream not found", in milliseconds. In this time, the server
 * normally ends the call itself. An earlier cancellation would reset the call, and servers close a connection that
 * resets many calls.
 */
const CANCEL_DELAY_MS = 20;

type ClientStream = {
  iterator: (options: { destroyOnReturn: boolean }) => AsyncIterable<ResolvedEvent>;
  resume: () => unknown;
  cancel: () => Promise<void>;
  on: (event: 'error', listener: () => void) => unknown;
};

/**
 * Yields the platform's events that `source` returns, and skips all others. Yields nothing if the stream does not
 * exist.
 * @throws LogError: the client's error, converted by `toLogError`
 */
export async function* readEvents(source: ClientStream, toLogError: (error: unknown) => LogError): AsyncGenerator<Recorded> {
  let isNotFound = false;
  // If a client stream is destroyed before its end, its call is never released, and the client's `dispose` waits for
  // ever. So the stream is not destroyed here. Instead, `finally` reads and discards its remaining events.
  const events = source.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  try {
    for (let step = await withDeadline(FIRST_EVENT_TIMEOUT_MS, events.next()); !step.done; step = await events.next()) {
      const event = step.value.event && toRecorded(step.value.event);
      if (event) yield event;
    }
  } catch (error) {
    isNotFound = (error as { type?: string }).type === ErrorType.STREAM_NOT_FOUND;
    if (!isNotFound) throw toLogError(error);
  } finally {
    void events.return?.().catch(() => {});
    source.on('error', () => {});
    source.resume();
    const cancel = (): void => void source.cancel().catch(() => {});
    if (isNotFound) setTimeout(cancel, CANCEL_DELAY_MS);
    else cancel();
  }
}

/** Returns the first event and stops reading. Returns null if there is none. */
export const firstEvent = async (events: AsyncIterable<Recorded>): Promise<Recorded | null> => {
  for await (const event of events) return event;
  return null;
};
