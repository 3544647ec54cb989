import { type DeliveryEvent, type DeliveryFacts, factsOf } from '../../domain/deliveries/delivery.ts';
import type { RejectionEvent } from '../../domain/deliveries/rejection.ts';
import type { Recorded } from '../../domain/event.ts';
import { type Change, insert, type Row } from '../projection.ts';
import { countRedactions, NOT_HELD, newMessage } from './delivery-messages.ts';
import { stepOf } from './delivery-steps.ts';

const NO_MESSAGE = {
  status: null,
  place: null,
  message_id: null,
  message_agent_id: null,
  unsettled: null,
  failed_at: null,
  retry_at: null,
};
const UNPROCESSED = {
  ...{ redactions: 0, published_at: null, acknowledged_at: null, attempts: [], failures: [], session_id: null },
  ...{ requeues: [], differed: false, reports: [], last_report: null, last_texts: null, released: null },
  ...{ expired_at: null, stopped: null, rule: null, problem: null },
};

type VerifiedEvent = Recorded<Extract<DeliveryEvent, { data: Uint8Array }>>;
type FirstState = 'accepted' | 'blocked' | 'held';

/** Returns which rule has blocked or held a delivery, and why. Both are null if neither a rule nor a check has done so. */
const verdictOf = (
  { guardrails }: DeliveryFacts,
  verdict: 'block' | 'hold',
): { readonly rule: string | null; readonly note: string | null } =>
  guardrails.findLast((one) => one.verdict === verdict) ?? { rule: null, note: null };

/** Returns the fields of a delivery that have to do with its message to an agent. */
const stateOf = (event: VerifiedEvent, state: FirstState): Row => {
  const facts = factsOf(event);
  const { agent_id, reason, received_at: since } = facts;
  if (state === 'accepted') return { ...newMessage(event, agent_id), ...NOT_HELD };
  const { rule, note } = verdictOf(facts, state === 'held' ? 'hold' : 'block');
  const why = { reason, rule, note, since };
  const stopped = { outcome: state, ...why };
  if (state === 'blocked') return { ...NO_MESSAGE, ...NOT_HELD, stopped, rule: rule ?? reason };
  const until = facts.held?.until ?? null;
  const columns = { held_at: since, held_reason: reason, held_rule: rule, held_note: note, held_until: until };
  return { ...NO_MESSAGE, ...columns, status: 'held', held: { ...why, until }, stopped };
};

/** Returns those facts that a row shows as they are. */
const shownFacts = (facts: DeliveryFacts): Row => {
  const { integration_id, agent_id, provider, provider_delivery_id, event, content_type, sha256 } = facts;
  const { size_bytes, matched_secret, received_at, guardrails } = facts;
  const source = { integration_id, agent_id, provider, provider_delivery_id, event };
  return { ...source, content_type, sha256, size_bytes, matched_secret, received_at, guardrails };
};

/** Returns the insertion of a delivery whose signature was verified. */
export const insertVerified = (event: VerifiedEvent, state: FirstState): Change => {
  const { id, tenant, meta } = event;
  const facts = factsOf(event);
  const row: Row = {
    ...UNPROCESSED,
    ...shownFacts(facts),
    redactions: countRedactions(facts.redactions ?? []),
    ...stateOf(event, state),
    reason: state === 'held' ? null : facts.reason,
    id,
    tenant_id: tenant,
    outcome: state === 'blocked' ? 'blocked' : 'accepted',
    caller: { ip: meta.ip ?? null, user_agent: meta.userAgent ?? null },
    cause: facts.cause ?? null,
    causation: [stepOf(event, { agent_id: facts.agent_id })],
  };
  return insert('deliveries', row);
};

/** Returns the insertion of a delivery that was not verified. */
export const insertRejected = (event: Recorded<Extract<RejectionEvent, { type: 'WebhookRejected' }>>): Change => {
  const { id, tenant, at, data } = event;
  const { delivery_id, ip, user_agent, note = null, content_type = null, ...rejection } = data;
  const row: Row = {
    ...UNPROCESSED,
    ...NO_MESSAGE,
    ...NOT_HELD,
    ...rejection,
    id: delivery_id,
    tenant_id: tenant,
    integration_id: id,
    outcome: 'rejected',
    provider: null,
    content_type,
    reason_note: note,
    sha256: null,
    matched_secret: null,
    received_at: at,
    guardrails: [],
    caller: { ip, user_agent },
    cause: null,
    causation: [stepOf(event, rejection)],
  };
  return insert('deliveries', row);
};
