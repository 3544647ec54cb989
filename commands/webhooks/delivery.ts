import { scanJson } from '../../domain/json-scanner.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { payloadOf } from '../../domain/webhooks/form-payload.ts';
import { mediaOf } from '../../domain/webhooks/provider.ts';

/** The bytes of a large body part by part, as they are taken; fails before the last one where they are not what was delivered. */
export type BodyParts = AsyncGenerator<Uint8Array>;

/** A delivery as it was recorded. Its bytes are in the log, and in no view. */
export type StoredDelivery = { readonly facts: DeliveryFacts; readonly body: Uint8Array | BodyParts };

/** Reads what was recorded of a delivery; null where nothing was. @throws Refusal unavailable */
export type ReadDelivery = (tenant: string, id: string) => Promise<StoredDelivery | null>;

/** The payload as JSON text: the delivered one byte for byte where it is JSON, else what it says as one JSON string; null for a large body. */
export const payloadText = ({ facts, body }: StoredDelivery): string => {
  if (!(body instanceof Uint8Array)) return 'null';
  const payload = mediaOf(facts.content_type) === 'form' ? (payloadOf(body) ?? body) : body;
  const text = new TextDecoder().decode(payload);
  return scanJson(payload) === 'json' ? text : JSON.stringify(text);
};
