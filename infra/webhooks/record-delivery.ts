import { randomUUID } from 'node:crypto';
import type { NewDelivery, RecordedDelivery } from '../../commands/webhooks/receive-delivery.ts';
import { type Metadata, streamName, tokenOf } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { category } from '../../domain/webhooks/delivery.ts';
import { withDeadline } from '../eventstore/deadline.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';

/** So long the store may say nothing to anybody: providers wait for seconds at most, and the client's own deadline is ten. */
const STORE_SILENCE_TIMEOUT_MS = 500;
/** So long a delivery may wait for a store that answers others. */
const APPEND_TIMEOUT_MS = 3_000;
const LOOKUP_TIMEOUT_MS = 900;
/** So many deliveries may wait for the store at once: about half a second of its work. */
const MAX_WAITING = 1_500;
const NOTHING = new Uint8Array(0);

/** So long it is remembered that the log took nothing, where nothing else is tried. */
const FAILURE_TTL_MS = 5_000;

export type Recorder = {
  readonly record: (recording: NewDelivery) => Promise<RecordedDelivery>;
  /** Whether the log did not take the last delivery, a moment ago: its disk may be full, which nobody sees who only reads there. */
  readonly isFailing: () => boolean;
};

/** Records a delivery in the stream that its name names, which must not exist yet: that it does is the answer "seen". A body in parts is there already. */
export const recorder = (log: Log): Recorder => {
  let waiting = 0;
  let heard = 0;
  let failedAt = Number.NEGATIVE_INFINITY;
  const whereSeenOrFailed = (error: unknown): RecordedDelivery => {
    if (!isConflict(error)) failedAt = performance.now();
    return duplicateOrThrow(error);
  };

  const append = async (recording: NewDelivery): Promise<RecordedDelivery> => {
    const data = recording.facts.parts === undefined ? recording.body : NOTHING;
    const event = { id: randomUUID(), type: recording.type, data, meta: metadata(recording) };
    const appended = log.append(streamOf(recording), 'none', [event], { deadline: APPEND_TIMEOUT_MS });
    const recorded = await appended.then(({ position }) => ({ token: tokenOf(position) }), whereSeenOrFailed);
    heard = performance.now();
    failedAt = Number.NEGATIVE_INFINITY;
    return recorded;
  };

  /** When nobody heard from the store for too long, or this one has waited long enough. */
  const hopelessAt = (began: number): number => Math.min(began + APPEND_TIMEOUT_MS, Math.max(began, heard) + STORE_SILENCE_TIMEOUT_MS);

  // Our own timer: the client has none that fires while a connection is being made.
  const record = (recording: NewDelivery): Promise<RecordedDelivery> => {
    if (waiting >= MAX_WAITING) throw retryLater();
    const began = performance.now();
    waiting++;
    return new Promise<RecordedDelivery>((resolve, reject) => {
      const check = (): void => {
        const left = hopelessAt(began) - performance.now();
        if (left > 0) {
          timer = setTimeout(peek, left);
          return;
        }
        failedAt = performance.now();
        reject(retryLater());
      };
      // An answer that has come already, while this process was busy, is read first.
      const peek = (): void => void setImmediate(check);
      let timer = setTimeout(peek, STORE_SILENCE_TIMEOUT_MS);
      append(recording)
        .then(resolve, reject)
        .finally(() => {
          waiting--;
          clearTimeout(timer);
        });
    });
  };

  return { record, isFailing: () => performance.now() - failedAt < FAILURE_TTL_MS };
};

export const streamOf = ({ integration, id }: Pick<NewDelivery, 'integration' | 'id'>): string =>
  streamName(category, integration.tenant_id, id);

/** An answer for the sender to come back: not at once, and not all of them together. */
export const retryLater = (): Refusal =>
  new Refusal('unavailable', 'the delivery could not be recorded: send it again', { retryAfter: 5 + Math.floor(Math.random() * 56) });

/** What memory lacks and the log does not say within 900 ms is not waited for. @throws Refusal unavailable */
export const withTimeout = <T>(found: T | Promise<T>): T | Promise<T> =>
  found instanceof Promise ? withDeadline(LOOKUP_TIMEOUT_MS, found).catch(toRetryLater) : found;

/** Turns an unreachable log into `busy`. */
export const toRetryLater = (error: unknown): never => {
  if (error instanceof LogError && error.kind === 'unavailable') throw retryLater();
  if (error instanceof LogError && error.kind === 'gone') throw new Refusal('not_found', 'there is no such hook');
  throw error;
};

const isConflict = (error: unknown): boolean => error instanceof LogError && error.kind === 'conflict';

const duplicateOrThrow = (error: unknown): RecordedDelivery => {
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
