import type { Recorded } from '../event.ts';

/** Each skill that has had a webhook has one stream of these events: `skillrefusal-<tenant>.<skill>`. */
export const category = 'skillrefusal';

/**
 * Why a call of a skill was refused. The reasons up to `tenant_suspended` all have the same response, so that the
 * caller does not learn the reason. The other reasons occur only with a valid token.
 */
export const REFUSAL_REASONS = [
  'token_missing',
  'token_invalid',
  'hidden',
  'skill_deleted',
  'skill_revoked',
  'skill_disabled',
  'tenant_suspended',
  'malformed',
  'unsupported_media_type',
  'too_large',
  'invalid',
  'rate_limited',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** A refused call. Its body is never stored. */
export type RefusedCall = { id: string; at: string; ip: string | null; user_agent: string | null; reason: RefusalReason };

/**
 * An event has one refused call or, if there were many in a minute, several. `agent_id` is the agent of the webhook.
 */
export type SkillRefusalEvent = { type: 'SkillWebhookRefused'; data: { agent_id: string; calls: readonly RefusedCall[] } };

export type SkillRefusals = { refused: number };

export const initial: SkillRefusals = { refused: 0 };

export const evolve = ({ refused }: SkillRefusals, { data }: Recorded<SkillRefusalEvent>): SkillRefusals => ({
  refused: refused + data.calls.length,
});
