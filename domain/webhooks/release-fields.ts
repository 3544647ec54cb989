import type { RedactionHit } from '../redaction/redaction-patterns.ts';
import type { GuardrailVerdict } from './guardrail.ts';
import type { MailOrigin } from './mail-origin.ts';

/** A redacted body, which is stored as one chunk (see delivery-body.ts). */
export type ReleasedBody = { readonly sha256: string; readonly size_bytes: number };

/** The result of the checks at a release. */
export type ReleaseChecks = {
  /** The verdicts that the delivery did not have before. */
  readonly guardrails: readonly GuardrailVerdict[];
  /** The number of replaced parts for each tag, including those that were replaced when the delivery arrived. */
  readonly redactions?: readonly RedactionHit[];
  /** The body that is sent; absent if it is the recorded one. */
  readonly body?: ReleasedBody;
  /** The origin of the mail; present only if the delivery is mail. */
  readonly mail?: MailOrigin;
};

/** `reason` is the reason that the person gave; null if the platform has released the delivery. */
export type ReleasedFields = ReleaseChecks & { readonly agent_id: string; readonly reason: string | null };
