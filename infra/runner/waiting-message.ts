import type { Msg } from 'nats';
import { MAX_DELIVERY_ATTEMPTS } from '../../domain/runners/runner-credential.ts';
import { attemptsOf, parseEvent } from './cloud-event.ts';
import { type MessageConsumer, negativeAck } from './message-consumer.ts';

/** A waiting message is postponed only after this number of attempts. */
const PROMPT_ATTEMPTS = MAX_DELIVERY_ATTEMPTS / 2;
const POSTPONEMENT_FACTOR = 4;
const GIVE_BACK_DELAY_MS = 1_000;

/** A message that no handler has yet. */
export type WaitingMessage = {
  readonly message: Msg;
  readonly id: string | null;
  /** The id of the event of its session that must be settled first; null if there is none. */
  readonly previous: string | null;
  /** The time of the next postponement (Unix milliseconds); 0 before the first one. */
  postponeAt: number;
};

export const waitingMessage = (message: Msg): WaitingMessage => {
  const event = message.headers?.get('Annals-Session') ? parseEvent(message) : null;
  return { message, id: event?.id ?? null, previous: event?.previous ?? null, postponeAt: 0 };
};

/**
 * If this runner dies, the broker delivers a waiting message again after the returned delay, in milliseconds; null means the
 * acknowledgement timeout. Each such death uses one attempt. In the sixth to ninth attempt, the delay is 4, 16, 64 and 256 times the
 * timeout, so that a runner that dies repeatedly does not soon use up the attempts of a message that no handler has processed. After the
 * last attempt, the message is given up, so that its session can continue.
 */
export const postponement = (message: Msg, ackWaitMs: number): number | null => {
  const attempt = attemptsOf(message);
  if (attempt <= PROMPT_ATTEMPTS || attempt >= MAX_DELIVERY_ATTEMPTS) return null;
  return ackWaitMs * POSTPONEMENT_FACTOR ** (attempt - PROMPT_ATTEMPTS);
};

type Broker = Pick<MessageConsumer, 'reportProgress' | 'postpone'>;

/** Does nothing if `postponement` is null, or before `postponeAt`. */
export const postponeWaiting = ({ postpone }: Broker, waiting: WaitingMessage, ackWaitMs: number): void => {
  const delayMs = postponement(waiting.message, ackWaitMs);
  if (delayMs === null || Date.now() < waiting.postponeAt) return;
  waiting.postponeAt = Date.now() + delayMs / 2;
  postpone(waiting.message, delayMs);
};

/** Prevents the broker from delivering the message again. Call it at least twice in each acknowledgement timeout. */
export const keepWaiting = (broker: Broker, waiting: WaitingMessage, ackWaitMs: number): void =>
  postponement(waiting.message, ackWaitMs) === null ? broker.reportProgress(waiting.message) : postponeWaiting(broker, waiting, ackWaitMs);

/** Call it before a handler gets the message: restores the acknowledgement timeout. */
export const endWaiting = (broker: Broker, { message, postponeAt }: WaitingMessage): Msg => {
  if (postponeAt > 0) broker.reportProgress(message);
  return message;
};

/** The acknowledgement with which a runner that ends returns a waiting message to the broker. */
export const giveBackAck = ({ message }: WaitingMessage, ackWaitMs: number): string =>
  negativeAck(postponement(message, ackWaitMs) ?? GIVE_BACK_DELAY_MS);
