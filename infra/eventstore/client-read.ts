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
 * How long a read that got "stream not found" waits before it is cancelled, in milliseconds. Normally, the server ends
 * the call within this time. An earlier cancellation would reset the call, and servers close a connection that resets
 * many calls.
 */
const CANCEL_DELAY_MS = 20;

type ClientStream = {
  iterator: (options: { destroyOnReturn: boolean }) => AsyncIterable<ResolvedEvent>;
  resume: () => unknown;
  cancel: () => Promise<void>;
  on: (event: 'error', listener: () => void) => unknown;
};

/**
 * Yields those events of the stream that `open` returns and that the platform has written. If the stream does not
 * exist, yields nothing. The stream is opened at the first step, because nothing would handle its errors before.
 * @throws LogError: the error of the client, converted by `toLogError`
 */
export async function* readEvents(open: () => ClientStream, toLogError: (error: unknown) => LogError): AsyncGenerator<Recorded> {
  const source = open();
  let isNotFound = false;
  // If a client stream is destroyed before its end, its call is never released, and the client's `dispose` waits
  // forever. So the stream is not destroyed; instead, `finally` reads and drops the remaining events.
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

export const firstEvent = async (events: AsyncIterable<Recorded>): Promise<Recorded | null> => {
  for await (const event of events) return event;
  return null;
};
