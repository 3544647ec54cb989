import type { Recorded } from '../event.ts';
import type { SignatureFault } from '../integrations/signature.ts';

export const category = 'rejection';

export type RejectionReason =
  | SignatureFault
  | 'unsupported_media_type'
  /** The body has a content coding that is not supported. */
  | 'unsupported_encoding'
  /** The body does not have the content coding or the charset that its headers state. */
  | 'body_malformed'
  | 'delivery_id_missing'
  | 'delivery_id_malformed'
  | 'event_malformed'
  /** `size_bytes`: as announced in Content-Length or, without it, the bytes received until the call was rejected. */
  | 'too_large'
  /** The plan's delivery quota is used up. Only counted, without an event each. */
  | 'rate_limited';

/** The body is never stored, because its sender is not verified. */
export type Rejection = {
  /** Identifies the rejected call in the list of deliveries. */
  delivery_id: string;
  agent_id: string;
  reason: RejectionReason;
  ip: string | null;
  user_agent: string | null;
  provider_delivery_id: string | null;
  event: string | null;
  size_bytes: number;
  /** If the rejection depends on it; cut if it is long. */
  content_type?: string;
  /** What is wrong, and what the sender can do; absent if the reason says it all. */
  note?: string;
};

/**
 * One stream per integration: `rejection-<tenant>.<integration>`. `caller`: an IP address, `others` for all further ones if there were too
 * many, or `rate_limited` for deliveries beyond the plan's quota.
 */
export type RejectionEvent =
  | { type: 'WebhookRejected'; data: Rejection }
  | { type: 'WebhookRejectionsCounted'; data: { caller: string; count: number; first: string; last: string } };

export type Rejections = { recorded: number; counted: number };

export const initial: Rejections = { recorded: 0, counted: 0 };

export const evolve = (rejections: Rejections, event: Recorded<RejectionEvent>): Rejections => {
  switch (event.type) {
    case 'WebhookRejected':
      return { ...rejections, recorded: rejections.recorded + 1 };
    case 'WebhookRejectionsCounted':
      return { ...rejections, counted: rejections.counted + event.data.count };
  }
};
