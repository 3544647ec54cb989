import type { Actor, Metadata, Recorded } from '../event.ts';
import type { GuardrailResult } from '../guardrails/guardrail.ts';
import type { MatchedSecret } from '../integrations/signature.ts';
import type { RedactionHit } from '../redaction/redaction-patterns.ts';
import { conflict, notFound } from '../refusal.ts';
import type { SealedWith } from '../sealed-data.ts';
import type { Cause } from './causation.ts';
import type { CronOrigin } from './cron-origin.ts';
import type { MailOrigin } from './mail-origin.ts';
import type { ReleasedFields } from './release-fields.ts';

export const category = 'delivery';

/** Everything about a delivery except the body; `facts` in the metadata of the event. */
export type DeliveryFacts = GuardrailResult & {
  integration_id: string;
  agent_id: string;
  provider: string;
  provider_delivery_id: string;
  event: string | null;
  content_type: string;
  /** The digest of the received body, in hex. */
  sha256: string;
  size_bytes: number;
  /** The number of chunks of a large body (see delivery-body.ts); the event's data are then empty. Absent if the data are the body. */
  parts?: number;
  /** Undefined if the data are not encrypted, or were decrypted when they were read. */
  sealed?: SealedWith;
  matched_secret: MatchedSecret | null;
  received_at: string;
  /** Replaced parts for each tag; the data are then the redacted body. Absent if nothing was replaced. */
  redactions?: readonly RedactionHit[];
  /** The delivery that caused this one, with the length of the chain. Absent if there is none. */
  cause?: Cause;
  /** W3C trace context from the header `traceparent`; absent if there was none. */
  traceparent?: string;
  /** Only if held, for the reason in `reason`. `until`: the earliest time at which the delivery can continue; null if unknown. */
  held?: { until: string | null };
  /** Only for a call of a skill webhook. */
  skill_id?: string;
  /** Only for the message of a cron job to an agent. */
  cron?: CronOrigin;
  /** The slug of the benchmark; only for the message of a benchmark run. */
  benchmark?: string;
  mail?: MailOrigin;
  /** The event of the accepted delivery. Never stored: only while the message of a redelivery is created. */
  redelivery_of?: string;
  /** Why it was blocked or held. Never stored: only while the message of a released delivery is created. */
  released_from?: string;
};

/**
 * `repeats`: the event that started a message that the broker has lost. The new message gets its CloudEvents id: a runner that has
 * processed the lost one does not process the new one.
 */
type RequeuedFields = { agent_id: string; repeats?: string };

/**
 * The data of the first event are the body, as received or after redaction, or empty if stored in chunks; encrypted in the log (see
 * sealed-data.ts). A delivery of a type that ends in Held waits until the rules allow it. DeliveryReleased sends a blocked or held
 * delivery to an agent, and HeldDeliveryExpired gives one up (see release.ts). See also skill-call.ts, cron-delivery.ts,
 * benchmark-delivery.ts and mail-delivery.ts.
 */
export type DeliveryEvent =
  | { type: 'WebhookAccepted'; data: Uint8Array }
  | { type: 'WebhookBlocked'; data: Uint8Array }
  | { type: 'SkillWebhookCalled'; data: Uint8Array }
  | { type: 'SkillWebhookBlocked'; data: Uint8Array }
  | { type: 'CronJobTriggered'; data: Uint8Array }
  | { type: 'BenchmarkRunTriggered'; data: Uint8Array }
  | { type: 'MailReceived'; data: Uint8Array }
  | { type: 'MailBlocked'; data: Uint8Array }
  | { type: 'WebhookHeld'; data: Uint8Array }
  | { type: 'SkillWebhookHeld'; data: Uint8Array }
  | { type: 'MailHeld'; data: Uint8Array }
  | { type: 'WebhookRedeliveryDiffered'; data: { sha256: string; size_bytes: number } }
  | { type: 'DeliveryRequeued'; data: RequeuedFields }
  | { type: 'DeliveryReleased'; data: ReleasedFields }
  | { type: 'HeldDeliveryExpired'; data: object };

type Release = { readonly at: string; readonly actor: Actor };

/**
 * `message_id`: the event from which the relay published the last message to a runner; `cloud_event_id`: the message's id for runners;
 * `agent_id` gets it. `requeued_at`: the last request to send again. `released`: null unless blocked or held and then released; the status
 * is then `accepted`. `expired`: held too long.
 */
export type Delivery = {
  status: 'absent' | 'accepted' | 'blocked' | 'held' | 'expired';
  facts: DeliveryFacts | null;
  differed: boolean;
  message_id: string | null;
  cloud_event_id: string | null;
  agent_id: string | null;
  requeued_at: string | null;
  released: Release | null;
};

export const initial: Delivery = {
  status: 'absent',
  facts: null,
  differed: false,
  message_id: null,
  cloud_event_id: null,
  agent_id: null,
  requeued_at: null,
  released: null,
};

export const factsOf = (event: { readonly meta: Pick<Metadata, 'facts'> }): DeliveryFacts => event.meta.facts as unknown as DeliveryFacts;

