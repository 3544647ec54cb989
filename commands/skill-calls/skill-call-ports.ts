import type { RefusalReason, RefusedCall } from '../../domain/skill-calls/skill-refusal.ts';
import type { SkillWebhook } from '../../domain/skill-calls/skill-webhook.ts';
import type { WebhookPorts } from '../deliveries/webhook-ports.ts';

/** `webhook` is `initial` if none has the id. `fault`: why no call is accepted, even with a valid token. */
export type SkillTarget = {
  readonly webhook: SkillWebhook;
  readonly fault: Extract<RefusalReason, 'hidden' | `skill_${string}` | 'tenant_suspended'> | null;
};

/** The ports for skill calls, in addition to those for the deliveries of providers. */
export type SkillCallPorts = {
  readonly deliveries: WebhookPorts;
  /** A promise only if something is not in memory. @throws Refusal unavailable */
  readonly target: (webhook_id: string) => SkillTarget | Promise<SkillTarget>;
  /** HMAC-SHA-256 in hex, with the platform's pepper. */
  readonly digest: (token: string) => string;
  /** Derived from its Idempotency-Key, or random if it has none. */
  readonly callId: (webhook: SkillWebhook, idempotency_key: string | undefined) => string;
  /** `sha256`: of the body. @throws Refusal unavailable */
  readonly recorded: (webhook: SkillWebhook, id: string) => Promise<{ readonly sha256: string; readonly isBlocked: boolean }>;
  /** Records in the background: returns at once, so that the response does not wait. */
  readonly recordRefusal: (webhook: SkillWebhook, refused: Omit<RefusedCall, 'id'>) => void;
  /** The returned function waits until a fixed time after the start, so that the time that a refusal takes does not reveal its reason. */
  readonly startPause: () => () => Promise<void>;
};
