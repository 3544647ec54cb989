import type { DeliveryFacts } from '../domain/delivery.ts';
import { payloadOf } from '../domain/form.ts';
import { scanJson } from '../domain/json.ts';
import { mediaOf } from '../domain/webhook.ts';

/** A delivery as it was recorded. Its bytes are in the log, and in no view. */
export type StoredDelivery = { readonly facts: DeliveryFacts; readonly body: Uint8Array };

/** Reads what was recorded of a delivery; null where nothing was. @throws Refusal unavailable */
export type ReadDelivery = (tenant: string, id: string) => Promise<StoredDelivery | null>;

/** The payload as JSON text: the delivered one byte for byte where it is JSON, else what it says as one JSON string. */
export const payloadText = ({ facts, body }: StoredDelivery): string => {
  const payload = mediaOf(facts.content_type) === 'form' ? (payloadOf(body) ?? body) : body;
  const text = new TextDecoder().decode(payload);
  return scanJson(payload) === 'json' ? text : JSON.stringify(text);
};
