import type { NewDelivery, RecordedDelivery } from '../../commands/deliveries/webhook-ports.ts';
import { category } from '../../domain/deliveries/delivery.ts';
import { type Metadata, streamName, tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { withDeadline } from '../eventstore/deadline.ts';
import { isConflict, type Log, LogError } from '../eventstore/event-log.ts';
import { createLinkedList, type LinkedList } from '../linked-list.ts';
import type { BytesEvent, SealedEvents } from '../vault/sealed-events.ts';

/** In milliseconds: an append fails if the event store answers none for this long. Providers do not wait for the client's 10 s. */
const STORE_SILENCE_TIMEOUT_MS = 500;
/** The time in milliseconds after which an append fails even if the event store still answers other appends. */
const APPEND_TIMEOUT_MS = 3_000;
const LOOKUP_TIMEOUT_MS = 900;
/** The maximum number of waiting appends. The event store handles this many in about half a second. */
const MAX_WAITING = 1_500;
/** How long recording counts as failing after failed appends, in milliseconds. A later answer ends this time. */
const FAILURE_TTL_MS = 5_000;
const MIN_FAILURES = 2;
/** Appends that get no answer are slow, and not failed, unless none has got an answer for this time (milliseconds). */
const SLOW_TIMEOUT_MS = 5_000;
const MIN_RETRY_AFTER_SECONDS = 5;
const MAX_RETRY_AFTER_SECONDS = 60;
const NO_BYTES = new Uint8Array(0);

/** By `eventId`, the id of the delivery's event, the log recognises a repeated attempt. */
export type Attempt = {
  readonly eventId: string;
  /** Whether to try again until the time limit while the log cannot be reached. */
  readonly retry: boolean;
};

export type AppendDeps = { readonly log: Log; readonly vault: Pick<SealedEvents, 'sealEvent'> };

/** The appends of this process that wait for the event store, and how the last ones ended. Times are those of `performance.now()`. */
export type DeliveryAppends = AppendDeps & {
  waiting: number;
  /** Functions that refuse the deliveries of waiting senders, in the order of arrival. */
  readonly senders: LinkedList<() => void>;
  lastAnswerAt: number;
  failures: number;
  /** The time of the first append without an answer since the last answer. */
  slowSince: number;
  failedAt: number;
};

export const createDeliveryAppends = ({ log, vault }: AppendDeps): DeliveryAppends => ({
  log,
  vault,
  waiting: 0,
  senders: createLinkedList(),
  lastAnswerAt: 0,
  failures: 0,
  slowSince: Number.POSITIVE_INFINITY,
  failedAt: Number.NEGATIVE_INFINITY,
});

/**
 * Whether the last appends failed, less than FAILURE_TTL_MS ago: at least two in a row, or all of several seconds were
 * without an answer. /readyz uses this to detect a full disk, because reads still work then.
 */
export const isFailing = ({ failedAt, failures, slowSince }: DeliveryAppends): boolean => {
  const now = performance.now();
  return now - failedAt < FAILURE_TTL_MS && (failures >= MIN_FAILURES || now - slowSince > SLOW_TIMEOUT_MS);
};

/** Returns whether the maximum number of appends is waiting, so that the next one is refused. */
export const isFull = ({ waiting }: DeliveryAppends): boolean => waiting >= MAX_WAITING;

/** Refuses all deliveries that are waiting for the event store, in the order of their arrival. */
export const giveUpWaiting = ({ senders }: DeliveryAppends): void => {
  for (const giveUp of senders.values()) giveUp();
};

const onAnswer = (appends: DeliveryAppends): void => {
  appends.lastAnswerAt = performance.now();
  appends.failures = 0;
  appends.slowSince = Number.POSITIVE_INFINITY;
};

const onFailure = (appends: DeliveryAppends): void => {
  appends.failures++;
  appends.failedAt = performance.now();
};

const onTimedOut = (appends: DeliveryAppends, startedAt: number): void => {
  appends.slowSince = Math.min(appends.slowSince, startedAt);
  appends.failedAt = performance.now();
};

/** An append fails after APPEND_TIMEOUT_MS, or earlier if the event store answers none for STORE_SILENCE_TIMEOUT_MS. */
const timeoutAt = ({ lastAnswerAt }: DeliveryAppends, startedAt: number): number =>
  Math.min(startedAt + APPEND_TIMEOUT_MS, Math.max(startedAt, lastAnswerAt) + STORE_SILENCE_TIMEOUT_MS);

const append = async (appends: DeliveryAppends, delivery: NewDelivery, { eventId, retry }: Attempt): Promise<RecordedDelivery> => {
  const { log, vault } = appends;
  const { integration, id } = delivery;
  const sealing = vault.sealEvent({ tenant: integration.tenant_id, category, id }, eventOf(delivery, eventId));
  const event = sealing instanceof Promise ? await sealing.catch(toRetryLater) : sealing;
  const appended = log.append(deliveryStream(delivery), 'none', [event], { deadline: APPEND_TIMEOUT_MS, retry });
  const recorded = await appended.then(
    ({ position }) => ({ token: tokenOf(position) }),
    (error: unknown) => {
      if (isConflict(error)) return { token: null };
      onFailure(appends);
      return toRetryLater(error);
    },
  );
  onAnswer(appends);
  return recorded;
};

/**
 * Each delivery is the first event of a stream with its id in the name, so the append of a redelivery fails with a conflict: this is how
 * redeliveries are recognised. The chunks of a large body must be written before. The tenant's data key encrypts the body.
 * @throws Refusal unavailable; the delivery may nevertheless be in the log
 */
export const appendInTime = (appends: DeliveryAppends, delivery: NewDelivery, attempt: Attempt): Promise<RecordedDelivery> => {
  if (isFull(appends)) throw retryLater();
  const { senders } = appends;
  const startedAt = performance.now();
  // Has its own timer: the client's deadline does not include the time for connecting.
  return new Promise<RecordedDelivery>((resolve, reject) => {
    const giveUp = (): void => {
      senders.remove(sender);
      reject(retryLater(new Error('the event store does not answer in time')));
    };
    const failOrWait = (): void => {
      const left = timeoutAt(appends, startedAt) - performance.now();
      if (left > 0) {
        timer = setTimeout(onTimeout, left);
        return;
      }
      onTimedOut(appends, startedAt);
      giveUp();
    };
    // If this process was busy, an answer may not have been read yet: let the event loop run once more.
    const onTimeout = (): void => void setImmediate(failOrWait);
    let timer = setTimeout(onTimeout, STORE_SILENCE_TIMEOUT_MS);
    appends.waiting++;
    const sender = senders.add(giveUp);
    append(appends, delivery, attempt)
      .then(resolve, reject)
      .finally(() => {
        appends.waiting--;
        senders.remove(sender);
        clearTimeout(timer);
      });
  });
};

export const deliveryStream = ({ integration, id }: Pick<NewDelivery, 'integration' | 'id'>): string =>
  streamName(category, integration.tenant_id, id);

/** Senders do not see the cause. The delay is random, so that not all of them repeat at the same time. */
export const retryLater = (cause?: unknown): Refusal => {
  const range = MAX_RETRY_AFTER_SECONDS - MIN_RETRY_AFTER_SECONDS + 1;
  const retryAfter = MIN_RETRY_AFTER_SECONDS + Math.floor(Math.random() * range);
  return Object.assign(new Refusal('unavailable', 'The delivery could not be recorded: send it again', { retryAfter }), { cause });
};

/** Waits at most 900 ms. Returns no promise if the result is in memory. @throws Refusal unavailable */
export const withTimeout = <T>(found: T | Promise<T>): T | Promise<T> =>
  found instanceof Promise ? withDeadline(LOOKUP_TIMEOUT_MS, found).catch(toRetryLater) : found;

/** Other errors are thrown unchanged. @throws Refusal unavailable, not_found */
export const toRetryLater = (error: unknown): never => {
  if (error instanceof LogError && error.kind === 'unavailable') throw retryLater(error);
  if (error instanceof LogError && error.kind === 'gone') throw new Refusal('not_found', 'There is no such webhook address');
  throw error;
};

const eventOf = (delivery: NewDelivery, eventId: string): BytesEvent => {
  const data = delivery.facts.parts === undefined && delivery.body instanceof Uint8Array ? delivery.body : NO_BYTES;
  return { id: eventId, type: delivery.type, data, meta: metadata(delivery) };
};

const metadata = ({ integration, facts, ip, user_agent }: NewDelivery): Metadata => ({
  tenant: integration.tenant_id,
  actor: { kind: 'system', id: integration.id },
  at: facts.received_at,
  v: 1,
  ip,
  userAgent: user_agent,
  facts,
});
