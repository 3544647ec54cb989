import type { InspectedBody, Media } from '../../domain/bodies/body-inspection.ts';
import type { Cause } from '../../domain/deliveries/causation.ts';
import type { BlockReason, GuardrailVerdict } from '../../domain/guardrails/guardrail.ts';
import type { GuardedSource } from '../../domain/integrations/integration.ts';
import type { RedactionHit } from '../../domain/redaction/redaction-patterns.ts';
import type { WebhookRequest } from './webhook-request.ts';

/** A delivery that is verified, and not blocked by the checks of its form. `json`: the result of inspecting its body. */
export type GuardedDelivery = {
  readonly integration: GuardedSource;
  readonly request: Pick<WebhookRequest, 'header' | 'body'>;
  readonly receivedAt: string;
  readonly event: string | null;
  readonly media: Media;
  readonly json: Extract<InspectedBody['json'], 'json' | 'form'>;
};

/** `bytes`: the redacted body; null if nothing was redacted. `cause`: the delivery that led to this one. */
export type GuardrailDecision = {
  readonly reason: BlockReason | null;
  readonly verdicts: readonly GuardrailVerdict[];
  readonly bytes: Uint8Array | null;
  readonly redactions: readonly RedactionHit[];
  readonly cause: Cause | null;
  /** Held, not blocked, for `reason`. `until`: the earliest time at which the delivery can continue. */
  readonly held?: { readonly until: string | null };
};

/** The decision while the checks run. */
export type Progress = { -readonly [Name in keyof GuardrailDecision]: GuardrailDecision[Name] } & { verdicts: GuardrailVerdict[] };
