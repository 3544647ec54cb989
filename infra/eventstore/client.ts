import { BACKWARDS, END, ErrorType, EventStoreDBClient, FORWARDS, NO_STREAM, type ResolvedEvent, START } from '@eventstore/db-client';
import type { Recorded } from '../../domain/event.ts';
import { withDeadline } from './deadline.ts';
import { classify } from './errors.ts';
import { prepared, toRecorded } from './event-codec.ts';
import { type Appended, type Expected, type Log, LogError, type NewEvent } from './event-log.ts';
import { follow } from './subscription.ts';

const REPEAT_AFTER = 100;
const ATTEMPT = 5_000;

/** So long a server may say nothing to a read: that its connection is dead would show after 20 s. */
const ANSWER_MS = 5_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const revisionOf = (expected: Expected) => (expected === 'none' ? NO_STREAM : BigInt(expected));

type Source = {
  iterator: (options: { destroyOnReturn: boolean }) => AsyncIterable<ResolvedEvent>;
  resume: () => unknown;
  cancel: () => Promise<void>;
  on: (event: 'error', listener: () => void) => unknown;
};

/** So long after "no such stream" the server's end of the call has come: cancelled before, it would be a reset, and servers end connections with many. */
const ANSWERED_MS = 20;

async function* recorded(source: Source, sorted: typeof classify): AsyncGenerator<Recorded> {
  let isAnswered = false;
  // Destroyed before its end, the client's stream never lets go of its call, and `dispose` would wait for it: it runs dry instead.
  const events = source.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  try {
    for (let step = await withDeadline(ANSWER_MS, events.next()); !step.done; step = await events.next()) {
      const one = step.value.event && toRecorded(step.value.event);
      if (one) yield one;
    }
  } catch (error) {
    isAnswered = (error as { type?: string }).type === ErrorType.STREAM_NOT_FOUND;
    if (!isAnswered) throw sorted(error);
  } finally {
    void events.return?.().catch(() => {});
    source.on('error', () => {});
    source.resume();
    const leave = (): void => void source.cancel().catch(() => {});
    if (isAnswered) setTimeout(leave, ANSWERED_MS);
    else leave();
  }
}

const firstOf = async (source: AsyncIterable<Recorded>): Promise<Recorded | null> => {
  for await (const event of source) return event;
  return null;
};

/**
 * Opens the log at a connection string (esdb://…), through the unchanged client. Nothing is sent until the first call. `damaged` is told
 * whenever a call meets a record that is harmed.
 */
export const openLog = (url: string, { damaged = () => {} }: { readonly damaged?: (message: string) => void } = {}): Log => {
  const client = EventStoreDBClient.connectionString(url as never);
  const sorted = (error: unknown): LogError => {
    const known = classify(error);
    if (known.kind === 'damaged') damaged(known.message);
    return known;
  };

  const read: Log['read'] = (stream, { from = 0, limit } = {}) =>
    recorded(
      client.readStream(stream, {
        direction: FORWARDS,
        fromRevision: from === 0 ? START : BigInt(from),
        ...(limit === undefined ? {} : { maxCount: limit }),
      }),
      sorted,
    );

  const last: Log['last'] = (stream) =>
    firstOf(recorded(client.readStream(stream, { direction: BACKWARDS, fromRevision: END, maxCount: 1 }), sorted));

  /** What already lies behind `expected`, if it is exactly these events; a conflict otherwise. */
  const already = async (stream: string, expected: Expected, events: readonly NewEvent[]): Promise<Appended | null> => {
    const found: Recorded[] = [];
    for await (const event of read(stream, { from: expected === 'none' ? 0 : expected + 1, limit: events.length })) found.push(event);
    const ours = found.length === events.length && found.every((event, index) => event.event_id === events[index]!.id);
    const end = found.at(-1);
    return ours && end ? { revision: end.revision, position: end.position } : null;
  };

  const attempt = async (
    stream: string,
    expected: Expected,
    events: readonly NewEvent[],
    data: ReturnType<typeof prepared>,
    ms: number,
  ) => {
    const result = await client.appendToStream(stream, data, { expectedRevision: revisionOf(expected), deadline: ms });
    if (result.position) return { revision: Number(result.nextExpectedRevision), position: result.position };
    const there = await already(stream, expected, events);
    if (there) return there;
    throw new LogError('conflict', 'the append was answered without a position and its events are not there');
  };

  const append: Log['append'] = async (stream, expected, events, { deadline = 10_000 } = {}) => {
    const data = prepared(events);
    const end = Date.now() + deadline;
    const left = (): number => Math.max(1, Math.min(ATTEMPT, end - Date.now()));
    for (let repeats = 0; ; repeats++) {
      try {
        return await withDeadline(left(), attempt(stream, expected, events, data, left()));
      } catch (caught) {
        const error = sorted(caught);
        if (error.kind === 'conflict' && repeats > 0) {
          const there = await withDeadline(left(), already(stream, expected, events));
          if (there) return there;
        }
        if (error.kind !== 'unavailable' || Date.now() + REPEAT_AFTER >= end) throw error;
        await sleep(REPEAT_AFTER);
      }
    }
  };

  return {
    append,
    read,
    last,
    readAll: async function* ({ from, backwards = false, limit } = {}) {
      const source = client.readAll({ direction: backwards ? BACKWARDS : FORWARDS, fromPosition: from ?? (backwards ? END : START) });
      let count = 0;
      for await (const event of recorded(source, sorted)) {
        yield event;
        if (limit !== undefined && ++count >= limit) return;
      }
    },
    follow: (follower) => follow(() => client, follower, sorted),
    ping: async () => {
      await withDeadline(2_000, firstOf(recorded(client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }), sorted)));
    },
    close: async () => {
      await client.dispose();
    },
  };
};
