import { ErrorType, type ResolvedEvent } from '@eventstore/db-client';
import type { Recorded } from '../../domain/event.ts';
import { withDeadline } from './deadline.ts';
import { toRecorded } from './event-codec.ts';
import type { LogError } from './event-log.ts';

/** How long a read waits for its first event. The client itself would notice a dead connection only after 20 s. */
const FIRST_EVENT_TIMEOUT_MS = 5_000;

/**
 * How long to wait after "no such stream" before cancelling the call. By then the server has ended its side; an earlier
 * cancellation would reset the call, and servers close connections that reset many calls.
 */
const CANCEL_DELAY_MS = 20;

type ClientStream = {
  iterator: (options: { destroyOnReturn: boolean }) => AsyncIterable<ResolvedEvent>;
  resume: () => unknown;
  cancel: () => Promise<void>;
  on: (event: 'error', listener: () => void) => unknown;
};

/**
 * Yields the application events of a read; a stream that does not exist yields none.
 * @throws LogError as `toLogError` returns it
 */
export async function* readEvents(source: ClientStream, toLogError: (error: unknown) => LogError): AsyncGenerator<Recorded> {
  let isNotFound = false;
  // A client stream that is destroyed before its end never releases its call, and `dispose` would wait for it. So it is
  // drained instead.
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

/** Reads no further than the first event. @returns null if there is none */
export const firstEvent = async (events: AsyncIterable<Recorded>): Promise<Recorded | null> => {
  for await (const event of events) return event;
  return null;
};
