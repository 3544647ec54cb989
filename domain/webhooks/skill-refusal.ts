import type { Recorded } from '../event.ts';

/** Each skill that has had a webhook has one stream of these events: `skillrefusal-<tenant>.<skill>`. */
export const category = 'skillrefusal';

/**
 * Why a call of a skill was refused. All reasons up to `tenant_suspended` have the same response, which tells the
 * caller none of them. The others follow a valid token.
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

/** An event lists one call, or several of a minute that had many. `agent_id` is the agent of the webhook. */
export type SkillRefusalEvent = { type: 'SkillWebhookRefused'; data: { agent_id: string; calls: readonly RefusedCall[] } };

export type SkillRefusals = { refused: number };

export const initial: SkillRefusals = { refused: 0 };

export const evolve = ({ refused }: SkillRefusals, { data }: Recorded<SkillRefusalEvent>): SkillRefusals => ({
  refused: refused + data.calls.length,
});
