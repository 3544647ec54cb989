import { type InspectedBody, mediaOf } from '../../domain/bodies/body-inspection.ts';
import { partsField } from '../../domain/bodies/delivery-body.ts';
import { traceField } from '../../domain/deliveries/trace-context.ts';
import { evaluateGuardrails, type GuardrailResult } from '../../domain/guardrails/guardrail.ts';
import { eventName } from '../../domain/integrations/delivery-identity.ts';
import { identityLabels } from '../../domain/integrations/identity-labels.ts';
import type { Integration } from '../../domain/integrations/integration.ts';
import type { Provider } from '../../domain/integrations/provider.ts';
import { presetOf } from '../../domain/integrations/provider-preset.ts';
import { triesAgain } from '../../domain/integrations/retry-schedule.ts';
import { isUnavailable } from '../../domain/refusal.ts';
import { applyGuardrails } from './apply-guardrails.ts';
import type { GuardrailDecision } from './guarded-delivery.ts';
import type { NewDelivery, WebhookPorts } from './webhook-ports.ts';
import { userAgentOf, type VerifiedRequest } from './webhook-request.ts';

const deliveryOf = (verified: VerifiedRequest, { sha256 }: InspectedBody, result: GuardrailResult): NewDelivery => {
  const { request, integration, identity, id, receivedAt, matchedSecret } = verified;
  const { body, ip } = request;
  return {
    integration,
    id,
    type: result.reason ? 'WebhookBlocked' : 'WebhookAccepted',
    body,
    facts: {
      integration_id: integration.id,
      agent_id: integration.agent_id,
      provider: integration.provider,
      provider_delivery_id: identity.delivery!,
      event: eventName(identity.event),
      content_type: request.header('content-type')!,
      sha256,
      size_bytes: body.length,
      ...partsField(body.length),
      matched_secret: matchedSecret,
      received_at: receivedAt,
      ...traceField(request.header('traceparent')),
      ...result,
    },
    ip,
    user_agent: userAgentOf(request),
  };
};

const REPLAY_VERDICT = { rule: 'replay', verdict: 'block', note: 'the same body came under another delivery id' } as const;

export const blockAsReplay = <D extends Pick<NewDelivery, 'facts' | 'type'>>(delivery: D): D => {
  const { held, ...facts } = delivery.facts;
  const { reason, guardrails } = facts;
  return {
    ...delivery,
    type: 'WebhookBlocked',
    facts: { ...facts, reason: held ? 'replay' : (reason ?? 'replay'), guardrails: [...guardrails, REPLAY_VERDICT] },
  };
};

/** Whether the log remembers bodies: the integration blocks replays, or the provider repeats the same bytes under an id that it does not sign. */
const remembersBodies = (integration: Integration): boolean =>
  integration.replay_guard === 'block' || presetOf(integration).bodyTimestamp !== undefined;

/**
 * Blocks a body that was received with another delivery id, if the integration blocks body replays or if it is late: anyone who has seen
 * the first attempt can send it under a new id.
 * @throws Refusal unavailable
 */
const checkReplay = async (
  { recording }: WebhookPorts,
  { integration, isLate }: VerifiedRequest,
  delivery: NewDelivery,
): Promise<NewDelivery> => {
  const isReplay = await recording.isReplay(integration, delivery.facts);
  if (integration.replay_guard !== 'block' && !isLate) return delivery;
  if (isReplay === null) return { ...delivery, isReplayUnchecked: true };
  return isReplay ? blockAsReplay(delivery) : delivery;
};

/** The types of events if guardrails block the delivery. */
const BLOCKED_TYPES: Readonly<Record<NewDelivery['type'], NewDelivery['type']>> = {
  WebhookAccepted: 'WebhookBlocked',
  WebhookBlocked: 'WebhookBlocked',
  WebhookHeld: 'WebhookBlocked',
  SkillWebhookCalled: 'SkillWebhookBlocked',
  SkillWebhookBlocked: 'SkillWebhookBlocked',
  SkillWebhookHeld: 'SkillWebhookBlocked',
};

