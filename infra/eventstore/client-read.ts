import { ErrorType, type ResolvedEvent } from '@eventstore/db-client';
import type { Recorded } from '../../domain/event.ts';
import { withDeadline } from './deadline.ts';
import { toRecorded } from './event-codec.ts';
import type { LogError } from './event-log.ts';

/** For the first event of a read, in milliseconds. The client itself would notice a dead connection only after 20 s. */
const FIRST_EVENT_TIMEOUT_MS = 5_000;

/**
 * In milliseconds. After "stream not found", the server normally ends the call within this time. An earlier cancellation would reset the
 * call, and servers close a connection that resets many calls.
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
  // A client stream destroyed before its end never releases its call, and `dispose` waits forever: read it to the end instead.
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
