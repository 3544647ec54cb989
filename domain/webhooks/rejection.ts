import type { Recorded } from '../event.ts';
import type { SignatureFault } from './signature.ts';

export const category = 'rejection';

export type RejectionReason =
  | SignatureFault
  | 'unsupported_media_type'
  | 'delivery_id_missing'
  | 'delivery_id_malformed'
  /** Of more bytes than a delivery may have: `size_bytes` are those announced, or come so far. */
  | 'too_large'
  /** Beyond the tenant's plan: never recorded one by one. */
  | 'rate_limited';

/** A post that was not taken. Its body is never kept: whoever sent it is nobody we know. */
export type Rejection = {
  /** The id under which it stands among the deliveries. */
  delivery_id: string;
  agent_id: string;
  reason: RejectionReason;
  ip: string | null;
  user_agent: string | null;
  provider_delivery_id: string | null;
  event: string | null;
  size_bytes: number;
};

/**
 * The stream is the integration's: `rejection-<tenant>.<integration>`. `caller` is an address; `others` where there were too many;
 * `rate_limited`: whoever was beyond the plan.
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
