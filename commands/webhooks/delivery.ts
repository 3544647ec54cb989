import { scanJson } from '../../domain/json-scanner.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { payloadOf } from '../../domain/webhooks/form-payload.ts';
import { mediaOf } from '../../domain/webhooks/provider.ts';

/**
 * The chunks of a large body, read when they are needed. Throws before the last chunk if the stored bytes are not those
 * that were delivered.
 */
export type BodyChunks = AsyncGenerator<Uint8Array>;

/** A delivery as it was recorded. The bytes of its body are only in the log, not in a read model. */
export type StoredDelivery = { readonly facts: DeliveryFacts; readonly body: Uint8Array | BodyChunks };

/** Reads a recorded delivery from the log; null if there is none. @throws Refusal unavailable */
export type ReadDelivery = (tenant: string, id: string) => Promise<StoredDelivery | null>;

/**
 * Returns the payload of a delivery as JSON text. JSON stays unchanged, any other text becomes one JSON string. For a
 * large body, returns `null`.
 */
export const payloadText = ({ facts, body }: StoredDelivery): string => {
  if (!(body instanceof Uint8Array)) return 'null';
  const payload = mediaOf(facts.content_type) === 'form' ? (payloadOf(body) ?? body) : body;
  const text = new TextDecoder().decode(payload);
  return scanJson(payload) === 'json' ? text : JSON.stringify(text);
};
