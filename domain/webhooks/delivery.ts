import type { Recorded } from '../event.ts';
import type { GuardrailResult } from './guardrail.ts';
import type { MatchedSecret } from './signature.ts';

export const category = 'delivery';

/** Everything about a webhook delivery except its body. It is stored as `facts` in the metadata of the event. */
export type DeliveryFacts = GuardrailResult & {
  integration_id: string;
  agent_id: string;
  provider: string;
  provider_delivery_id: string;
  event: string | null;
  content_type: string;
  /** SHA-256 of the received body, in hex. */
  sha256: string;
  size_bytes: number;
  /**
   * Set only for a large body: the number of chunks in which it is stored (see delivery-body.ts). The event itself then
   * has empty data.
   */
  parts?: number;
  matched_secret: MatchedSecret | null;
  received_at: string;
};

/**
 * The data of WebhookAccepted and WebhookBlocked are the bytes of the body: as received, or after redaction. They are
 * empty if the body is stored in chunks.
 */
export type DeliveryEvent =
  | { type: 'WebhookAccepted'; data: Uint8Array }
  | { type: 'WebhookBlocked'; data: Uint8Array }
  | { type: 'WebhookRedeliveryDiffered'; data: { sha256: string; size_bytes: number } };

export type Delivery = { status: 'absent' | 'accepted' | 'blocked'; facts: DeliveryFacts | null; differed: boolean };

export const initial: Delivery = { status: 'absent', facts: null, differed: false };

export const factsOf = (event: Recorded): DeliveryFacts => event.meta.facts as unknown as DeliveryFacts;

export const evolve = (delivery: Delivery, event: Recorded<DeliveryEvent>): Delivery => {
  switch (event.type) {
    case 'WebhookAccepted':
      return { ...delivery, status: 'accepted', facts: factsOf(event) };
    case 'WebhookBlocked':
      return { ...delivery, status: 'blocked', facts: factsOf(event) };
    case 'WebhookRedeliveryDiffered':
      return { ...delivery, differed: true };
  }
};
