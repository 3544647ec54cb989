import { setTimeout as sleep } from 'node:timers/promises';
import type { Msg } from 'nats';
import { isUnavailable } from '../../domain/refusal.ts';
import { ACK_WAIT_MS, MAX_DELIVERY_ATTEMPTS } from '../../domain/runners/runner-credential.ts';
import { attemptsOf, parseEvent } from './cloud-event.ts';
import { type MessageConsumer, PROGRESS_INTERVAL_MS } from './message-consumer.ts';
import type { ProcessedIds } from './processed-ids.ts';
import { endWaiting, giveBackAck, keepWaiting, postponeWaiting, type WaitingMessage, waitingMessage } from './waiting-message.ts';

const ASK_INTERVAL_MS = 1_000;
/** The maximum number of messages in one request. */
const MAX_ASKED = 100;
/** A runner that ends waits at most this long until the broker has confirmed the messages that it returns. */
const GIVE_BACK_TIMEOUT_MS = 3_000;

export type OrderOptions = {
  readonly processed: ProcessedIds;
  /** The events on which handlers of this runner work, by id, with the message to acknowledge afterwards. */
  readonly working: Pick<Map<string, Msg>, 'has' | 'set'>;
  /** Returns the settled ones of these messages, no matter which runner has processed them. @throws Refusal */
  readonly findSettled: (ids: readonly string[]) => Promise<readonly string[]>;
  readonly report: (line: string) => void;
  /** The interval of progress reports to the broker about messages that wait, in milliseconds. */
  readonly progressMs?: number | undefined;
};

type Order = OrderOptions & {
  readonly messages: MessageConsumer;
  /** Settled messages that another runner had. */
  readonly settled: Set<string>;
  /** In order of arrival. */
  held: WaitingMessage[];
  readonly ackWaitMs: number;
  readonly waiters: PromiseWithResolvers<Msg | null>[];
  /** The number of open requests to the broker for a message. */
  pulls: number;
  isAsking: boolean;
  /** Set when the runner stops: from then on, nothing is handed out. Resolves when all messages have arrived. */
  stopped: Promise<void> | null;
  /** One for each message that is being returned, until the broker has confirmed it. */
  readonly givingBack: Set<Promise<void>>;
  /** The number of unknown messages about which the service was asked since it was asked about the first one. */
  asked: number;
  hasReported: boolean;
};

const isReady = ({ processed, settled }: Order, { previous }: WaitingMessage): boolean =>
  previous === null || settled.has(previous) || processed.has(previous);

/** Removes the first message that may be processed from those that wait. */
const takeReady = (order: Order): Msg | null => {
  const index = order.held.findIndex((held) => isReady(order, held));
  return index < 0 ? null : endWaiting(order.messages, order.held.splice(index, 1)[0]!);
};

const handOut = (order: Order): void => {
  while (order.waiters.length > 0) {
    const message = takeReady(order);
    if (!message) return;
    order.waiters.shift()!.resolve(message);
  }
};

/**
 * Returns a message to the broker. Messages that a handler of this runner has already processed are acknowledged. A copy of a message that
 * this runner processes is kept until that work ends: otherwise, another runner would process it at the same time. Call it after the
 * message was removed from `held`.
 */
const giveBack = (order: Order, waiting: WaitingMessage): void => {
  const id = waiting.id ?? parseEvent(waiting.message)?.id;
  if (id !== undefined && order.working.has(id)) {
    order.working.set(id, waiting.message);
    order.messages.reportProgress(waiting.message);
    return;
  }
  const isDone = id !== undefined && order.processed.has(id);
  const acknowledgement = isReady(order, waiting) ? '-NAK' : giveBackAck(waiting, order.ackWaitMs);
  const settling = order.messages
    .settle(waiting.message, isDone ? '+ACK' : acknowledgement)
    .catch(() => {})
    .finally(() => order.givingBack.delete(settling));
  order.givingBack.add(settling);
};

/** The broker gives a message up after its last attempt, so it then stays here for the next free worker. */
const isLastAttempt = ({ message }: WaitingMessage): boolean => attemptsOf(message) >= MAX_DELIVERY_ATTEMPTS;

/** Returns a ready message that no worker waits for, because its worker got a held one. Another runner may be free. */
const giveBackUnwanted = (order: Order, held: WaitingMessage): void => {
  const index = order.held.indexOf(held);
  if (index < 0 || !isReady(order, held) || isLastAttempt(held)) return;
  order.held.splice(index, 1);
  giveBack(order, held);
};

/** Returns the messages that follow an event on which a handler of this runner works. It may take them, too. */
const followersOfWork = ({ held, working }: Order): ReadonlySet<WaitingMessage> => {
  const next = Map.groupBy(held, ({ previous }) => previous);
  const followers = new Set(held.filter(({ previous }) => previous !== null && working.has(previous)));
  // The loop also visits what is added meanwhile.
  for (const { id } of followers) if (id !== null) for (const follower of next.get(id) ?? []) followers.add(follower);
  return followers;
};

/** A stopping runner may still work for a long time. Messages that do not wait for this work are returned at once. */
const giveBackIdle = (order: Order): void => {
  const followers = followersOfWork(order);
  const idle = order.held.filter((waiting) => !followers.has(waiting));
  order.held = order.held.filter((waiting) => followers.has(waiting));
  for (const waiting of idle) giveBack(order, waiting);
};

