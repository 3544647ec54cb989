import type { DeliveryEvent } from '../../domain/deliveries/delivery.ts';
import { type Recorded, sortKey } from '../../domain/event.ts';
import type { RedactionHit } from '../../domain/redaction/redaction-patterns.ts';
import type { SessionEvent } from '../../domain/sessions/session.ts';
import { type Change, patch, type Row } from '../projection.ts';
import { stepOf } from './delivery-steps.ts';

/** Returns the fields for a message to an agent that this event starts, and that has not ended yet. */
export const newMessage = ({ event_id, position }: Recorded, message_agent_id: string): Row => ({
  status: 'waiting',
  place: sortKey(position),
  unsettled: sortKey(position),
  message_id: event_id,
  message_agent_id,
  published_at: null,
  acknowledged_at: null,
  failed_at: null,
  retry_at: null,
});

/** The fields of a delivery that no rule holds. */
export const NOT_HELD = { held: null, held_at: null, held_reason: null, held_rule: null, held_note: null, held_until: null };

export const countRedactions = (hits: readonly RedactionHit[]): number => hits.reduce((sum, { count }) => sum + count, 0);

export const patchRequeued = (event: Recorded<Extract<DeliveryEvent, { type: 'DeliveryRequeued' }>>): Change => {
  const { tenant: tenant_id, id, data, meta } = event;
  const { agent_id, repeats } = data;
  const fields = { ...newMessage(event, agent_id), outcome: 'accepted', reason: null };
  const cause = meta.$causationId ?? repeats ?? null;
  // A message that replaces one that the broker has lost is not a redelivery.
  const requeues = repeats === undefined ? [{ event_id: event.event_id, at: event.at }] : [];
  return patch('deliveries', { tenant_id, id }, fields, { items: { causation: [stepOf(event, { agent_id, cause })], requeues } });
};

export const patchReleased = (event: Recorded<Extract<DeliveryEvent, { type: 'DeliveryReleased' }>>): Change => {
  const { tenant: tenant_id, id, data, at, actor, meta } = event;
  const { agent_id, guardrails, redactions, reason } = data;
  const fields = {
    ...newMessage(event, agent_id),
    ...(redactions && { redactions: countRedactions(redactions) }),
    outcome: 'accepted',
    reason: null,
    ...NOT_HELD,
    released: { at, actor: { kind: actor.kind, id: actor.id }, reason, guardrails },
  };
  return patch('deliveries', { tenant_id, id }, fields, {
    items: { causation: [stepOf(event, { agent_id, cause: meta.$causationId ?? null })] },
  });
};

/** The delivery was held too long and is given up. */
export const patchExpired = ({ tenant: tenant_id, id, at }: Recorded): Change =>
  patch(
    'deliveries',
    { tenant_id, id },
    { outcome: 'dead', status: 'dead', reason: 'held_too_long', ...NOT_HELD, expired_at: at, failed_at: at },
  );

export type SessionStarted = Extract<SessionEvent, { type: 'SessionStarted' }>;

/** Returns the changes that show the session which was started to process a delivery. */
export const patchSession = (event: Recorded<SessionStarted>): readonly Change[] => {
  const { tenant: tenant_id, id: session_id, data } = event;
  const { delivery_id, agent_id } = data;
  if (delivery_id === null) return [];
  const causation = [stepOf(event, { agent_id, session_id })];
  return [patch('deliveries', { tenant_id, id: delivery_id }, { session_id }, { items: { causation } })];
};
