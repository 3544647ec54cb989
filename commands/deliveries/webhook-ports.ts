import type { BodyQuestion, InspectedBody } from '../../domain/bodies/body-inspection.ts';
import type { Coding } from '../../domain/bodies/content-coding.ts';
import type { ReceivedBody } from '../../domain/bodies/received-body.ts';
import type { Cause } from '../../domain/deliveries/causation.ts';
import type { DeliveryEvent, DeliveryFacts } from '../../domain/deliveries/delivery.ts';
import type { Rejection } from '../../domain/deliveries/rejection.ts';
import type { CheckedBody, RuleSubject, RulesResult } from '../../domain/guardrails/guardrail-evaluation.ts';
import type { RuleSet } from '../../domain/guardrails/rule-set.ts';
import type { RateLimit } from '../../domain/guardrails/sliding-window.ts';
import type { SignatureScheme, SignedRequest } from '../../domain/integrations/conventions/signature-scheme.ts';
import type { GuardedSource, Integration } from '../../domain/integrations/integration.ts';
import type { SigningKeys, Verification } from '../../domain/integrations/signature.ts';
import type { SlackConfig } from '../../domain/slack/slack-config.ts';

/** Gets the values of the response headers RateLimit-Policy (`policy`) and RateLimit (`state`). */
export type ReportRateLimit = (headers: { readonly policy: string; readonly state: string }) => void;

/** A delivery with a valid signature and the results of the guardrails, ready to be recorded. */
export type NewDelivery = {
  readonly integration: Pick<Integration, 'id' | 'tenant_id'>;
  readonly id: string;
  readonly type: Exclude<
    Extract<DeliveryEvent, { data: Uint8Array }>['type'],
    'CronJobTriggered' | 'BenchmarkRunTriggered' | 'MailReceived' | 'MailBlocked' | 'MailHeld'
  >;
  readonly body: ReceivedBody;
  readonly facts: DeliveryFacts;
  readonly ip: string | null;
  readonly user_agent: string | null;
  /** `isReplay` could not decide, and must be called again before the delivery is recorded. */
  readonly isReplayUnchecked?: true;
  /**
   * The rules could not be loaded, and the provider does not send the delivery again: apply them before it is recorded. The value is the
   * result of inspecting the body.
   */
  readonly unevaluated?: 'json' | 'form';
};

/**
 * `token`: of the recorded event; null if recorded before. `isSpooled`: safely stored outside of the log; its event is recorded when the
 * log can be reached.
 */
export type RecordedDelivery = { readonly token: string | null; readonly isSpooled?: true };

export type BodyOwner = { readonly tenant: string; readonly integration: string };

/** The memory for one large body, shared between threads and taken chunk by chunk, as the bytes arrive. */
export type BodyMemory = {
  /**
   * Returns memory for the next CHUNK_BYTES, which may contain bytes of another body. Waits while other bodies use all that this one may
   * have.
   * @throws Refusal unavailable (at once if too many bodies wait), too_slow
   */
  readonly nextChunk: () => Promise<Uint8Array>;
  /** Reports bytes that have arrived. A body that arrives too slowly is refused. */
  readonly countBytes: (count: number) => void;
  /** Rejects with a Refusal when the body is refused; never resolves. */
  readonly failed: Promise<never>;
  /** Call when all bytes have arrived; the body is then no longer refused. */
  readonly complete: () => void;
  /** The memory may then be used for another body and must not be touched any more. */
  readonly release: () => void;
};

/** Whether a delivery may be accepted. A promise only if something is not in memory. */
export type EligibilityPort = {
  /** Null if it is not connected, or if its tenant does not accept deliveries. @throws Refusal unavailable */
  readonly integration: (id: string) => Integration | null | Promise<Integration | null>;
  /** False if the agent does not exist. @throws Refusal unavailable */
  readonly isAgentActive: (tenant: string, agent_id: string) => boolean | Promise<boolean>;
  /**
   * Counts one delivery per minute. A promise only if the plan, or counts of other processes, must be loaded. @throws Refusal
   * rate_limited, unavailable
   */
  readonly enforceQuota: (tenant: string, reportRateLimit: ReportRateLimit) => void | Promise<void>;
};

/** `refuse` throws the refusal of a larger body. */
export type SizeLimit = { readonly maxBytes: number; readonly refuse: (size: number) => Promise<unknown> };

