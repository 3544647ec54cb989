import type { Recorded } from '../event.ts';
import type { SignatureFault } from './signature.ts';

export const category = 'rejection';

export type RejectionReason =
  | SignatureFault
  | 'unsupported_media_type'
  | 'delivery_id_missing'
  | 'delivery_id_malformed'
  /** The body exceeds the limit; `size_bytes` is the announced size, or what was received until then. */
  | 'too_large'
  /** Beyond the quota of the tenant's plan. Only counted, never recorded one by one. */
  | 'rate_limited';

/** A request that was not accepted. Its body is never stored, because its sender is not verified. */
export type Rejection = {
  /** Its id in the list of deliveries. */
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
 * Stored in one stream per integration: `rejection-<tenant>.<integration>`. `caller` is a client address, `others` if
 * there were too many addresses, or `rate_limited` for deliveries beyond the plan's quota.
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
