import type { Recorded } from '../event.ts';

/** The refused calls of a skill webhook: stream `skillrefusal-<tenant>.<skill>`. */
export const category = 'skillrefusal';

/** Up to `tenant_suspended`, the response is the same, so that callers do not learn the reason. Those after it occur only with a valid token. */
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

/** The body is never stored. */
export type RefusedCall = { id: string; at: string; ip: string | null; user_agent: string | null; reason: RefusalReason };

/**
 * `SkillWebhookRefused`: one refused call, or several if there are many in a minute. `SkillWebhookRefusalsCounted`: further calls of one IP
 * address; of many if `ip` is null. `agent_id` gets the webhook's calls.
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
