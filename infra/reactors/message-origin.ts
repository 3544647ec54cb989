import type { Recorded } from '../../domain/event.ts';
import { chunkStream } from '../../domain/webhooks/delivery-body.ts';
import { isReleased, releasedEvent } from '../../domain/webhooks/release.ts';
import { firstEvent } from '../eventstore/client-read.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';

/**
 * Reads all events of a delivery that is sent again or released, the first one first; an empty list if the delivery was
 * erased.
 * @throws LogError
 */
export const deliveryEvents = async (log: Log, { stream }: Recorded): Promise<Recorded[]> => {
  try {
    return await Array.fromAsync(log.read(stream));
  } catch (error) {
    if (error instanceof LogError && error.kind === 'gone') return [];
    throw error;
  }
};

type OpenOrSkip = (event: Recorded) => Recorded | null | Promise<Recorded | null>;

/**
 * Returns the event from which the messages of a delivery are created: its first event or, if it was released, the
 * result of `releasedEvent`. Null if there is no event, or if the body cannot be decrypted.
 * @throws LogError
 */
export const messageOrigin = async (log: Log, opened: OpenOrSkip, events: readonly Recorded[]): Promise<Recorded | null> => {
  const [first] = events;
  const released = events.find(isReleased);
  if (!first || !released) return first ? opened(first) : null;
  const { tenant, id, data } = released;
  const stored = data.body ? await firstEvent(log.read(chunkStream(tenant, id, data.body.sha256), { limit: 1 })) : first;
  const clear = stored && (await opened(stored));
  return clear && releasedEvent(released, data.body ? first : clear, data.body ? (clear.data as Uint8Array) : null);
};
