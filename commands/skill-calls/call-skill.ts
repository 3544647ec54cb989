import { type InspectedBody, mediaOf } from '../../domain/bodies/body-inspection.ts';
import { partsField, receivedBody } from '../../domain/bodies/delivery-body.ts';
import { chunksOf, type ReceivedBody } from '../../domain/bodies/received-body.ts';
import { withoutByteOrderMark } from '../../domain/byte-order-mark.ts';
import { traceField } from '../../domain/deliveries/trace-context.ts';
import { evaluateGuardrails } from '../../domain/guardrails/guardrail.ts';
import type { GuardedSource } from '../../domain/integrations/integration.ts';
import { Refusal, type RefusalCode } from '../../domain/refusal.ts';
import { shownValue } from '../../domain/shown-value.ts';
import { SKILL_PROVIDER, type SkillCallFacts } from '../../domain/skill-calls/skill-call.ts';
import type { RefusalReason } from '../../domain/skill-calls/skill-refusal.ts';
import { matchesToken, type SkillWebhook } from '../../domain/skill-calls/skill-webhook.ts';
import { storedUserAgent } from '../../domain/user-agent.ts';
import { applyGuardrails } from '../deliveries/apply-guardrails.ts';
import { withDecision } from '../deliveries/evaluate-delivery.ts';
import type { NewDelivery, ReportRateLimit } from '../deliveries/webhook-ports.ts';
import type { SkillCallPorts } from './skill-call-ports.ts';

/** `readBody` is called only if the token is valid. */
export type SkillCall = {
  readonly webhook_id: string;
  readonly header: (name: string) => string | undefined;
  readonly ip: string | null;
  /** @throws Refusal too_large, malformed, unsupported_media_type */
  readonly readBody: () => Promise<Uint8Array>;
};

/**
 * The outcome of a call with a valid token. `token`: of the recorded event; null for a repeat, or if the event is not in the log yet.
 * `isRepeat`: an earlier call had the same Idempotency-Key, and gives `id` and `outcome`.
 */
export type SkillCallOutcome = {
  readonly id: string;
  readonly outcome: 'accepted' | 'blocked';
  readonly token: string | null;
  readonly isRepeat?: true;
};

const BEARER = /^Bearer +(\S+) *$/i;
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;
const OPEN_OBJECT = 0x7b;
/** A webhook of a skill cannot be paused, and its calls have no event names. */
const NO_SETTINGS = { is_paused: false, event_filter: [] };

const rejected = (code: RefusalCode, detail: string, extra: Refusal['extra'] = {}): Refusal =>
  new Refusal(code, detail, { ...extra, members: { ...extra.members, outcome: 'rejected' } });

/** The answer to a call without a valid token: always the same, so that it does not reveal whether the webhook exists. */
const notAccepted = (): Refusal =>
  rejected('unauthorized', "The call is not accepted. Send Authorization: Bearer <the token of the skill's webhook>");

const REASONS: Partial<Record<RefusalCode, RefusalReason>> = {
  malformed: 'malformed',
  unsupported_media_type: 'unsupported_media_type',
  too_large: 'too_large',
  invalid: 'invalid',
  idempotency_mismatch: 'invalid',
  rate_limited: 'rate_limited',
};

/** Whether valid JSON starts with a brace after whitespace. False if the first chunk is only whitespace. */
const isObject = (json: ReceivedBody): boolean => {
  const start = withoutByteOrderMark(chunksOf(json)[0]!);
  return start[start.findIndex((byte) => byte > 0x20)] === OPEN_OBJECT;
};

/** @throws Refusal malformed, invalid */
const checkBody = ({ json, isNotUtf8, fault: cause }: InspectedBody, body: ReceivedBody): void => {
  const fault = (code: string, message: string) =>
    rejected('invalid', 'The body is not valid', { errors: [{ pointer: '', code, message }] });
  if (json === 'too_deep') throw fault('too_deep', 'the body is nested deeper than 64 levels');
  if (isNotUtf8) throw rejected('malformed', 'The body is not valid UTF-8');
  if (json !== 'json') throw rejected('malformed', `The body is not valid JSON: ${cause}`);
  if (!isObject(body)) throw fault('invalid_type', 'must be a JSON object');
};

type VerifiedCall = SkillCall & { readonly webhook: SkillWebhook; readonly receivedAt: string };

const idempotencyKeyOf = ({ header }: SkillCall): string | undefined => {
  const key = header('idempotency-key');
  if (key !== undefined && !IDEMPOTENCY_KEY.test(key))
    throw rejected('malformed', 'Idempotency-Key must be 1 to 255 printable ASCII characters');
  return key;
};

/** The same object as long as the webhook's state is, so that its rules are combined only once. */
const sources = new WeakMap<SkillWebhook, GuardedSource>();

const sourceOf = (webhook: SkillWebhook): GuardedSource => {
  const known = sources.get(webhook);
  if (known) return known;
  const { id, tenant_id, agent_id } = webhook;
  const source = { id, tenant_id, agent_id, provider: SKILL_PROVIDER, guardrails: [] };
  sources.set(webhook, source);
  return source;
};

