import type { Recorded } from '../event.ts';

/**
 * The refused calls of a skill webhook. Each skill that has had a webhook has one stream:
 * `skillrefusal-<tenant>.<skill>`.
 */
export const category = 'skillrefusal';

/**
 * Why a call of a skill was refused. The response is the same for all reasons up to `tenant_suspended`, so that callers
 * do not learn the reason. The reasons after it occur only with a valid token.
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
 * `SkillWebhookRefused`: one refused call or, if there were many in a minute, several. `SkillWebhookRefusalsCounted`: the
 * number of further calls of one IP address; of many if `ip` is null. `agent_id` is the agent that gets the calls of the
 * webhook.
 */
export type SkillRefusalEvent =
  | { type: 'SkillWebhookRefused'; data: { agent_id: string; calls: readonly RefusedCall[] } }
  | {
      type: 'SkillWebhookRefusalsCounted';
      data: { id: string; agent_id: string; ip: string | null; count: number; first: string; last: string };
    };

export type SkillRefusals = { refused: number };

export const initial: SkillRefusals = { refused: 0 };

export const evolve = ({ refused }: SkillRefusals, event: Recorded<SkillRefusalEvent>): SkillRefusals => {
  switch (event.type) {
    case 'SkillWebhookRefused':
      return { refused: refused + event.data.calls.length };
    case 'SkillWebhookRefusalsCounted':
      return { refused: refused + event.data.count };
  }
};
