import type { DeadMessage } from '../../../commands/deliveries/redeliver.ts';
import type { LostSessionMessage } from '../../../commands/sessions/repeat-message.ts';
import { type DeliveryEvent, factsOf } from '../../../domain/deliveries/delivery.ts';
import type { Position, Recorded } from '../../../domain/event.ts';
import type { AcknowledgementEvent } from '../../../domain/runners/acknowledgement.ts';
import { isSent, type SessionEvent } from '../../../domain/sessions/session.ts';

/** Neither acknowledged nor given up. `position`: of the last event for which the relay publishes the message. */
export type Unsettled = (DeadMessage | LostSessionMessage) & { readonly position: Position };
type UnsettledSession = LostSessionMessage & { readonly position: Position };

type AcceptedEvent = Extract<
  DeliveryEvent,
  { type: 'WebhookAccepted' | 'SkillWebhookCalled' | 'CronJobTriggered' | 'BenchmarkRunTriggered' | 'MailReceived' }
>;
type MessageEvent = AcceptedEvent | Extract<DeliveryEvent, { type: 'DeliveryRequeued' | 'DeliveryReleased' }>;
type SettlingEvent = Exclude<AcknowledgementEvent, { type: 'DeliveryAttemptFailed' }>;
type FollowedEvent = Recorded<MessageEvent> | Recorded<SessionEvent> | Recorded<SettlingEvent>;

const deliveryTypes = [
  'WebhookAccepted',
  'SkillWebhookCalled',
  'CronJobTriggered',
  'BenchmarkRunTriggered',
  'MailReceived',
  'DeliveryRequeued',
  'DeliveryReleased',
] satisfies MessageEvent['type'][];

const sessionTypes = [
  'SessionAssigned',
  'SessionMessageSent',
  'SessionInterrupted',
  'SessionCancelled',
  'ApprovalDecided',
  'ApprovalExpired',
  'SessionMessageRepeated',
] satisfies SessionEvent['type'][];

const settlingTypes = ['DeliveriesAcknowledged', 'DeliveryDeadLettered', 'SessionMessagesSettled'] satisfies SettlingEvent['type'][];

/** The types of the events that the fold needs. */
export const followedTypes: readonly FollowedEvent['type'][] = [...deliveryTypes, ...sessionTypes, ...settlingTypes];

const agentOf = (event: Recorded<MessageEvent>): string =>
  (event.type === 'DeliveryRequeued' || event.type === 'DeliveryReleased' ? event.data : factsOf(event)).agent_id;

/** Collects the last message of each delivery until it is acknowledged or given up. */
const createDeliveryFold = () => {
  const messages = new Map<string, DeadMessage & { readonly position: Position }>();
  const lastOf = new Map<string, string>();
  return {
    messages: () => messages.values(),
    add: (event: Recorded<MessageEvent>): void => {
      const { tenant, id, event_id, position } = event;
      messages.delete(lastOf.get(id) ?? '');
      lastOf.set(id, event_id);
      messages.set(event_id, { tenant, agent_id: agentOf(event), delivery_id: id, message_id: event_id, position });
    },
    settle: (event_id: string): void => void messages.delete(event_id),
  };
};

type Settled = Extract<SettlingEvent, { type: 'SessionMessagesSettled' }>['data']['messages'][number];

/** Collects the messages of sessions until they, or a later one of the session, are settled. */
const createSessionFold = () => {
  const sessions = new Map<string, Map<string, UnsettledSession>>();
  return {
    messages: () => [...sessions.values()].flatMap((unsettled) => [...unsettled.values()]),
    add: (event: Recorded<SessionEvent>): void => {
      const { tenant, id: session_id, event_id, revision, position, data } = event;
      const unsettled = sessions.get(session_id) ?? new Map<string, UnsettledSession>();
      sessions.set(session_id, unsettled);
      const sent = event.type === 'SessionMessageRepeated' ? unsettled.get(event.data.repeats) : undefined;
      if (sent) unsettled.set(sent.event_id, { ...sent, message_id: event_id, position });
      if (!isSent(event)) return;
      unsettled.set(event_id, { tenant, agent_id: data.agent_id, session_id, event_id, revision, message_id: event_id, position });
    },
    /** A runner processes a message only after the one before is settled, so an acknowledgement settles all earlier ones, too. */
    settle: ({ session_id, event_id, outcome }: Settled): void => {
      const unsettled = sessions.get(session_id);
      const settled = unsettled?.get(event_id);
      for (const each of unsettled?.values() ?? [])
        if (each === settled || (settled && outcome === 'acknowledged' && each.revision < settled.revision))
          unsettled!.delete(each.event_id);
      if (unsettled?.size === 0) sessions.delete(session_id);
    },
  };
};

const isOneOf = <T extends FollowedEvent['type']>(
  types: readonly T[],
  event: FollowedEvent,
): event is Extract<FollowedEvent, { type: T }> => (types as readonly string[]).includes(event.type);

/** Collects the messages to runners that are neither acknowledged nor given up. */
export const createUnsettledFold = () => {
  const [deliveries, sessions] = [createDeliveryFold(), createSessionFold()];
  return {
    messages: (): Unsettled[] => [...deliveries.messages(), ...sessions.messages()],
    apply: (event: FollowedEvent): void => {
      if (isOneOf(deliveryTypes, event)) deliveries.add(event);
      if (isOneOf(sessionTypes, event)) sessions.add(event);
      if (event.type === 'SessionMessagesSettled') for (const message of event.data.messages) sessions.settle(message);
      if (event.type === 'DeliveriesAcknowledged') for (const { event_id } of event.data.deliveries) deliveries.settle(event_id);
      if (event.type === 'DeliveryDeadLettered') deliveries.settle(event.data.event_id);
    },
  };
};
