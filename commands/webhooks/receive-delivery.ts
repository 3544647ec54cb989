import { Refusal } from '../../domain/refusal.ts';
import type { DeliveryEvent, DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { chunkCount, MAX_BODY_BYTES } from '../../domain/webhooks/delivery-body.ts';
import { evaluateGuardrails, type GuardrailResult } from '../../domain/webhooks/guardrail.ts';
import type { Integration } from '../../domain/webhooks/integration.ts';
import {
  type Contents,
  eventName,
  isDeliveryId,
  type Media,
  mediaOf,
  type ProviderHeaders,
  presetOf,
} from '../../domain/webhooks/provider.ts';
import type { Rejection, RejectionReason } from '../../domain/webhooks/rejection.ts';
import type { MatchedSecret, SignatureScheme, SignedRequest, SigningKeys, Verification } from '../../domain/webhooks/signature.ts';

/** A provider's post, its bytes untouched. */
export type WebhookRequest = SignedRequest & { readonly integration_id: string; readonly ip: string | null };

/** A post whose body is not read yet. */
type WebhookRequestHead = Omit<WebhookRequest, 'body'>;

/** What the answer's header fields say of the tenant's limit. */
export type ReportRateLimit = (told: { readonly policy: string; readonly state: string }) => void;

export type NewDelivery = {
  readonly integration: Integration;
  readonly id: string;
  readonly type: Extract<DeliveryEvent['type'], 'WebhookAccepted' | 'WebhookBlocked'>;
  readonly body: Uint8Array;
  readonly facts: DeliveryFacts;
  readonly ip: string | null;
  readonly user_agent: string | null;
};

/** `token`: the place in the log of what was recorded; null where the delivery had been seen. */
export type RecordedDelivery = { readonly token: string | null };

/** Memory for a body, which threads share; what was there before is not cleared. After `leave` it is somebody else's. */
export type BodyBuffer = { readonly bytes: Uint8Array; readonly leave: () => void };

/** What the inbound path stands on; every look-up that memory can answer does so without waiting. */
export type WebhookPorts = {
  /** A connected integration of a tenant that is neither suspended nor closed. */
  readonly integration: (id: string) => Integration | null | Promise<Integration | null>;
  readonly agentActive: (tenant: string, agent_id: string) => boolean | Promise<boolean>;
  readonly keys: (integration: Integration, at: string) => SigningKeys | Promise<SigningKeys>;
  /** Verifies a request; elsewhere than on the event loop where its body is large. @throws Refusal unavailable */
  readonly verify: (scheme: SignatureScheme, request: SignedRequest, keys: SigningKeys | null) => Verification | Promise<Verification>;
  /** What the body is found to be; the same holds. @throws Refusal unavailable */
  readonly contents: (media: Media, body: Uint8Array) => Contents | Promise<Contents>;
  /** Room in memory for a large body. @throws Refusal unavailable where there is none left */
  readonly allocateBody: (bytes: number) => BodyBuffer;
  readonly deliveryId: (integration: Integration, provider_delivery_id: string) => string;
  /** Whether this process remembers that the log holds the delivery. */
  readonly knows: (integration: Integration, id: string) => boolean;
  /**
   * Takes one from what the tenant's plan allows a minute; a promise only where memory does not know that, or another process' count has to
   * be heard. @throws Refusal rate_limited, unavailable
   */
  readonly enforceQuota: (tenant: string, tell: ReportRateLimit) => void | Promise<void>;
  /** Whether the body is known under another delivery id; only asked where the integration refuses replays. @throws Refusal unavailable */
  readonly replayed: (integration: Integration, facts: DeliveryFacts) => Promise<boolean>;
  /** Records the delivery once, whoever else records it at the same time. @throws Refusal unavailable */
  readonly record: (recording: NewDelivery) => Promise<RecordedDelivery>;
  /** Compares a redelivery with what was recorded, after the answer. */
  readonly redelivered: (recording: NewDelivery) => void;
  /** Notes a post that was not taken, after the answer. */
  readonly rejected: (integration: Integration, rejection: Omit<Rejection, 'delivery_id'>, at: string) => void;
  readonly now: () => string;
};

export type DeliveryOutcome = {
  readonly id: string;
  readonly outcome: 'accepted' | 'blocked' | 'duplicate';
  readonly token: string | null;
};

/**
 * Takes a provider's delivery: verified over its bytes, within the tenant's plan, judged, recorded once. Only what is verified counts
 * against the plan. A redelivery that this process remembers does not; one of which it has to ask the log counts like a new one.
 * @throws Refusal not_found, unauthorized, unsupported_media_type, malformed, rate_limited, unavailable
 */
export const receive = async (ports: WebhookPorts, request: WebhookRequest, tell: ReportRateLimit): Promise<DeliveryOutcome> => {
  const integration = await ports.integration(request.integration_id);
  const { scheme, naming } = presetOf(integration?.provider);
  const at = ports.now();
  const verdict = ports.verify(scheme, request, integration && (await ports.keys(integration, at)));
  const { matched, reason } = verdict instanceof Promise ? await verdict : verdict;
  if (!integration) throw unknown();
  const fault = reason ?? faultOf(request, naming);
  if (fault) {
    ports.rejected(integration, rejectionOf(request, request.body.length, naming, integration, fault), at);
    throw refusals[fault]();
  }
  const id = ports.deliveryId(integration, request.header(naming.delivery)!);
  if (!ports.knows(integration, id)) await enforceQuota(ports, request, naming, integration, at, tell);
  return recordOnce(ports, await evaluateDelivery(ports, request, naming, integration, id, matched, at));
};

/**
 * Lets a large body of so many bytes in before it is read: to a hook that there is, while memory has room.
 * @throws Refusal too_large, which is recorded; not_found, unavailable
 */
export const admitLarge = async (ports: WebhookPorts, post: WebhookRequestHead, size: number): Promise<BodyBuffer> => {
  const integration = await ports.integration(post.integration_id);
  if (size > MAX_BODY_BYTES && integration) {
    const { naming } = presetOf(integration.provider);
    // A length that is announced may be any number.
    const announced = Math.min(size, Number.MAX_SAFE_INTEGER);
    ports.rejected(integration, rejectionOf(post, announced, naming, integration, 'too_large'), ports.now());
  }
  if (size > MAX_BODY_BYTES) throw refusals.too_large();
  if (!integration) throw unknown();
  return ports.allocateBody(size);
};

/** Lets a new delivery in where the tenant's plan does; one that it does not is counted, and else leaves nothing. */
const enforceQuota = async (
  ports: WebhookPorts,
  request: WebhookRequest,
  naming: ProviderHeaders,
  integration: Integration,
  at: string,
  tell: ReportRateLimit,
): Promise<void> => {
  try {
    await ports.enforceQuota(integration.tenant_id, tell);
  } catch (error) {
    const isBeyond = error instanceof Refusal && error.code === 'rate_limited';
    if (isBeyond) ports.rejected(integration, rejectionOf(request, request.body.length, naming, integration, 'rate_limited'), at);
    throw error;
  }
};

const recordOnce = async (ports: WebhookPorts, recording: NewDelivery): Promise<DeliveryOutcome> => {
  const { id } = recording;
  const { token } = await ports.record(recording);
  if (token !== null) return { id, outcome: recording.type === 'WebhookAccepted' ? 'accepted' : 'blocked', token };
  ports.redelivered(recording);
  return { id, outcome: 'duplicate', token };
};

const evaluateDelivery = async (
  ports: WebhookPorts,
  request: WebhookRequest,
  naming: ProviderHeaders,
  integration: Integration,
  id: string,
  matched_secret: MatchedSecret | null,
  received_at: string,
): Promise<NewDelivery> => {
  const { header, body, ip } = request;
  const content_type = header('content-type')!;
  const event = eventName(header(naming.event));
  const found = ports.contents(mediaOf(content_type) as Media, body);
  const { sha256, json } = found instanceof Promise ? await found : found;
  const agentActive = await ports.agentActive(integration.tenant_id, integration.agent_id);
  const provider_delivery_id = header(naming.delivery)!;
  const facts: DeliveryFacts = {
    integration_id: integration.id,
    agent_id: integration.agent_id,
    provider: integration.provider,
    provider_delivery_id,
    event,
    content_type,
    sha256,
    size_bytes: body.length,
    ...chunkCount(body.length),
    matched_secret,
    received_at,
    ...evaluateGuardrails({ integration, agentActive, event, json }),
  };
  const judged =
    integration.replay_guard === 'block' && (await ports.replayed(integration, facts)) ? { ...facts, ...blockedAsReplay(facts) } : facts;
  return {
    integration,
    id,
    type: judged.reason ? 'WebhookBlocked' : 'WebhookAccepted',
    body,
    facts: judged,
    ip,
    user_agent: agentOf(header),
  };
};

type RejectionCause = Exclude<RejectionReason, 'rate_limited'>;

const blockedAsReplay = ({ reason, guardrails }: GuardrailResult): GuardrailResult => ({
  reason: reason ?? 'replay',
  guardrails: [...guardrails, { rule: 'replay', verdict: 'block', note: 'the same body came under another delivery id' }],
});

/** What is wrong with a post whose signature is right. */
const faultOf = ({ header }: WebhookRequestHead, naming: ProviderHeaders): RejectionCause | null => {
  if (!mediaOf(header('content-type') ?? '')) return 'unsupported_media_type';
  const id = header(naming.delivery);
  if (!id) return 'delivery_id_missing';
  return isDeliveryId(id) ? null : 'delivery_id_malformed';
};

const rejectionOf = (
  { header, ip }: WebhookRequestHead,
  size_bytes: number,
  naming: ProviderHeaders,
  { agent_id }: Integration,
  reason: RejectionReason,
): Omit<Rejection, 'delivery_id'> => {
  const id = header(naming.delivery) ?? '';
  return {
    agent_id,
    reason,
    ip,
    user_agent: agentOf(header),
    provider_delivery_id: isDeliveryId(id) ? id : null,
    event: eventName(header(naming.event)),
    size_bytes,
  };
};

const agentOf = (header: WebhookRequest['header']): string | null => header('user-agent')?.slice(0, 512) ?? null;

const unknown = () => new Refusal('not_found', 'there is no such hook');
const unsigned = () => new Refusal('unauthorized', 'the signature does not fit the body');

const refusals: Readonly<Record<RejectionCause, () => Refusal>> = {
  signature_missing: () => new Refusal('unauthorized', 'the signature is missing'),
  signature_malformed: unsigned,
  signature_mismatch: unsigned,
  unsupported_media_type: () =>
    new Refusal('unsupported_media_type', 'a delivery is application/json or application/x-www-form-urlencoded'),
  delivery_id_missing: () => new Refusal('malformed', 'the delivery id is missing'),
  delivery_id_malformed: () => new Refusal('malformed', 'a delivery id is at most 255 bytes and has no control characters'),
  too_large: () => new Refusal('too_large', `the body may have at most ${MAX_BODY_BYTES} bytes`, { members: { limit: MAX_BODY_BYTES } }),
};
