import { randomUUID } from 'node:crypto';
import type { NewDelivery, RecordedDelivery } from '../../commands/webhooks/webhook-ports.ts';
import { type Metadata, streamName, tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { category } from '../../domain/webhooks/delivery.ts';
import { withDeadline } from '../eventstore/deadline.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';

/**
 * An append fails if the event store has answered no append for this long. Providers wait for seconds only; the
 * client's own deadline is 10 s.
 */
const STORE_SILENCE_TIMEOUT_MS = 500;
/** An append fails after this time even if the event store answers others. */
const APPEND_TIMEOUT_MS = 3_000;
const LOOKUP_TIMEOUT_MS = 900;
/** Appends in flight: about half a second of the event store's work. */
const MAX_WAITING = 1_500;
/** How long a failed append counts as the current state if no other append is tried. */
const FAILURE_TTL_MS = 5_000;
const MIN_RETRY_AFTER_SECONDS = 5;
const MAX_RETRY_AFTER_SECONDS = 60;
const NO_BYTES = new Uint8Array(0);

export type DeliveryRecorder = {
  readonly record: (delivery: NewDelivery) => Promise<RecordedDelivery>;
  /** Whether the last append failed a moment ago. A full disk cannot be detected by reading: reads still work. */
  readonly isFailing: () => boolean;
};

/**
 * Records deliveries, each as the first event of the stream that its id names. This is where a redelivery is
 * recognised: its stream exists, so the append conflicts. The chunks of a large body must be written first.
 */
export const createDeliveryRecorder = (log: Log): DeliveryRecorder => {
  let waiting = 0;
  let lastAnswerAt = 0;
  let failedAt = Number.NEGATIVE_INFINITY;

  const onAppendError = (error: unknown): RecordedDelivery => {
    if (!isConflict(error)) failedAt = performance.now();
    return redeliveryOrThrow(error);
  };

  const append = async (delivery: NewDelivery): Promise<RecordedDelivery> => {
    const data = delivery.facts.parts === undefined ? delivery.body : NO_BYTES;
    const event = { id: randomUUID(), type: delivery.type, data, meta: metadata(delivery) };
    const appended = log.append(deliveryStream(delivery), 'none', [event], { deadline: APPEND_TIMEOUT_MS });
    const recorded = await appended.then(({ position }) => ({ token: tokenOf(position) }), onAppendError);
    lastAnswerAt = performance.now();
    failedAt = Number.NEGATIVE_INFINITY;
    return recorded;
  };

  /** When an append that started at `startedAt` fails: the store is silent, or the append waits, for too long. */
  const timeoutAt = (startedAt: number): number =>
    Math.min(startedAt + APPEND_TIMEOUT_MS, Math.max(startedAt, lastAnswerAt) + STORE_SILENCE_TIMEOUT_MS);

  // Our own timer, because the client's deadline does not cover the time of connecting.
  const record = (delivery: NewDelivery): Promise<RecordedDelivery> => {
    if (waiting >= MAX_WAITING) throw retryLater();
    const startedAt = performance.now();
    waiting++;
    return new Promise<RecordedDelivery>((resolve, reject) => {
      const failOrWait = (): void => {
        const left = timeoutAt(startedAt) - performance.now();
        if (left > 0) {
          timer = setTimeout(onTimeout, left);
          return;
        }
        failedAt = performance.now();
        reject(retryLater());
      };
      // If this process was busy, an answer may have arrived but not been read yet: let the event loop read it first.
      const onTimeout = (): void => void setImmediate(failOrWait);
      let timer = setTimeout(onTimeout, STORE_SILENCE_TIMEOUT_MS);
      append(delivery)
        .then(resolve, reject)
        .finally(() => {
          waiting--;
          clearTimeout(timer);
        });
    });
  };

  return { record, isFailing: () => performance.now() - failedAt < FAILURE_TTL_MS };
};

export const deliveryStream = ({ integration, id }: Pick<NewDelivery, 'integration' | 'id'>): string =>
  streamName(category, integration.tenant_id, id);

/** Asks the sender to send the delivery again, after a random time so that not all senders return at once. */
export const retryLater = (): Refusal => {
  const range = MAX_RETRY_AFTER_SECONDS - MIN_RETRY_AFTER_SECONDS + 1;
  const retryAfter = MIN_RETRY_AFTER_SECONDS + Math.floor(Math.random() * range);
  return new Refusal('unavailable', 'The delivery could not be recorded: send it again', { retryAfter });
};

/** Waits at most 900 ms for a look-up that memory could not answer. @throws Refusal unavailable */
export const withTimeout = <T>(found: T | Promise<T>): T | Promise<T> =>
  found instanceof Promise ? withDeadline(LOOKUP_TIMEOUT_MS, found).catch(toRetryLater) : found;

/** Turns errors of the log into refusals; other errors are rethrown. @throws Refusal unavailable, not_found */
export const toRetryLater = (error: unknown): never => {
  if (error instanceof LogError && error.kind === 'unavailable') throw retryLater();
  if (error instanceof LogError && error.kind === 'gone') throw new Refusal('not_found', 'There is no such webhook address');
  throw error;
};

const isConflict = (error: unknown): boolean => error instanceof LogError && error.kind === 'conflict';

/** A conflict means that the delivery was recorded before. */
const redeliveryOrThrow = (error: unknown): RecordedDelivery => {
  if (isConflict(error)) return { token: null };
  return toRetryLater(error);
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