/** Call it when a message may have become ready. */
const recheck = (order: Order): void => {
  if (order.stopped) giveBackIdle(order);
  else handOut(order);
};

/** Adds a message. If the broker delivers a waiting message again, the new copy replaces the old one. */
const hold = (order: Order, message: Msg): void => {
  const held = waitingMessage(message);
  const known = held.id === null ? -1 : order.held.findIndex(({ id }) => id === held.id);
  if (known >= 0) order.held[known] = held;
  else order.held.push(held);
  recheck(order);
  giveBackUnwanted(order, held);
  if (order.held.includes(held)) postponeWaiting(order.messages, held, order.ackWaitMs);
};

const pullOne = async (order: Order): Promise<void> => {
  try {
    const message = await order.messages.pull((late) => hold(order, late));
    order.pulls--;
    if (message) hold(order, message);
    else order.waiters.shift()?.resolve(null);
  } catch (error) {
    order.pulls--;
    order.waiters.shift()?.reject(error);
  }
  requestMessages(order);
};

/** Keeps one request to the broker open for each waiting worker, even while messages are held. */
const requestMessages = (order: Order): void => {
  while (order.pulls < order.waiters.length) {
    order.pulls++;
    void pullOne(order);
  }
};

const pull = async (order: Order): Promise<Msg | null> => {
  if (order.stopped) return null;
  const waiter = Promise.withResolvers<Msg | null>();
  order.waiters.push(waiter);
  handOut(order);
  requestMessages(order);
  return waiter.promise;
};

/** Returns the next messages to ask about: other messages wait for them, and this runner does not know them. */
const nextUnknown = (order: Order): readonly string[] => {
  const here = new Set(order.held.map(({ id }) => id));
  const missing = order.held.filter((held) => !isReady(order, held)).map(({ previous }) => previous!);
  const unknown = [...new Set(missing)].filter((id) => !here.has(id) && !order.working.has(id));
  const from = order.asked < unknown.length ? order.asked : 0;
  order.asked = from + MAX_ASKED;
  return unknown.slice(from, order.asked);
};

const ask = async (order: Order): Promise<void> => {
  recheck(order);
  if (order.isAsking) return;
  const unknown = nextUnknown(order);
  if (unknown.length === 0) return;
  order.isAsking = true;
  try {
    for (const id of await order.findSettled(unknown)) order.settled.add(id);
  } catch (error) {
    if (!isUnavailable(error) && !order.hasReported)
      order.report(`messages of sessions may wait: the service does not say which are settled (${(error as Error).message})`);
    order.hasReported ||= !isUnavailable(error);
  } finally {
    order.isAsking = false;
  }
  const needed = new Set(order.held.map(({ previous }) => previous));
  recheck(order);
  for (const id of order.settled) if (!needed.has(id)) order.settled.delete(id);
};

const stop = (order: Order): Promise<void> => {
  order.stopped ??= order.messages.stopPulls();
  for (const waiter of order.waiters.splice(0)) waiter.resolve(null);
  giveBackIdle(order);
  return order.stopped;
};

/** Keeps the order of each session. Call `recheck` after each processed message. `waiting` returns messages without a handler. */
export type OrderedConsumer = Omit<MessageConsumer, 'pull' | 'stopPulls'> & {
  /** Null if there is no message yet, or the runner stops. */
  readonly pull: () => Promise<Msg | null>;
  /** Call it when the runner stops. Returns all messages to the broker but those that follow a message on which this runner still works. */
  readonly stop: () => void;
  readonly recheck: () => void;
  readonly waiting: () => readonly Msg[];
};

/**
 * Returns a consumer that hands out a message of a session only when the previous one in this session is settled.
 * Until then, the message waits in memory, and progress reports prevent the broker from delivering it again. Other
 * messages overtake it.
 */
export const keepSessionOrder = (messages: MessageConsumer, options: OrderOptions): OrderedConsumer => {
  const { progressMs } = options;
  const ackWaitMs = progressMs === undefined ? ACK_WAIT_MS : 2 * progressMs;
  const state = {
    settled: new Set<string>(),
    held: [],
    waiters: [],
    pulls: 0,
    stopped: null,
    givingBack: new Set<Promise<void>>(),
    isAsking: false,
    asked: 0,
    hasReported: false,
  };
  const order: Order = { ...options, ...state, messages, ackWaitMs };
  const asking = setInterval(() => void ask(order), ASK_INTERVAL_MS);
  const progress = setInterval(() => {
    for (const waiting of order.held) keepWaiting(messages, waiting, order.ackWaitMs);
  }, progressMs ?? PROGRESS_INTERVAL_MS);
  const { stopPulls: _, ...broker } = messages;
  return {
    ...broker,
    pull: () => pull(order),
    stop: () => void stop(order),
    recheck: () => recheck(order),
    waiting: () => order.held.map(({ message }) => message),
    close: async () => {
      await stop(order);
      clearInterval(asking);
      clearInterval(progress);
      for (const waiting of order.held.splice(0)) giveBack(order, waiting);
      await Promise.race([Promise.all(order.givingBack), sleep(GIVE_BACK_TIMEOUT_MS, undefined, { ref: false })]);
      await messages.close();
    },
  };
};