/** Large bodies are handled in another thread; the functions then return a promise. */
export type VerificationPort = {
  /** Returns the keys that are valid at the time `at`. @throws Refusal unavailable, not_found */
  readonly signingKeys: (integration: Integration, at: string) => SigningKeys | Promise<SigningKeys>;
  /** `keys` is null for an unknown integration. @throws Refusal unavailable */
  readonly verify: (scheme: SignatureScheme, request: SignedRequest, keys: SigningKeys | null) => Verification | Promise<Verification>;
  /** Digest, fields, and whether the body is JSON. @throws Refusal unavailable */
  readonly inspectBody: (question: BodyQuestion, body: ReceivedBody) => InspectedBody | Promise<InspectedBody>;
  /**
   * `codings` in the order in which they were applied. The limit applies to the input of each decoding; the reader must check the size of
   * the result. The stream ends with a Refusal (malformed) if the body is not encoded in this way.
   */
  readonly unpackedBody: (codings: readonly Coding[], body: ReceivedBody, limit: SizeLimit) => ReadableStream<Uint8Array>;
  /** Returns memory for at most `maxBytes`. The caller must release it. */
  readonly bodyMemory: (owner: BodyOwner, maxBytes: number) => BodyMemory;
};

export type RecordingPort = {
  /** Always the same for an integration and provider delivery id. */
  readonly deliveryId: (integration: Integration, provider_delivery_id: string) => string;
  /** This process remembers that the log contains the delivery. If false, the log may contain it nevertheless. */
  readonly isKnown: (integration: Integration, id: string) => boolean;
  /**
   * Whether the body came before with another delivery id. Records a new body. Null if unknown now; `record` can then store the delivery
   * until it is known. @throws Refusal unavailable
   */
  readonly isReplay: (integration: NewDelivery['integration'], facts: DeliveryFacts) => Promise<boolean | null>;
  /**
   * Records exactly once, even by several processes at the same time. If the log cannot be reached, stores the delivery outside of it, if
   * possible.
   * @throws Refusal unavailable
   */
  readonly record: (delivery: NewDelivery) => Promise<RecordedDelivery>;
  /** Compares with the recorded delivery. Returns at once, so that the response does not wait. */
  readonly compareRedelivery: (delivery: NewDelivery) => void;
  /** Called after a provider's handshake. No event is recorded. */
  readonly answerHandshake: (integration: Integration) => void;
  /** Records in the background: returns at once, so that the response does not wait. */
  readonly recordRejection: (integration: Integration, rejection: Omit<Rejection, 'delivery_id'>, at: string) => void;
};

/** `needsChecks`: the built-in checks of the content must still be made. */
export type ReceivedContent = Omit<CheckedBody, 'bytes'> & { readonly body: ReceivedBody; readonly needsChecks: boolean };

/** A promise only if something is not in memory. */
export type GuardrailPort = {
  /** @throws Refusal unavailable */
  readonly ruleSet: (source: GuardedSource) => RuleSet | Promise<RuleSet>;
  /**
   * Evaluates rules that do not count deliveries. What reads the body, and built-in checks that are still needed, run in another thread
   * with a limit of processor time.
   * @returns null if the limit was exceeded, or if too many deliveries wait for the thread
   * @throws Refusal unavailable if the process is stopping
   */
  readonly evaluate: (
    rules: RuleSet,
    owner: BodyOwner,
    subject: RuleSubject,
    content: ReceivedContent,
  ) => RulesResult | null | Promise<RulesResult | null>;
  /**
   * Counts against all limits or, if one is reached, against none. Processes share the counts while the database can be reached.
   * @returns the index of the first limit that is reached; null if the delivery was counted
   */
  readonly takeRates: (tenant: string, limits: readonly RateLimit[], at: string) => number | null | Promise<number | null>;
  /** The earliest time for one more delivery, for a limit that `takeRates` has just found reached. */
  readonly roomAt: (tenant: string, limit: RateLimit, at: string) => string;
  /** Returns the delivery with the longest chain of causes; null if none of these exists. @throws Refusal unavailable */
  readonly deepestCause: (tenant: string, delivery_ids: readonly string[]) => Promise<Cause | null>;
  /** According to the read model; false while it cannot be read. */
  readonly hasHeld: (tenant: string, integration_id: string) => Promise<boolean>;
  /** Returns the Slack settings that apply to the agent. @throws Refusal unavailable */
  readonly slackConfig: (tenant: string, agent_id: string) => SlackConfig | Promise<SlackConfig>;
};

/** `now` returns RFC 3339 UTC with milliseconds. */
export type WebhookPorts = {
  readonly eligibility: EligibilityPort;
  readonly verification: VerificationPort;
  readonly recording: RecordingPort;
  readonly guardrails: GuardrailPort;
  readonly now: () => string;
};