/** The types of events if guardrails hold the delivery. */
const HELD_TYPES: Readonly<Record<NewDelivery['type'], NewDelivery['type']>> = {
  WebhookAccepted: 'WebhookHeld',
  WebhookBlocked: 'WebhookBlocked',
  WebhookHeld: 'WebhookHeld',
  SkillWebhookCalled: 'SkillWebhookHeld',
  SkillWebhookBlocked: 'SkillWebhookBlocked',
  SkillWebhookHeld: 'SkillWebhookHeld',
};

const decidedType = (type: NewDelivery['type'], { reason, held }: GuardrailDecision): NewDelivery['type'] => {
  if (!reason) return type;
  return (held ? HELD_TYPES : BLOCKED_TYPES)[type];
};

export const withDecision = (delivery: NewDelivery, decision: GuardrailDecision): NewDelivery => {
  const { reason, verdicts, bytes, redactions, cause, held } = decision;
  if (!reason && verdicts.length === 0 && !bytes && redactions.length === 0 && !cause) return delivery;
  const { facts } = delivery;
  return {
    ...delivery,
    type: decidedType(delivery.type, decision),
    body: bytes ?? delivery.body,
    facts: {
      ...facts,
      reason,
      guardrails: verdicts.length > 0 ? [...facts.guardrails, ...verdicts] : facts.guardrails,
      ...(redactions.length > 0 ? { redactions } : {}),
      ...(cause ? { cause } : {}),
      ...(held ? { held } : {}),
    },
  };
};

/**
 * Accepts, blocks or holds a delivery, and redacts it. Does not check a recorded delivery again: a redelivery changes nothing.
 * @throws Refusal unavailable
 */
export const evaluateDelivery = async (ports: WebhookPorts, verified: VerifiedRequest, inspected: InspectedBody): Promise<NewDelivery> => {
  const { request, integration, identity, id, receivedAt } = verified;
  const { json } = inspected;
  const event = eventName(identity.event);
  const checking = ports.eligibility.isAgentActive(integration.tenant_id, integration.agent_id);
  const isAgentActive = checking instanceof Promise ? await checking : checking;
  const checked = evaluateGuardrails({ integration, isAgentActive, event, json, fault: inspected.fault });
  const labels = identityLabels(integration, inspected);
  const result = labels.length === 0 ? checked : { ...checked, guardrails: [...checked.guardrails, ...labels] };
  const created = deliveryOf(verified, inspected, result);
  const delivery = remembersBodies(integration) ? await checkReplay(ports, verified, created) : created;
  if (delivery.facts.reason || (json !== 'json' && json !== 'form') || ports.recording.isKnown(integration, id)) return delivery;
  const media = mediaOf(request.header('content-type')!)!;
  const deciding = applyGuardrails(ports.guardrails, { integration, request, receivedAt, event, media, json });
  if (!(deciding instanceof Promise)) return withDecision(delivery, deciding);
  return deciding.then(
    (decision) => withDecision(delivery, decision),
    (error) => postpone(delivery, json, error),
  );
};

/**
 * Lets the rules be applied later, because they cannot be loaded now. @throws the error if the provider sends the delivery again, or if it
 * is another error
 */
const postpone = (delivery: NewDelivery, unevaluated: 'json' | 'form', error: unknown): NewDelivery => {
  if (!isUnavailable(error) || triesAgain(delivery.facts.provider as Provider)) throw error;
  return { ...delivery, unevaluated };
};

/**
 * Evaluates a delivery that was stored without applying its rules. If its integration is gone, the tenant's rules apply.
 * @throws Refusal unavailable
 */
export const evaluateLate = async (
  ports: Pick<WebhookPorts, 'eligibility' | 'guardrails'>,
  delivery: NewDelivery,
): Promise<NewDelivery> => {
  const { unevaluated: json, ...rest } = delivery;
  if (json === undefined) return rest;
  const { facts, body, integration } = rest;
  const { content_type, event, received_at: receivedAt, agent_id, provider } = facts;
  const found = await ports.eligibility.integration(integration.id);
  const source = found ?? { ...integration, agent_id, provider, guardrails: [] };
  const request = { body, header: () => undefined };
  const guarded = { integration: source, request, receivedAt, event, media: mediaOf(content_type)!, json };
  return withDecision(rest, await applyGuardrails(ports.guardrails, guarded));
};
