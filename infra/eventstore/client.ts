import { setTimeout as sleep } from 'node:timers/promises';
import { ANY, BACKWARDS, END, type EventStoreDBClient, FORWARDS, NO_STREAM, START } from '@eventstore/db-client';
import { firstEvent, readEvents } from './client-read.ts';
import { withDeadline } from './deadline.ts';
import { classify } from './errors.ts';
import { encodeEvents } from './event-codec.ts';
import { type Appended, type Expected, isConflict, type Log, LogError, type NewEvent } from './event-log.ts';
import { createStoreClient } from './store-client.ts';
import { follow } from './subscription.ts';

const RETRY_DELAY_MS = 100;
const ATTEMPT_TIMEOUT_MS = 5_000;
const PING_TIMEOUT_MS = 2_000;
/**
 * The deadline, in milliseconds, of appends that are tried only once. The server refuses an append that it reads after
 * the deadline. With a short deadline, a server that was paused could refuse the first appends that wait and record
 * later ones, but callers rely on their order.
 */
const SINGLE_ATTEMPT_TIMEOUT_MS = 3_600_000;
const DEFAULT_DEADLINE_MS = 10_000;

const expectedRevisionOf = (expected: Expected) => (expected === 'none' ? NO_STREAM : BigInt(expected));

/** A retry sends exactly these values again. */
type Append = {
  readonly retry: boolean;
  readonly stream: string;
  readonly expected: Expected;
  readonly events: readonly NewEvent[];
  readonly data: ReturnType<typeof encodeEvents>;
};

type Connection = { readonly client: EventStoreDBClient; readonly toLogError: (error: unknown) => LogError };

const readStream = ({ client, toLogError }: Connection, ...[stream, { from, limit, backwards = false } = {}]: Parameters<Log['read']>) =>
  readEvents(
    () =>
      client.readStream(stream, {
        direction: backwards ? BACKWARDS : FORWARDS,
        fromRevision: from === undefined ? (backwards ? END : START) : BigInt(from),
        ...(limit === undefined ? {} : { maxCount: limit }),
      }),
    toLogError,
  );

/** Returns the result of an earlier attempt if these events follow the revision `expected` in the stream; otherwise null. */
const findEarlierAppend = async (connection: Connection, { stream, expected, events }: Append): Promise<Appended | null> => {
  const from = expected === 'none' ? 0 : expected + 1;
  const found = await Array.fromAsync(readStream(connection, stream, { from, limit: events.length }));
  const isSame = found.length === events.length && found.every((event, index) => event.event_id === events[index]!.id);
  const last = found.at(-1);
  return isSame && last ? { revision: last.revision, position: last.position } : null;
};

const tryAppend = async (connection: Connection, append: Append, deadline: number): Promise<Appended> => {
  const expectedRevision = expectedRevisionOf(append.expected);
  const result = await connection.client.appendToStream(append.stream, append.data, { expectedRevision, deadline });
  if (result.position) return { revision: Number(result.nextExpectedRevision), position: result.position };
  const earlier = await findEarlierAppend(connection, append);
  if (earlier) return earlier;
  throw new LogError('conflict', 'the server answered the append without a position, and the stream does not contain its events');
};

/**
 * Retries for up to `deadline` ms. A conflict can come from an own attempt whose answer was lost, so the stream is read before it is
 * reported.
 */
const appendWithRetries = async (connection: Connection, append: Append, deadline: number): Promise<Appended> => {
  const end = Date.now() + deadline;
  const timeLeft = (): number => Math.max(1, Math.min(ATTEMPT_TIMEOUT_MS, end - Date.now()));
  for (let retries = 0; ; retries++) {
    try {
      return await withDeadline(timeLeft(), tryAppend(connection, append, append.retry ? timeLeft() : SINGLE_ATTEMPT_TIMEOUT_MS));
    } catch (caught) {
      const error = connection.toLogError(caught);
      if (error.kind === 'conflict' && retries > 0) {
        const earlier = await withDeadline(timeLeft(), findEarlierAppend(connection, append));
        if (earlier) return earlier;
      }
      if (error.kind !== 'unavailable' || !append.retry || Date.now() + RETRY_DELAY_MS >= end) throw error;
      await sleep(RETRY_DELAY_MS);
    }
  }
};

export type AppendOutcome = 'ok' | 'conflict' | 'failed';

export type LogOptions = {
  /** Called with the error message each time a call meets a damaged record. */
  readonly onDamage?: (message: string) => void;
  /** Called after every append with its duration, including retries. */
  readonly onAppend?: (outcome: AppendOutcome, milliseconds: number) => void;
};

/** `url` is an EventStoreDB connection string (esdb://…). Nothing is sent until the first call. */
export const openLog = (url: string, { onDamage = () => {}, onAppend = () => {} }: LogOptions = {}): Log => {
  const client = createStoreClient(url);
  const toLogError = (error: unknown): LogError => {
    const logError = classify(error);
    if (logError.kind === 'damaged') onDamage(logError.message);
    return logError;
  };
  const connection: Connection = { client, toLogError };
  const lastOf = (open: Parameters<typeof readEvents>[0]) => firstEvent(readEvents(open, toLogError));

  return {
    append: async (stream, expected, events, { deadline = DEFAULT_DEADLINE_MS, retry = true } = {}) => {
      const startedAt = performance.now();
      let outcome: AppendOutcome = 'failed';
      try {
        const appended = await appendWithRetries(connection, { stream, expected, events, data: encodeEvents(events), retry }, deadline);
        outcome = 'ok';
        return appended;
      } catch (error) {
        if (isConflict(error)) outcome = 'conflict';
        throw error;
      } finally {
        onAppend(outcome, performance.now() - startedAt);
      }
    },
    read: (stream, options) => readStream(connection, stream, options),
    tombstone: async (stream) => {
      try {
        await withDeadline(DEFAULT_DEADLINE_MS, client.tombstoneStream(stream, { expectedRevision: ANY }));
      } catch (error) {
        const logError = toLogError(error);
        if (logError.kind !== 'gone') throw logError;
      }
    },
    truncate: async (stream, before) => {
      try {
        await withDeadline(DEFAULT_DEADLINE_MS, client.setStreamMetadata(stream, { truncateBefore: before }));
      } catch (error) {
        throw toLogError(error);
      }
    },
    last: (stream) => lastOf(() => client.readStream(stream, { direction: BACKWARDS, fromRevision: END, maxCount: 1 })),
    readAll: async function* ({ from, backwards = false, limit } = {}) {
      const fromPosition = from ?? (backwards ? END : START);
      const open = () => client.readAll({ direction: backwards ? BACKWARDS : FORWARDS, fromPosition });
      let count = 0;
      for await (const event of readEvents(open, toLogError)) {
        yield event;
        if (limit !== undefined && ++count >= limit) return;
      }
    },
    follow: (follower) => follow(() => client, follower, toLogError),
    ping: () =>
      withDeadline(
        PING_TIMEOUT_MS,
        lastOf(() => client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })),
      ),
    close: async () => {
      await client.dispose();
    },
  };
};
