import { hash } from 'node:crypto';
import { chunkStream } from '../../domain/bodies/delivery-body.ts';
import { isReleased, releasedEvent } from '../../domain/deliveries/release.ts';
import type { Recorded } from '../../domain/event.ts';
import type { Repeated } from '../../domain/sessions/session-event.ts';
import { firstEvent } from '../eventstore/client-read.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';

/** All events of a delivery that is sent again or released, the oldest first. Empty if it was erased. @throws LogError */
export const deliveryEvents = async (log: Log, { stream }: Recorded): Promise<Recorded[]> => {
  try {
    return await Array.fromAsync(log.read(stream));
  } catch (error) {
    if (error instanceof LogError && error.kind === 'gone') return [];
    throw error;
  }
};

/** The event of a session whose message is sent again; null if it was erased. @throws LogError */
export const repeatedEvent = async (log: Log, { stream, data }: Recorded): Promise<Recorded | null> => {
  const { repeats, revision } = data as Repeated;
  try {
    const found = await firstEvent(log.read(stream, { from: revision, limit: 1 }));
    return found?.event_id === repeats ? found : null;
  } catch (error) {
    if (error instanceof LogError && error.kind === 'gone') return null;
    throw error;
  }
};

/** Null if the stored body is the one that was released. */
const faultOf = (sha256: string, stored: Recorded | undefined, clear: Recorded | null): string | null => {
  if (!stored) return 'the redacted body of a release is missing';
  if (clear && hash('sha256', clear.data as Uint8Array, 'hex') !== sha256) return 'the redacted body of a release is another one';
  return null;
};

type MessageReader = { readonly log: Log; readonly logger: { readonly error: (fields: object, text: string) => void } };

type OpenOrSkip = (event: Recorded) => Recorded | null | Promise<Recorded | null>;

/**
 * Returns the event from which the messages of a delivery are created: its first event or, if it was released, the
 * result of `releasedEvent`. Returns null if there is no event, or if the body is missing or cannot be decrypted.
 * @throws LogError
 */
export const messageOrigin = async (
  { log, logger }: MessageReader,
  opened: OpenOrSkip,
  events: readonly Recorded[],
): Promise<Recorded | null> => {
  const [first] = events;
  const released = events.find(isReleased);
  if (!first || !released) return first ? opened(first) : null;
  const { tenant, id, data } = released;
  if (!data.body) {
    const whole = await opened(first);
    return whole && releasedEvent(released, whole, null);
  }
  const stored = await firstEvent(log.read(chunkStream(tenant, id, data.body.sha256), { limit: 1 }));
  const clear = stored ? await opened(stored) : null;
  const fault = faultOf(data.body.sha256, stored ?? undefined, clear);
  if (fault) logger.error({ event: released.event_id }, `an event is not sent to its runner: ${fault}`);
  return clear && !fault ? releasedEvent(released, first, clear.data as Uint8Array) : null;
};
