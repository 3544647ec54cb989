import { scanJson } from '../../domain/json-scanner.ts';
import { mediaOf } from '../../domain/webhooks/body-inspection.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { payloadOf } from '../../domain/webhooks/form-payload.ts';

/**
 * The chunks of a large body, each read from the log when it is needed. If the size or the digest of the stored body is
 * wrong, the generator throws instead of yielding the last chunk.
 */
export type BodyChunks = AsyncGenerator<Uint8Array>;

/**
 * A recorded delivery with its body. Only the log contains the bytes of the body, no read model does. `agents` are the
 * ids of the agents whose runners get it: its agent, and those of its redeliveries.
 */
export type StoredDelivery = { readonly facts: DeliveryFacts; readonly body: Uint8Array | BodyChunks; readonly agents: readonly string[] };

/** Reads a recorded delivery from the log; null if there is none. @throws Refusal unavailable */
export type ReadDelivery = (tenant: string, id: string) => Promise<StoredDelivery | null>;

/**
 * Returns the payload of a delivery as JSON text. JSON stays unchanged; any other text becomes one JSON string. For a
 * large body, the result is the text `null`.
 */
export const payloadText = ({ facts, body }: StoredDelivery): string => {
  if (!(body instanceof Uint8Array)) return 'null';
  const payload = mediaOf(facts.content_type) === 'form' ? (payloadOf(body) ?? body) : body;
  const text = new TextDecoder().decode(payload);
  return scanJson(payload) === 'json' ? text : JSON.stringify(text);
};
