import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';

export type DeliveryDetail = ReplyOf<Rows['getDelivery']>;
export type Step = DeliveryDetail['causation'][number];
export type Attempt = DeliveryDetail['attempts'][number];

/** A message to a runner: the step that started it, its attempts in order, and the sessions that were started for it. */
export type Message = { readonly step: Step; readonly attempts: readonly Attempt[]; readonly sessions: readonly Step[] };

const commitOf = ({ position }: Step): bigint => BigInt(position.split(':')[0]!);

/**
 * Returns the messages of a delivery in the order of the log. The first is the delivery itself, even if it was blocked
 * and therefore never sent. A session belongs to the message before it.
 */
export const messagesOf = ({ causation, attempts }: DeliveryDetail): readonly Message[] => {
  const ordered = causation.toSorted((one, other) => (commitOf(one) < commitOf(other) ? -1 : 1));
  const steps = ordered.filter(({ session_id }) => session_id === null);
  return steps.map((step, index) => {
    const next = steps[index + 1];
    const isOwn = (other: Step): boolean => commitOf(other) > commitOf(step) && (!next || commitOf(other) < commitOf(next));
    return {
      step,
      attempts: attempts.filter(({ event_id }) => event_id === step.event_id),
      sessions: ordered.filter((other) => other.session_id !== null && isOwn(other)),
    };
  });
};

/** Returns the last message that a runner gets; null if the delivery was never sent. */
export const lastMessageOf = (delivery: DeliveryDetail): Message | null =>
  messagesOf(delivery).findLast(({ step }) => isSent(step)) ?? null;

/** Returns whether a message was published. An attempt shows it, too, and can be recorded before the publication is. */
export const isPublished = ({ step, attempts }: Message): boolean => step.published_at !== null || attempts.length > 0;

/** Returns the status of a delivery. One that waits to be published is queued as soon as an attempt shows its publication. */
export const shownStatus = (delivery: DeliveryDetail): DeliveryDetail['status'] => {
  const last = lastMessageOf(delivery);
  return delivery.status === 'waiting' && last && isPublished(last) ? 'queued' : delivery.status;
};

/** Returns the state of a delivery, as `shownStatus` does. */
export const shownState = (delivery: DeliveryDetail): DeliveryDetail['state'] =>
  delivery.state === 'waiting' && shownStatus(delivery) === 'queued' ? 'queued' : delivery.state;

const actorWords = ({ actor }: Step): string => {
  if (actor.kind === 'user') return `by ${actor.name ?? 'a user'}`;
  return actor.kind === 'agent' ? 'by the runner of an agent' : 'by the platform';
};

/** Says why a message was sent, and who caused it: `Sent again by Ada`. */
export const messageWords = (step: Step, { causation, released }: DeliveryDetail): string => {
  if (step.type === 'DeliveryReleased') return `Released ${actorWords(step)}${released?.reason ? `: ${released.reason}` : ''}`;
  if (step.type !== 'DeliveryRequeued') return 'First message';
  if (step.cause === null) return `Sent again ${actorWords(step)}`;
  return causation.some(({ event_id }) => event_id === step.cause)
    ? 'Sent again by the platform, because the broker had lost the message'
    : `Sent again by a replay, started ${actorWords(step)}`;
};

/** Returns whether a step started a message that a runner gets. */
export const isSent = ({ type, published_at }: Step): boolean => published_at !== null || !/^WebhookRejected$|Blocked$|Held$/.test(type);
