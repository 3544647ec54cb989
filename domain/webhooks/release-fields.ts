import type { RedactionHit } from '../redaction/redaction-patterns.ts';
import type { GuardrailVerdict } from './guardrail.ts';
import type { MailOrigin } from './mail-origin.ts';

/** A redacted body, which is stored as one chunk (see delivery-body.ts). */
export type ReleasedBody = { readonly sha256: string; readonly size_bytes: number };

/** What the checks that are made at a release have decided. */
export type ReleaseChecks = {
  /** The verdicts that the delivery did not have before. */
  readonly guardrails: readonly GuardrailVerdict[];
  /** The number of replaced parts for each tag, also of those that were replaced at the receipt. */
  readonly redactions?: readonly RedactionHit[];
  /** The body that is sent; absent if it is the recorded one. */
  readonly body?: ReleasedBody;
  /** The origin of the mail; present only if the delivery is mail. */
  readonly mail?: MailOrigin;
};

/** The fields of a release. `reason` is what the person gave as the reason; null if the platform has released it. */
export type ReleasedFields = ReleaseChecks & { readonly agent_id: string; readonly reason: string | null };