const lastMessage = ({ event_id }: Recorded, { agent_id, repeats = event_id }: Pick<RequeuedFields, 'agent_id' | 'repeats'>) => ({
  message_id: event_id,
  cloud_event_id: repeats,
  agent_id,
});

export const evolve = (delivery: Delivery, event: Recorded<DeliveryEvent>): Delivery => {
  switch (event.type) {
    case 'WebhookAccepted':
    case 'SkillWebhookCalled':
    case 'CronJobTriggered':
    case 'BenchmarkRunTriggered':
    case 'MailReceived':
      return { ...delivery, ...lastMessage(event, factsOf(event)), status: 'accepted', facts: factsOf(event) };
    case 'WebhookBlocked':
    case 'SkillWebhookBlocked':
    case 'MailBlocked':
      return { ...delivery, status: 'blocked', facts: factsOf(event) };
    case 'WebhookHeld':
    case 'SkillWebhookHeld':
    case 'MailHeld':
      return { ...delivery, status: 'held', facts: factsOf(event) };
    case 'HeldDeliveryExpired':
      return { ...delivery, status: 'expired' };
    case 'WebhookRedeliveryDiffered':
      return { ...delivery, differed: true };
    case 'DeliveryRequeued':
      return { ...delivery, ...lastMessage(event, event.data), requeued_at: event.at };
    case 'DeliveryReleased':
      return {
        ...delivery,
        ...lastMessage(event, { agent_id: event.data.agent_id }),
        status: 'accepted',
        released: { at: event.at, actor: event.actor },
      };
  }
};

/** @throws Refusal not_found if it does not exist, conflict if it was blocked or held */
export const assertDeliverable = ({ status, facts }: Delivery): void => {
  if (status === 'absent') throw notFound();
  if (status === 'blocked') throw undeliverable(`The delivery was blocked (${facts?.reason}): to send it to a runner, release it`);
  if (status === 'held')
    throw undeliverable(`The delivery is held (${facts?.reason}), and continues by itself: to send it now, release it`);
  if (status === 'expired') throw undeliverable(`The delivery was held too long (${facts?.reason}): to send it to a runner, release it`);
};

const ACCEPTED: readonly string[] = [
  'WebhookAccepted',
  'SkillWebhookCalled',
  'CronJobTriggered',
  'BenchmarkRunTriggered',
  'MailReceived',
] satisfies DeliveryEvent['type'][];

/** Whether the type is that of the first event of a delivery that is sent to an agent. */
export const isAccepted = (type: string): boolean => ACCEPTED.includes(type);

/** The delivery must not go to a runner. */
export const undeliverable = (detail: string) => conflict('/path/delivery_id', 'not_deliverable', detail);

/** Sends it to the agent's runners in a new message. @throws Refusal not_found if it does not exist, conflict if it was blocked */
export const requeue =
  (agent_id: string) =>
  (delivery: Delivery): DeliveryEvent[] => {
    assertDeliverable(delivery);
    return [{ type: 'DeliveryRequeued', data: { agent_id } }];
  };

/**
 * As `requeue`, but only if this message is the delivery's last one and was given up: a repeated or concurrent request sends it only once.
 * @throws Refusal as `requeue` does
 */
export const requeueDead =
  (message_id: string, agent_id: string) =>
  (delivery: Delivery): DeliveryEvent[] =>
    delivery.message_id === message_id ? requeue(agent_id)(delivery) : [];

/**
 * Replaces a lost message by a new one with the same CloudEvents id. Does nothing if the lost message is not the last one of the delivery.
 * @throws Refusal not_found if the delivery does not exist, conflict if it was blocked
 */
export const repeatLost =
  (message_id: string) =>
  (delivery: Delivery): DeliveryEvent[] => {
    if (delivery.message_id !== message_id) return [];
    assertDeliverable(delivery);
    return [{ type: 'DeliveryRequeued', data: { agent_id: delivery.agent_id!, repeats: delivery.cloud_event_id! } }];
  };

/**
 * The event of the accepted delivery with id, position and time of the request. Because of the new id, a runner processes the message even
 * if it has processed the earlier one.
 */
export const redeliveredEvent = (requeued: Recorded<DeliveryEvent>, accepted: Recorded): Recorded => {
  const { event_id, position, at, data } = requeued;
  const { agent_id } = data as { agent_id: string };
  const facts = { ...accepted.meta.facts, agent_id, redelivery_of: accepted.event_id };
  return { ...accepted, event_id, position, at, meta: { ...accepted.meta, facts } };
};

/**
 * Returns the event from which the message is created: if it replaces a lost message, the event of that one. `earlier`: the delivery's
 * earlier events.
 */
export const messageSource = (requeued: Recorded<DeliveryEvent>, accepted: Recorded, earlier: readonly Recorded[]): Recorded => {
  const { repeats } = requeued.data as RequeuedFields;
  if (repeats === undefined) return redeliveredEvent(requeued, accepted);
  const lost = earlier.find(({ event_id }) => event_id === repeats) as Recorded<DeliveryEvent> | undefined;
  return lost?.type === 'DeliveryRequeued' ? redeliveredEvent(lost, accepted) : accepted;
};
