import type { SlackConfig } from '../../domain/slack/slack-config.ts';
import type { BodyQuestion, InspectedBody } from '../../domain/webhooks/body-inspection.ts';
import type { Cause } from '../../domain/webhooks/causation.ts';
import type { Coding } from '../../domain/webhooks/content-coding.ts';
import type { ReceivedBody } from '../../domain/webhooks/conventions/received-body.ts';
import type { SignatureScheme, SignedRequest } from '../../domain/webhooks/conventions/signature-scheme.ts';
import type { DeliveryEvent, DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import type { CheckedBody, RuleSubject, RulesResult } from '../../domain/webhooks/guardrail-evaluation.ts';
import type { GuardedSource, Integration } from '../../domain/webhooks/integration.ts';
import type { Rejection } from '../../domain/webhooks/rejection.ts';
import type { RuleSet } from '../../domain/webhooks/rule-set.ts';
import type { SigningKeys, Verification } from '../../domain/webhooks/signature.ts';
import type { RateLimit } from '../../domain/webhooks/sliding-window.ts';

/** Called with the values of the response headers RateLimit-Policy (`policy`) and RateLimit (`state`). */
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
  /**
   * If true, `isReplay` could not find out whether the body is a replay, and must be called again before the delivery
   * is recorded.
   */
  readonly isReplayUnchecked?: true;
  /**
   * Present if the rules could not be loaded, and the provider does not send the delivery again: they must be applied
   * before the delivery is recorded. The value is the result of inspecting the body.
   */
  readonly unevaluated?: 'json' | 'form';
};

/**
 * `token` is the consistency token of the recorded event; null if the delivery was recorded before. If `isSpooled` is
 * set, the delivery is safely stored outside of the log, and its event is recorded when the log can be reached.
 */
export type RecordedDelivery = { readonly token: string | null; readonly isSpooled?: true };

export type BodyOwner = { readonly tenant: string; readonly integration: string };

/** Memory for one large body, shared between threads. It is taken chunk by chunk, as the bytes of the body arrive. */
export type BodyMemory = {
  /**
   * Returns memory for the next CHUNK_BYTES. It may still contain bytes of another body. Waits while other bodies use
   * all the memory that this body may have.
   * @throws Refusal unavailable (at once if too many bodies wait), too_slow
   */
  readonly nextChunk: () => Promise<Uint8Array>;
  /** Counts bytes that have arrived. A body that arrives too slowly is given up. */
  readonly countBytes: (count: number) => void;
  /** Rejects with a Refusal when the body is given up; never resolves. */
  readonly failed: Promise<never>;
  /** Must be called when all bytes have arrived. From then on, the body is not given up. */
  readonly complete: () => void;
  /** Returns the memory, which may then be used for another body and must not be touched any more. */
  readonly release: () => void;
};

/** Checks whether a delivery may be accepted. A function returns a promise only if what it needs is not in memory. */
export type EligibilityPort = {
  /**
   * Returns the integration; null if it is not connected, or if its tenant does not accept deliveries.
   * @throws Refusal unavailable
   */
  readonly integration: (id: string) => Integration | null | Promise<Integration | null>;
  /** Returns whether the agent exists and is active. @throws Refusal unavailable */
  readonly isAgentActive: (tenant: string, agent_id: string) => boolean | Promise<boolean>;
  /**
   * Counts one delivery against the tenant's quota per minute. Returns a promise only if the plan must be loaded, or if
   * the counts of other processes are needed.
   * @throws Refusal rate_limited, unavailable
   */
  readonly enforceQuota: (tenant: string, reportRateLimit: ReportRateLimit) => void | Promise<void>;
};

/** The maximum size of a body, and the function that throws the refusal of a larger one. */
export type SizeLimit = { readonly maxBytes: number; readonly refuse: (size: number) => Promise<unknown> };

/**
 * Verifies the signatures of deliveries and inspects their bodies. For large bodies, another thread does this; the
 * functions then return a promise.
 */
