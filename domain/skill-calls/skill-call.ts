import type { DeliveryFacts } from '../deliveries/delivery.ts';

/** 1 MiB. */
export const MAX_CALL_BYTES = 1_048_576;

export const SKILL_PROVIDER = 'skill';

/**
 * A call of a skill webhook with a valid token: recorded, sent, acknowledged and sent again like a provider's delivery. `integration_id`
 * is the id of the webhook and of the skill; `provider_delivery_id` the call's Idempotency-Key or, without one, the delivery id.
 */
export type SkillCallFacts = DeliveryFacts & { provider: typeof SKILL_PROVIDER; skill_id: string };
