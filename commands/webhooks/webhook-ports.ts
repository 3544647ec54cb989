import type { DeliveryEvent, DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import type { Integration } from '../../domain/webhooks/integration.ts';
import type { InspectedBody, Media } from '../../domain/webhooks/provider.ts';
import type { Rejection } from '../../domain/webhooks/rejection.ts';
import type { SignatureScheme, SignedRequest, SigningKeys, Verification } from '../../domain/webhooks/signature.ts';

/** Receives the values of the response headers RateLimit-Policy and RateLimit. */
export type ReportRateLimit = (headers: { readonly policy: string; readonly state: string }) => void;

/** A verified delivery with the verdict of the guardrails, ready to be recorded. */
export type NewDelivery = {
  readonly integration: Integration;
  readonly id: string;
  readonly type: Extract<DeliveryEvent['type'], 'WebhookAccepted' | 'WebhookBlocked'>;
  readonly body: Uint8Array;
  readonly facts: DeliveryFacts;
  readonly ip: string | null;
  readonly user_agent: string | null;
};

/** `token`: the consistency token of the recorded event; null if the delivery was recorded before. */
export type RecordedDelivery = { readonly token: string | null };

/** Shared memory for one body. It may contain old bytes. After `release` it may belong to another body. */
export type BodyBuffer = { readonly bytes: Uint8Array; readonly release: () => void };

/** Answers whether a delivery may be accepted. A method returns a promise only if memory cannot answer. */
export type EligibilityPort = {
  /** The integration if it is connected and its tenant accepts deliveries, else null. @throws Refusal unavailable */
  readonly integration: (id: string) => Integration | null | Promise<Integration | null>;
  /** Whether the agent exists and is active. @throws Refusal unavailable */
  readonly isAgentActive: (tenant: string, agent_id: string) => boolean | Promise<boolean>;
  /**
   * Takes one delivery from the tenant's quota per minute. Also returns a promise if it has to wait for the counts of
   * other processes.
   * @throws Refusal rate_limited, unavailable
   */
  readonly enforceQuota: (tenant: string, reportRateLimit: ReportRateLimit) => void | Promise<void>;
};

/** Verifies and inspects bodies. Large bodies are processed in another thread, and only those cause a promise. */
export type VerificationPort = {
  /** The secrets that are valid at `at`. @throws Refusal unavailable, not_found */
  readonly signingKeys: (integration: Integration, at: string) => SigningKeys | Promise<SigningKeys>;
  /** `keys` is null for an unknown integration. @throws Refusal unavailable */
  readonly verify: (scheme: SignatureScheme, request: SignedRequest, keys: SigningKeys | null) => Verification | Promise<Verification>;
  /** Computes the digest and checks the JSON. @throws Refusal unavailable */
  readonly inspectBody: (media: Media, body: Uint8Array) => InspectedBody | Promise<InspectedBody>;
  /** Reserves memory for a large body. @throws Refusal unavailable if all of it is in use */
  readonly allocateBody: (bytes: number) => BodyBuffer;
};

/** Records deliveries and rejections. */
export type RecordingPort = {
  /** The same integration and provider delivery id always give the same id. */
  readonly deliveryId: (integration: Integration, provider_delivery_id: string) => string;
  /** Whether this process remembers that the log holds the delivery. False proves nothing. */
  readonly isKnown: (integration: Integration, id: string) => boolean;
  /**
   * Remembers the body, and returns whether it arrived before under another delivery id.
   * @throws Refusal unavailable
   */
  readonly isReplay: (integration: Integration, facts: DeliveryFacts) => Promise<boolean>;
  /**
   * Records the delivery exactly once, even if several processes record it at the same time.
   * @throws Refusal unavailable
   */
  readonly record: (delivery: NewDelivery) => Promise<RecordedDelivery>;
  /** Compares a redelivery with the recorded delivery after the response. */
  readonly compareRedelivery: (delivery: NewDelivery) => void;
  /** Records a rejection after the response. */
  readonly recordRejection: (integration: Integration, rejection: Omit<Rejection, 'delivery_id'>, at: string) => void;
};

/** The drivers of the inbound path. `now`: RFC 3339 UTC with milliseconds. */
export type WebhookPorts = {
  readonly eligibility: EligibilityPort;
  readonly verification: VerificationPort;
  readonly recording: RecordingPort;
  readonly now: () => string;
};
