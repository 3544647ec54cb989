import type { DeliveryFacts } from './delivery.ts';

/** The maximum size of the body of a call of a skill webhook: 1 MiB. */
export const MAX_CALL_BYTES = 1_048_576;

export const SKILL_PROVIDER = 'skill';

/**
 * The facts of a call of a skill webhook with a valid token. Such a call is a delivery: it is recorded, sent to a
 * runner, acknowledged and sent again like a delivery of a provider. `integration_id` is the id of the webhook, which
 * is also the id of the skill. `provider_delivery_id` is the Idempotency-Key of the call or, if it has none, the id of
 * the delivery.
 */
export type SkillCallFacts = DeliveryFacts & { provider: typeof SKILL_PROVIDER; skill_id: string };
