import { isSameDigest, NO_DIGEST } from '../digest.ts';
import { type Recorded, tokenOf } from '../event.ts';
import { Refusal } from '../refusal.ts';

export const category = 'skillwebhook';
export const platform = true;

/** A webhook is hidden by a user, or because its agent can no longer use the skill. */
export type HiddenReason = 'requested' | 'skill_deleted' | 'skill_revoked';

/** `digest` of the token. */
type Exposure = { tenant_id: string; agent_id: string; digest: string };

export type SkillWebhookEvent =
  | { type: 'SkillWebhookExposed'; data: Exposure }
  | { type: 'SkillWebhookTokenRotated'; data: { digest: string } }
  | { type: 'SkillWebhookHidden'; data: { reason: HiddenReason } };

/**
 * A skill has at most one, with the same id. Calls go to `agent_id`. `exposed_through`: position of the event that last exposed the skill,
 * as a consistency token.
 */
export type SkillWebhook = Exposure & {
  status: 'absent' | 'exposed' | 'hidden';
  id: string;
  exposed_through: string;
  created_at: string;
  updated_at: string;
};

export const initial: SkillWebhook = {
  status: 'absent',
  id: '',
  tenant_id: '',
  agent_id: '',
  digest: NO_DIGEST,
  exposed_through: '',
  created_at: '',
  updated_at: '',
};

export const evolve = (webhook: SkillWebhook, event: Recorded<SkillWebhookEvent>): SkillWebhook => {
  const { id, at: updated_at } = event;
  switch (event.type) {
    case 'SkillWebhookExposed': {
      const created_at = webhook.status === 'exposed' ? webhook.created_at : updated_at;
      return { ...event.data, status: 'exposed', id, exposed_through: tokenOf(event.position), created_at, updated_at };
    }
    case 'SkillWebhookTokenRotated':
      return { ...webhook, ...event.data, updated_at };
    case 'SkillWebhookHidden':
      return { ...webhook, status: 'hidden', digest: NO_DIGEST, updated_at };
  }
};

/** Below the public URL of the platform. */
export const webhookPath = (id: string): string => `/hooks/skills/${id}`;

/** @throws Refusal not_found if it is not exposed or belongs to another tenant */
export const assertExposed = (webhook: SkillWebhook, tenant_id: string): void => {
  if (webhook.status !== 'exposed' || webhook.tenant_id !== tenant_id)
    throw new Refusal('not_found', 'The skill has no webhook: it is not exposed');
};

/**
 * Calls go to an agent, also if the skill was exposed for another. `exposure.digest`, of a new token, counts only if the skill is not
 * exposed yet; otherwise it keeps its token.
 */
export const expose =
  (exposure: Exposure) =>
  (webhook: SkillWebhook): SkillWebhookEvent[] => {
    if (webhook.status !== 'exposed') return [{ type: 'SkillWebhookExposed', data: exposure }];
    if (webhook.agent_id === exposure.agent_id) return [];
    return [{ type: 'SkillWebhookExposed', data: { ...exposure, digest: webhook.digest } }];
  };

/** Calls with the previous token are refused at once. @throws Refusal not_found if the webhook is not exposed */
export const rotateToken =
  (tenant_id: string, digest: string) =>
  (webhook: SkillWebhook): SkillWebhookEvent[] => {
    assertExposed(webhook, tenant_id);
    return [{ type: 'SkillWebhookTokenRotated', data: { digest } }];
  };

/** All calls of the webhook are refused then. @throws Refusal not_found if the webhook is not exposed */
export const hide =
  (tenant_id: string) =>
  (webhook: SkillWebhook): SkillWebhookEvent[] => {
    assertExposed(webhook, tenant_id);
    return [{ type: 'SkillWebhookHidden', data: { reason: 'requested' } }];
  };

/** Only if the event at this position still is the one that exposed the skill. */
export const hideExposure =
  (exposed_through: string, reason: HiddenReason) =>
  (webhook: SkillWebhook): SkillWebhookEvent[] =>
    webhook.status === 'exposed' && webhook.exposed_through === exposed_through ? [{ type: 'SkillWebhookHidden', data: { reason } }] : [];

/** Takes the same time for every webhook. If it does not exist, no token matches. */
export const matchesToken = ({ digest }: SkillWebhook, claimed: string): boolean => isSameDigest(digest, claimed);
