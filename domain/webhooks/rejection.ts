import type { Recorded } from '../event.ts';
import type { SignatureFault } from './signature.ts';

export const category = 'rejection';

export type RejectionReason =
  | SignatureFault
  | 'unsupported_media_type'
  /** The body is packed in a way that is not supported. */
  | 'unsupported_encoding'
  /** The body is not packed, or not written in the charset, as its headers say. */
  | 'body_malformed'
  | 'delivery_id_missing'
  | 'delivery_id_malformed'
  | 'event_malformed'
  /**
   * The body is larger than the limit. `size_bytes` is the size that the Content-Length announced or, if there was
   * none, the number of bytes received until the call was rejected.
   */
  | 'too_large'
  /**
   * The tenant has used up the delivery quota of its plan. Such rejections are only counted, and have no event each.
   */
  | 'rate_limited';

/** A webhook call that was not accepted. Its body is never stored, because its sender is not verified. */
export type Rejection = {
  /** The id of the rejected call in the list of deliveries. */
  delivery_id: string;
  agent_id: string;
  reason: RejectionReason;
  ip: string | null;
  user_agent: string | null;
  provider_delivery_id: string | null;
  event: string | null;
  size_bytes: number;
  /** The content type, if the rejection depends on it; cut if it is long. */
  content_type?: string;
  /** What is wrong, and what the sender can do; absent if the reason says it all. */
  note?: string;
};

/**
 * Each integration has one stream of these events: `rejection-<tenant>.<integration>`. `caller` is whose rejections
 * were counted: an IP address, `others` for all further IP addresses if there were too many, or `rate_limited` for
 * deliveries beyond the quota of the plan.
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
