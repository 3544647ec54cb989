import type { RefusalReason, RefusedCall } from '../../domain/webhooks/skill-refusal.ts';
import type { SkillWebhook } from '../../domain/webhooks/skill-webhook.ts';
import type { WebhookPorts } from './webhook-ports.ts';

/**
 * The called webhook with its state. `webhook` is `initial` if no webhook has the id. `fault` is the reason why no call
 * is accepted, even with a valid token; null if calls are accepted.
 */
export type SkillTarget = {
  readonly webhook: SkillWebhook;
  readonly fault: Extract<RefusalReason, 'hidden' | `skill_${string}` | 'tenant_suspended'> | null;
};

/** What is needed to receive calls of skill webhooks, in addition to what is needed for the deliveries of providers. */
export type SkillCallPorts = {
  readonly deliveries: WebhookPorts;
  /**
   * Returns the webhook that is called, and its state. Returns a promise only if something is not in memory.
   * @throws Refusal unavailable
   */
  readonly target: (webhook_id: string) => SkillTarget | Promise<SkillTarget>;
  /** Returns the HMAC-SHA-256 of a token in hex; the HMAC key is the platform's pepper. */
  readonly digest: (token: string) => string;
  /** Returns the id of a new call: derived from its Idempotency-Key, or random if it has none. */
  readonly callId: (webhook: SkillWebhook, idempotency_key: string | undefined) => string;
  /**
   * Returns the digest of the body of a recorded call, and whether the call was blocked.
   * @throws Refusal unavailable
   */
  readonly recorded: (webhook: SkillWebhook, id: string) => Promise<{ readonly sha256: string; readonly isBlocked: boolean }>;
  /** Records a refused call in the background. Returns at once, so that the response does not wait. */
  readonly recordRefusal: (webhook: SkillWebhook, refused: Omit<RefusedCall, 'id'>) => void;
  /**
   * Starts a timer. The returned function waits until a fixed time after this start, so that the time that a refusal
   * takes does not reveal its reason.
   */
  readonly startPause: () => () => Promise<void>;
};
