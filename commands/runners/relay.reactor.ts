import { type Recorded, tokenOf } from '../../domain/event.ts';
import { encodeCloudEvent, inboundSubject, MAX_INLINE_BYTES, runnerMessages } from '../../domain/runners/cloud-event.ts';
import type { DeliveryEvent } from '../../domain/webhooks/delivery.ts';

/**
 * A message to publish to the broker. `id` is the id of the event, and `token` its log position as a consistency token.
 * `delivery` is the id of the delivery; null if the message belongs to none. `session` is present only for an event of a
 * session, `occurrence` only for a message of a cron job, and `traceparent` only if the request had a trace context.
 */
export type OutgoingMessage = {
  readonly id: string;
  readonly token: string;
  readonly subject: string;
  readonly delivery: string | null;
  readonly session?: string;
  readonly occurrence?: string;
  readonly traceparent?: string;
  readonly payload: Uint8Array;
};

export const REQUEUED = 'DeliveryRequeued' satisfies DeliveryEvent['type'];

export const RELEASED = 'DeliveryReleased' satisfies DeliveryEvent['type'];

export const relayedEventTypes: readonly string[] = [...Object.keys(runnerMessages), REQUEUED, RELEASED];

/**
 * The number of bytes in a message that are reserved for everything except the body: the subject, the headers and the
 * attributes of the CloudEvent.
 */
const MAX_ENVELOPE_BYTES = 16_384;

/**
 * Returns the maximum size, in bytes, of a body in a message if the broker allows payloads of `maxPayload` bytes.
 * Base64 turns 3 bytes into 4, hence the factor 3/4.
 */
export const inlineLimit = (maxPayload: number): number =>
  Math.max(0, Math.min(MAX_INLINE_BYTES, Math.floor(((maxPayload - MAX_ENVELOPE_BYTES) * 3) / 4)));

/**
 * The payload in bytes that the broker must allow: what people do in sessions is never replaced by a URL. It has a text,
 * the names of files and a title, and the envelope.
 */
export const MIN_MAX_PAYLOAD = 98_304;

/** Returns whether an event of a relayed type is sent to a runner. */
export const isForRunner = (event: Recorded): boolean => runnerMessages[event.type]?.isSent?.(event) ?? true;

/**
 * Returns the message for an event of a relayed type. For a requeued delivery, pass the result of `messageSource`; for a
 * released one, that of `releasedEvent`. A body of more than `maxBodyBytes` is replaced by its URL, except that of an
 * event of a session. The id and the position of the message are those of `carrier`, the event for which the relay
 * publishes it.
 * @throws Error if the event does not have the form that its type requires
 */
export const outgoingMessage = (event: Recorded, publicUrl: string, maxBodyBytes: number, carrier: Recorded = event): OutgoingMessage => {
  const { type, message: messageOf } = runnerMessages[event.type]!;
  const message = messageOf(event, publicUrl);
  const { traceparent } = message.attributes;
  return {
    id: carrier.event_id,
    token: tokenOf(carrier.position),
    subject: inboundSubject(event.tenant, message.agent),
    delivery: message.delivery,
    ...(message.session !== undefined && { session: message.session }),
    ...(message.occurrence !== undefined && { occurrence: message.occurrence }),
    ...(traceparent !== undefined && { traceparent }),
    payload: encodeCloudEvent(event, type, message, message.session === undefined ? maxBodyBytes : Number.POSITIVE_INFINITY),
  };
};
