import type { GuardrailVerdict } from '../guardrails/guardrail.ts';
import type { RedactionHit } from '../redaction/redaction-patterns.ts';
import type { MailOrigin } from './mail-origin.ts';

/** The redacted body, stored as one chunk (see delivery-body.ts). */
export type ReleasedBody = { readonly sha256: string; readonly size_bytes: number };

export type ReleaseChecks = {
  /** The verdicts that the delivery did not have before. */
  readonly guardrails: readonly GuardrailVerdict[];
  /** How many parts of the body were replaced, for each tag, including those that were replaced when the delivery arrived. */
  readonly redactions?: readonly RedactionHit[];
  /** Absent if the recorded body is sent. */
  readonly body?: ReleasedBody;
  /** Only for mail. */
  readonly mail?: MailOrigin;
};

/** `reason` that the person gave; null if the platform has released the delivery. */
export type ReleasedFields = ReleaseChecks & { readonly agent_id: string; readonly reason: string | null };