export type VerificationPort = {
  /** Returns the secrets of the integration that are valid at the time `at`. @throws Refusal unavailable, not_found */
  readonly signingKeys: (integration: Integration, at: string) => SigningKeys | Promise<SigningKeys>;
  /** Verifies the signature of a request. `keys` is null for an unknown integration. @throws Refusal unavailable */
  readonly verify: (scheme: SignatureScheme, request: SignedRequest, keys: SigningKeys | null) => Verification | Promise<Verification>;
  /** Computes the digest of a body, checks whether it is JSON, and reads fields. @throws Refusal unavailable */
  readonly inspectBody: (question: BodyQuestion, body: ReceivedBody) => InspectedBody | Promise<InspectedBody>;
  /**
   * Returns the bytes of a body without its codings, which are given in the order in which they were applied. The limit
   * applies to what each coding is removed from; the reader must check the size of the result. The stream ends with a
   * Refusal (malformed) if the body is not packed so.
   */
  readonly unpackedBody: (codings: readonly Coding[], body: ReceivedBody, limit: SizeLimit) => ReadableStream<Uint8Array>;
  /** Returns memory for a large body of at most `maxBytes`. The caller must release it. */
  readonly bodyMemory: (owner: BodyOwner, maxBytes: number) => BodyMemory;
};

export type RecordingPort = {
  /** Returns the id of a delivery. The same integration and provider delivery id always give the same id. */
  readonly deliveryId: (integration: Integration, provider_delivery_id: string) => string;
  /**
   * Returns whether this process remembers that the log contains the delivery. If false, the log may contain it
   * nevertheless.
   */
  readonly isKnown: (integration: Integration, id: string) => boolean;
  /**
   * Returns whether the integration has received the same body with another delivery id. Records the body if it is new.
   * Returns null if this cannot be found out now; `record` can then store the delivery until it can be.
   * @throws Refusal unavailable
   */
  readonly isReplay: (integration: NewDelivery['integration'], facts: DeliveryFacts) => Promise<boolean | null>;
  /**
   * Records the delivery exactly once, even if several processes do so at the same time. If the log cannot be reached,
   * the delivery is stored safely outside of the log, if this is possible.
   * @throws Refusal unavailable
   */
  readonly record: (delivery: NewDelivery) => Promise<RecordedDelivery>;
  /** Starts to compare a redelivery with the recorded delivery. Returns at once, so that the response does not wait. */
  readonly compareRedelivery: (delivery: NewDelivery) => void;
  /** Called when a provider's handshake gets its response. No event is recorded. */
  readonly answerHandshake: (integration: Integration) => void;
  /** Records a rejection in the background. Returns at once, so that the response does not wait. */
  readonly recordRejection: (integration: Integration, rejection: Omit<Rejection, 'delivery_id'>, at: string) => void;
};

/**
 * A received body to which rules are applied. `needsChecks` is whether the built-in checks of the content must still be
 * made.
 */
export type ReceivedContent = Omit<CheckedBody, 'bytes'> & { readonly body: ReceivedBody; readonly needsChecks: boolean };

/** Applies guardrail rules. A function returns a promise only if what it needs is not in memory. */
export type GuardrailPort = {
  /** Returns the rules for the deliveries of an integration. @throws Refusal unavailable */
  readonly ruleSet: (source: GuardedSource) => RuleSet | Promise<RuleSet>;
  /**
   * Evaluates those rules that do not count deliveries. Rules that read the body, and built-in checks that must still
   * be made, run in another thread with a limit of processor time.
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
   * Counts one delivery at the time `at` against all of these limits. If one of them is reached, it is counted against
   * none. All processes share the counts while the database can be reached.
   * @returns the index of the first limit that is reached; null if the delivery was counted
   */
  readonly takeRates: (tenant: string, limits: readonly RateLimit[], at: string) => number | null | Promise<number | null>;
  /** Returns when a limit that `takeRates` has just found reached allows one more delivery at the earliest. */
  readonly roomAt: (tenant: string, limit: RateLimit, at: string) => string;
  /**
   * Of these deliveries of the tenant, returns the one with the longest chain of causes before it, as a cause. Null if
   * none of them exists.
   * @throws Refusal unavailable
   */
  readonly deepestCause: (tenant: string, delivery_ids: readonly string[]) => Promise<Cause | null>;
  /** Returns whether deliveries of this source are held, according to the read model; false while it cannot be read. */
  readonly hasHeld: (tenant: string, integration_id: string) => Promise<boolean>;
  /** Returns the Slack settings that apply to an agent. @throws Refusal unavailable */
  readonly slackConfig: (tenant: string, agent_id: string) => SlackConfig | Promise<SlackConfig>;
};

/** Everything that is needed to receive webhook deliveries. `now` returns RFC 3339 UTC with milliseconds. */
export type WebhookPorts = {
  readonly eligibility: EligibilityPort;
  readonly verification: VerificationPort;
  readonly recording: RecordingPort;
  readonly guardrails: GuardrailPort;
  readonly now: () => string;
};
