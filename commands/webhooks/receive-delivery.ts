import { Refusal } from '../../domain/refusal.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { MAX_BODY_BYTES, partsField } from '../../domain/webhooks/delivery-body.ts';
import { evaluateGuardrails, type GuardrailResult } from '../../domain/webhooks/guardrail.ts';
import { eventName, type Media, mediaOf, presetOf } from '../../domain/webhooks/provider.ts';
import { refusalOf, rejectionCauseOf, rejectionOf } from './delivery-rejection.ts';
import type { BodyMemory, NewDelivery, ReportRateLimit, WebhookPorts } from './webhook-ports.ts';
import { userAgentOf, type VerifiedRequest, type WebhookRequest, type WebhookRequestHead } from './webhook-request.ts';

/**
 * What happened to a received delivery. `token` is the consistency token of the recorded event; null for a duplicate.
 */
export type DeliveryOutcome = {
  readonly id: string;
  readonly outcome: 'accepted' | 'blocked' | 'duplicate';
  readonly token: string | null;
};

const unknownAddress = () => new Refusal('not_found', 'There is no such webhook address');

/**
 * Receives a delivery from a provider: verifies its signature, counts it against the quota of the plan, applies the
 * guardrails and records it exactly once. Only deliveries with a valid signature count against the quota. A redelivery
 * does not count if this process still remembers the first delivery. If it does not, the redelivery counts like a new
 * delivery.
 * @throws Refusal not_found, unauthorized, unsupported_media_type, malformed, rate_limited, unavailable
 */
export const receive = async (ports: WebhookPorts, request: WebhookRequest, reportRateLimit: ReportRateLimit): Promise<DeliveryOutcome> => {
  const { eligibility, verification, recording } = ports;
  const integration = await eligibility.integration(request.integration_id);
  const { scheme, headers } = presetOf(integration?.provider);
  const receivedAt = ports.now();
  const keys = integration && (await verification.signingKeys(integration, receivedAt));
  const verifying = verification.verify(scheme, request, keys);
  const { matched, reason } = verifying instanceof Promise ? await verifying : verifying;
  if (!integration) throw unknownAddress();
  const cause = reason ?? rejectionCauseOf(request, headers);
  if (cause) {
    recording.recordRejection(integration, rejectionOf({ request, integration, headers }, cause, request.body.length), receivedAt);
    throw refusalOf(cause);
  }
  const id = recording.deliveryId(integration, request.header(headers.delivery)!);
  const verified: VerifiedRequest = { request, integration, headers, id, receivedAt, matchedSecret: matched };
  if (!recording.isKnown(integration, id)) await enforceQuota(ports, verified, reportRateLimit);
  return recordOnce(ports, await evaluateDelivery(ports, verified));
};

/**
 * Called before a large body of `size` bytes is read: checks the size and that the integration exists, and returns the
 * memory for the body. Records a rejection if the size is above the limit.
 * @throws Refusal too_large, not_found, unavailable
 */
export const admitLarge = async (ports: WebhookPorts, request: WebhookRequestHead, size: number): Promise<BodyMemory> => {
  const integration = await ports.eligibility.integration(request.integration_id);
  if (size > MAX_BODY_BYTES) {
    if (integration) {
      const { headers } = presetOf(integration.provider);
      // Limit the recorded size, because Content-Length can announce any number.
      const announced = Math.min(size, Number.MAX_SAFE_INTEGER);
      const rejection = rejectionOf({ request, integration, headers }, 'too_large', announced);
      ports.recording.recordRejection(integration, rejection, ports.now());
    }
    throw refusalOf('too_large');
  }
  if (!integration) throw unknownAddress();
  return ports.verification.bodyMemory({ tenant: integration.tenant_id, integration: integration.id }, size);
};

/**
 * Counts a delivery against the quota of the plan. If the quota is used up, counts the delivery as a rejection instead.
 * @throws Refusal rate_limited, unavailable
 */
const enforceQuota = async (ports: WebhookPorts, verified: VerifiedRequest, reportRateLimit: ReportRateLimit): Promise<void> => {
  const { integration, request, receivedAt } = verified;
  try {
    await ports.eligibility.enforceQuota(integration.tenant_id, reportRateLimit);
  } catch (error) {
    const isBeyondQuota = error instanceof Refusal && error.code === 'rate_limited';
    if (isBeyondQuota) ports.recording.recordRejection(integration, rejectionOf(verified, 'rate_limited', request.body.length), receivedAt);
    throw error;
  }
};

const recordOnce = async ({ recording }: WebhookPorts, delivery: NewDelivery): Promise<DeliveryOutcome> => {
  const { id, type } = delivery;
  const { token } = await recording.record(delivery);
  if (token !== null) return { id, outcome: type === 'WebhookAccepted' ? 'accepted' : 'blocked', token };
  recording.compareRedelivery(delivery);
  return { id, outcome: 'duplicate', token };
};

const evaluateDelivery = async (ports: WebhookPorts, verified: VerifiedRequest): Promise<NewDelivery> => {
  const { request, integration, headers, id, receivedAt, matchedSecret } = verified;
  const { header, body, ip } = request;
  const content_type = header('content-type')!;
  const event = eventName(header(headers.event));
  const inspecting = ports.verification.inspectBody(mediaOf(content_type) as Media, body);
  const { sha256, json } = inspecting instanceof Promise ? await inspecting : inspecting;
  const isAgentActive = await ports.eligibility.isAgentActive(integration.tenant_id, integration.agent_id);
  const facts: DeliveryFacts = {
    integration_id: integration.id,
    agent_id: integration.agent_id,
    provider: integration.provider,
    provider_delivery_id: header(headers.delivery)!,
    event,
    content_type,
    sha256,
    size_bytes: body.length,
    ...partsField(body.length),
    matched_secret: matchedSecret,
    received_at: receivedAt,
    ...evaluateGuardrails({ integration, isAgentActive, event, json }),
  };
  const isReplay = integration.replay_guard === 'block' && (await ports.recording.isReplay(integration, facts));
  const checked = isReplay ? { ...facts, ...blockedAsReplay(facts) } : facts;
  return {
    integration,
    id,
    type: checked.reason ? 'WebhookBlocked' : 'WebhookAccepted',
    body,
    facts: checked,
    ip,
    user_agent: userAgentOf(request),
  };
};

const blockedAsReplay = ({ reason, guardrails }: GuardrailResult): GuardrailResult => ({
  reason: reason ?? 'replay',
  guardrails: [...guardrails, { rule: 'replay', verdict: 'block', note: 'the same body came under another delivery id' }],
});
