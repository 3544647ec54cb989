import type { Msg } from 'nats';
import { MAX_DELIVERY_ATTEMPTS } from '../../domain/runners/runner-credential.ts';
import { attemptsOf, parseEvent } from './cloud-event.ts';
import { type MessageConsumer, negativeAck } from './message-consumer.ts';

/** From the attempt after this one on, a message that waits is postponed. */
const PROMPT_ATTEMPTS = MAX_DELIVERY_ATTEMPTS / 2;
const POSTPONEMENT_FACTOR = 4;
const GIVE_BACK_DELAY_MS = 1_000;

/** A message that no handler has yet. */
export type WaitingMessage = {
  readonly message: Msg;
  readonly id: string | null;
  /** The message of its session that must be settled before; null if there is none. */
  readonly previous: string | null;
  /** The time at which it is to be postponed anew, in milliseconds; 0 if it has not been postponed. */
  postponeAt: number;
};

export const waitingMessage = (message: Msg): WaitingMessage => {
  const event = message.headers?.get('Annals-Session') ? parseEvent(message) : null;
  return { message, id: event?.id ?? null, previous: event?.previous ?? null, postponeAt: 0 };
};

/**
 * Returns for how long the broker is to keep a message that waits, in milliseconds, if this runner dies; null for the
 * acknowledgement timeout. Each such death uses one attempt of the message. So in the sixth to ninth attempt, the time is
 * 4, 16, 64 and 256 times the timeout: a runner that dies again and again cannot soon use up the attempts of a message
 * that no handler has had. After the last attempt, the message is given up, so that its session can go on.
 */
export const postponement = (message: Msg, ackWaitMs: number): number | null => {
  const attempt = attemptsOf(message);
  if (attempt <= PROMPT_ATTEMPTS || attempt >= MAX_DELIVERY_ATTEMPTS) return null;
  return ackWaitMs * POSTPONEMENT_FACTOR ** (attempt - PROMPT_ATTEMPTS);
};

type Broker = Pick<MessageConsumer, 'reportProgress' | 'postpone'>;

/** Postpones a message, if its attempts require it, and it is time to do so. */
export const postponeWaiting = ({ postpone }: Broker, waiting: WaitingMessage, ackWaitMs: number): void => {
  const delayMs = postponement(waiting.message, ackWaitMs);
  if (delayMs === null || Date.now() < waiting.postponeAt) return;
  waiting.postponeAt = Date.now() + delayMs / 2;
  postpone(waiting.message, delayMs);
};

/** Tells the broker that a message still waits. Called at least twice in each acknowledgement timeout. */
export const keepWaiting = (broker: Broker, waiting: WaitingMessage, ackWaitMs: number): void =>
  postponement(waiting.message, ackWaitMs) === null ? broker.reportProgress(waiting.message) : postponeWaiting(broker, waiting, ackWaitMs);

/** Tells the broker that a message no longer waits, because a handler gets it now. */
export const endWaiting = (broker: Broker, { message, postponeAt }: WaitingMessage): Msg => {
  if (postponeAt > 0) broker.reportProgress(message);
  return message;
};

/** Returns the acknowledgement with which a runner that ends gives a message that waits back to the broker. */
export const giveBackAck = ({ message }: WaitingMessage, ackWaitMs: number): string =>
  negativeAck(postponement(message, ackWaitMs) ?? GIVE_BACK_DELAY_MS);
