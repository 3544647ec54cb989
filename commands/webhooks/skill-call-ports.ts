import type { RefusalReason, RefusedCall } from '../../domain/webhooks/skill-refusal.ts';
import type { SkillWebhook } from '../../domain/webhooks/skill-webhook.ts';
import type { WebhookPorts } from './webhook-ports.ts';

/**
 * What a call of a webhook meets. `webhook` is `initial` if there is no webhook with the id. `fault` says why no call
 * of it can be accepted, whatever its token; null if a call with a valid token can.
 */
export type SkillTarget = {
  readonly webhook: SkillWebhook;
  readonly fault: Extract<RefusalReason, 'hidden' | `skill_${string}` | 'tenant_suspended'> | null;
};

/** What is needed to receive calls of skills, besides what deliveries of providers need. */
export type SkillCallPorts = {
  readonly deliveries: WebhookPorts;
  /** Returns what a call meets. A promise only if something is not in memory. @throws Refusal unavailable */
  readonly target: (webhook_id: string) => SkillTarget | Promise<SkillTarget>;
  /** HMAC-SHA-256 of a token with the platform's pepper, as hex. */
  readonly digest: (token: string) => string;
  /** Returns the id of a new call: one that follows from its Idempotency-Key, or a random one. */
  readonly callId: (webhook: SkillWebhook, idempotency_key: string | undefined) => string;
  /**
   * Returns the digest of the body of a recorded call, and whether the call was blocked. @throws Refusal unavailable
   */
  readonly recorded: (webhook: SkillWebhook, id: string) => Promise<{ readonly sha256: string; readonly isBlocked: boolean }>;
  /** Records a refused call in the background. Returns at once: the response does not wait for it. */
  readonly recordRefusal: (webhook: SkillWebhook, refused: Omit<RefusedCall, 'id'>) => void;
  /**
   * Starts a clock for the response to a call. The returned function waits until a fixed time after the start, so that
   * the time of a refusal does not depend on why it is one.
   */
  readonly startPause: () => () => Promise<void>;
};
