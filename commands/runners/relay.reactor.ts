import type { DeliveryEvent } from '../../domain/deliveries/delivery.ts';
import { type Recorded, tokenOf } from '../../domain/event.ts';
import { encodeCloudEvent, inboundSubject, MAX_INLINE_BYTES, runnerMessages } from '../../domain/runners/cloud-event.ts';
import type { SessionEvent } from '../../domain/sessions/session.ts';

/**
 * `id`: of the event; `token`: its position as a consistency token; `delivery`: null if there is none. Only for events of a session:
 * `session` and, if the message is sent again, `repeated`, the event itself; for messages of a cron job: `occurrence`; if the request had
 * a trace context: `traceparent`.
 */
export type OutgoingMessage = {
  readonly id: string;
  readonly token: string;
  readonly subject: string;
  readonly delivery: string | null;
  readonly session?: string;
  readonly repeated?: { readonly id: string; readonly token: string };
  readonly occurrence?: string;
  readonly traceparent?: string;
  readonly payload: Uint8Array;
};

export const REQUEUED = 'DeliveryRequeued' satisfies DeliveryEvent['type'];

export const REPEATED = 'SessionMessageRepeated' satisfies SessionEvent['type'];

export const RELEASED = 'DeliveryReleased' satisfies DeliveryEvent['type'];

export const relayedEventTypes: readonly string[] = [...Object.keys(runnerMessages), REQUEUED, REPEATED, RELEASED];

/** Reserved for all but the body: subject, headers, attributes of the CloudEvent. */
const MAX_ENVELOPE_BYTES = 16_384;

/** The maximum size of a body, if the broker allows payloads of `maxPayload` bytes. Base64 turns 3 bytes into 4. */
export const inlineLimit = (maxPayload: number): number =>
  Math.max(0, Math.min(MAX_INLINE_BYTES, Math.floor(((maxPayload - MAX_ENVELOPE_BYTES) * 3) / 4)));

/** The minimum `max_payload` in bytes: a person's event of a session (a text, file names, a title) is never replaced by a URL. */
export const MIN_MAX_PAYLOAD = 98_304;

/** The caller must pass an event of a relayed type. */
export const isForRunner = (event: Recorded): boolean => runnerMessages[event.type]?.isSent?.(event) ?? true;

/**
 * For a requeued delivery, pass `messageSource`; for a released one, `releasedEvent`. A larger body becomes a URL, except in events of a
 * session. Id and position are those of `carrier`, the event for which the relay publishes.
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
    ...(message.session !== undefined && carrier !== event && { repeated: { id: event.event_id, token: tokenOf(event.position) } }),
    ...(message.occurrence !== undefined && { occurrence: message.occurrence }),
    ...(traceparent !== undefined && { traceparent }),
    payload: encodeCloudEvent(event, type, message, message.session === undefined ? maxBodyBytes : Number.POSITIVE_INFINITY),
  };
};
