import { scanJson } from '../../domain/json-scanner.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { payloadOf } from '../../domain/webhooks/form-payload.ts';
import { mediaOf } from '../../domain/webhooks/provider.ts';

/** The chunks of a large body, read on demand. Throws before the last chunk if the bytes are not the delivered ones. */
export type BodyChunks = AsyncGenerator<Uint8Array>;

/** A delivery as it was recorded. Its bytes are in the log, and in no read model. */
export type StoredDelivery = { readonly facts: DeliveryFacts; readonly body: Uint8Array | BodyChunks };

/** Reads a recorded delivery; null if there is none. @throws Refusal unavailable */
export type ReadDelivery = (tenant: string, id: string) => Promise<StoredDelivery | null>;

/** The payload as JSON text: delivered JSON unchanged, any other text as one string, `null` for a large body. */
export const payloadText = ({ facts, body }: StoredDelivery): string => {
  if (!(body instanceof Uint8Array)) return 'null';
  const payload = mediaOf(facts.content_type) === 'form' ? (payloadOf(body) ?? body) : body;
  const text = new TextDecoder().decode(payload);
  return scanJson(payload) === 'json' ? text : JSON.stringify(text);
};