/** Applies the guardrails of the tenant. @throws Refusal unavailable */
const evaluate = async (ports: SkillCallPorts, call: VerifiedCall, body: ReceivedBody, { sha256 }: InspectedBody): Promise<NewDelivery> => {
  const { webhook, receivedAt, header, ip } = call;
  const { id: skill_id, tenant_id, agent_id } = webhook;
  const key = idempotencyKeyOf(call);
  const id = ports.callId(webhook, key);
  const { eligibility, guardrails } = ports.deliveries;
  const checking = eligibility.isAgentActive(tenant_id, agent_id);
  const isAgentActive = checking instanceof Promise ? await checking : checking;
  const result = evaluateGuardrails({ integration: NO_SETTINGS, isAgentActive, event: null, json: 'json' });
  const facts: SkillCallFacts = {
    integration_id: skill_id,
    skill_id,
    agent_id,
    provider: SKILL_PROVIDER,
    provider_delivery_id: key ?? id,
    event: null,
    content_type: header('content-type')!,
    sha256,
    size_bytes: body.length,
    ...partsField(body.length),
    matched_secret: 'current',
    received_at: receivedAt,
    ...traceField(header('traceparent')),
    ...result,
  };
  const type = facts.reason ? 'SkillWebhookBlocked' : 'SkillWebhookCalled';
  const delivery = { integration: webhook, id, type, body, facts, ip, user_agent: storedUserAgent(header('user-agent')) } as const;
  if (facts.reason) return delivery;
  const guarded = {
    integration: sourceOf(webhook),
    request: { header, body },
    receivedAt,
    event: null,
    media: 'json',
    json: 'json',
  } as const;
  return withDecision(delivery, await applyGuardrails(guardrails, guarded));
};

/** A repeat of an Idempotency-Key gets the earlier call's outcome. @throws Refusal unavailable, idempotency_mismatch for another body */
const record = async (ports: SkillCallPorts, webhook: SkillWebhook, delivery: NewDelivery): Promise<SkillCallOutcome> => {
  const { id, type, facts } = delivery;
  const { token, isSpooled } = await ports.deliveries.recording.record(delivery);
  if (token !== null || isSpooled) return { id, outcome: type === 'SkillWebhookBlocked' ? 'blocked' : 'accepted', token };
  const earlier = await ports.recorded(webhook, id);
  if (earlier.sha256 !== facts.sha256)
    throw rejected('idempotency_mismatch', 'This Idempotency-Key was used for a call with another body: send a new key');
  return { id, outcome: earlier.isBlocked ? 'blocked' : 'accepted', token, isRepeat: true };
};

/** The token is valid. @throws Refusal as `callSkill` does */
const accept = async (ports: SkillCallPorts, call: VerifiedCall, reportRateLimit: ReportRateLimit): Promise<SkillCallOutcome> => {
  const { webhook, header, readBody } = call;
  const { eligibility, verification } = ports.deliveries;
  if (mediaOf(header('content-type') ?? '') !== 'json')
    throw rejected(
      'unsupported_media_type',
      `The body must be application/json in UTF-8; its content type is ${shownValue(header('content-type'))}`,
    );
  const body = receivedBody(await readBody());
  await eligibility.enforceQuota(webhook.tenant_id, reportRateLimit);
  const inspected = await verification.inspectBody({ media: 'json', forms: 'payload', pointers: [] }, body);
  checkBody(inspected, body);
  return record(ports, webhook, await evaluate(ports, call, body, inspected));
};

/**
 * Compares the token in constant time, counts against the plan's quota, applies guardrails, records. Also records refused calls of a
 * webhook that exists or has existed. All refusals because of token or webhook have the same response after the same time.
 * @throws Refusal unauthorized, unsupported_media_type, malformed, too_large, invalid, rate_limited, unavailable
 */
export const callSkill = async (ports: SkillCallPorts, call: SkillCall, reportRateLimit: ReportRateLimit): Promise<SkillCallOutcome> => {
  const pause = ports.startPause();
  const receivedAt = ports.deliveries.now();
  const { webhook, fault } = await ports.target(call.webhook_id);
  const { header, ip } = call;
  const refuse = (reason: RefusalReason): void =>
    ports.recordRefusal(webhook, { at: receivedAt, ip, user_agent: storedUserAgent(header('user-agent')), reason });
  const sent = BEARER.exec(header('authorization') ?? '')?.[1];
  const isValid = matchesToken(webhook, ports.digest(sent ?? ''));
  if (!isValid || fault) {
    await pause();
    refuse(fault ?? (sent === undefined ? 'token_missing' : 'token_invalid'));
    throw notAccepted();
  }
  try {
    return await accept(ports, { ...call, webhook, receivedAt }, reportRateLimit);
  } catch (error) {
    const reason = error instanceof Refusal ? REASONS[error.code] : undefined;
    if (reason) refuse(reason);
    throw error;
  }
};
