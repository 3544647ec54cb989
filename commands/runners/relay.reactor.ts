import { type Recorded, tokenOf } from '../../domain/event.ts';
import { encodeCloudEvent, inboundSubject, MAX_INLINE_BYTES, runnerMessages } from '../../domain/runners/cloud-event.ts';

/**
 * A message for the broker. `id` is the event's id, `token` its position in the log, `delivery` the id of the delivery.
 */
export type OutgoingMessage = {
  readonly id: string;
  readonly token: string;
  readonly subject: string;
  readonly delivery: string;
  readonly payload: Uint8Array;
};

/** The types of the events that the relay publishes. */
export const relayedEventTypes = Object.keys(runnerMessages);

/** Space in a message for everything but the body: the subject, the headers and the attributes of the CloudEvent. */
const MAX_ENVELOPE_BYTES = 16_384;

/**
 * The largest body in bytes that a message carries on a broker that takes payloads of `maxPayload` bytes. Base64 makes
 * 4 bytes of 3.
 */
export const inlineLimit = (maxPayload: number): number =>
  Math.max(0, Math.min(MAX_INLINE_BYTES, Math.floor(((maxPayload - MAX_ENVELOPE_BYTES) * 3) / 4)));

/**
 * The message that an event of a relayed type becomes. A body of more than `maxBodyBytes` is replaced by its URL.
 * @throws if the event has another form than its type demands
 */
export const outgoingMessage = (event: Recorded, publicUrl: string, maxBodyBytes: number): OutgoingMessage => {
  const { type, message: messageOf } = runnerMessages[event.type]!;
  const message = messageOf(event, publicUrl);
  return {
    id: event.event_id,
    token: tokenOf(event.position),
    subject: inboundSubject(event.tenant, message.agent),
    delivery: message.delivery,
    payload: encodeCloudEvent(event, type, message, maxBodyBytes),
  };
};
