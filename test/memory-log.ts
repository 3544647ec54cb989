import { comparePositions, type Position, parseStream, type Recorded } from '../domain/event.ts';
import { prepared } from '../infra/eventstore/events.ts';
import {
  type Appended,
  type Expected,
  type Filter,
  type Follower,
  type Log,
  LogError,
  type NewEvent,
  type Subscription,
} from '../infra/eventstore/log.ts';

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const passes = (filter: Filter | undefined, { stream, type }: Recorded): boolean =>
  !filter ||
  ('streamPrefixes' in filter ? filter.streamPrefixes.some((prefix) => stream.startsWith(prefix)) : filter.eventTypes.includes(type));

/** The log without a server: a real node's rules on positions (gaps), repeats, filters and checkpoints, over an array. */
export type MemoryLog = Log & {
  readonly events: readonly Recorded[];
  /** Every call fails as unavailable and followers hear nothing until the function that this returns is called. */
  readonly outage: () => () => void;
};

const toRecorded = (stream: string, { id, type, data, meta }: NewEvent, revision: number, position: Position): Recorded => {
  const place = parseStream(stream);
  if (!place) throw new LogError('wrong-request', `not one of our stream names: ${stream}`);
  const kept = plain(meta);
  return {
    ...place,
    type,
    stream,
    revision,
    position,
    data: data instanceof Uint8Array ? new Uint8Array(data) : plain(data),
    event_id: id,
    at: kept.at,
    actor: kept.actor,
    meta: kept,
  };
};

/** Where the ids that stand behind `expected` begin with exactly these, the answer of their first append. */
const already = (held: readonly Recorded[], expected: Expected, events: readonly NewEvent[]): Appended | null => {
  const start = expected === 'none' ? 0 : expected + 1;
  if (!events.every(({ id }, index) => held[start + index]?.event_id === id)) return null;
  const { revision, position } = held[start + events.length - 1]!;
  return { revision, position };
};

/** Opens an empty log. Appends are ordered as they are called; followers are served asynchronously, each in log order. */
export const memoryLog = (): MemoryLog => {
  const events: Recorded[] = [];
  const streams = new Map<string, Recorded[]>();
  const waiting = new Set<() => void>();
  const indexes = new Map<string, number>();
  let offset = 700n;
  let outages = 0;
  let closed = false;

  const wake = () => {
    const all = [...waiting];
    waiting.clear();
    for (const resume of all) resume();
  };
  const change = () => new Promise<void>((resolve) => waiting.add(resolve));
  const reached = () => {
    if (closed || outages > 0) throw new LogError('unavailable', closed ? 'the log is closed' : 'the log is down');
  };
  const indexOf = (position: Position): number => {
    const index = indexes.get(`${position.commit}:${position.prepare}`);
    if (index === undefined) throw new LogError('wrong-request', 'Unexpected ReadAllResult: Error');
    return index;
  };

  const append: Log['append'] = async (stream, expected, added) => {
    reached();
    prepared(added);
    const held = streams.get(stream) ?? [];
    const repeat = already(held, expected, added);
    if (repeat) return repeat;
    if (held.length - 1 !== (expected === 'none' ? -1 : expected)) throw new LogError('conflict', `${stream} is at ${held.length - 1}`);
    const recorded = added.map((event, index) => {
      offset += 97n + BigInt(event.type.length);
      return toRecorded(stream, event, held.length + index, { commit: offset, prepare: offset });
    });
    for (const event of recorded) indexes.set(`${event.position.commit}:${event.position.prepare}`, events.push(event) - 1);
    held.push(...recorded);
    streams.set(stream, held);
    wake();
    const { revision, position } = recorded.at(-1)!;
    return { revision, position };
  };

  const serve = async (follower: Follower, end: number, stopped: () => boolean, moved: (position: Position) => void): Promise<void> => {
    let next = follower.from === 'end' ? end : follower.from ? indexOf(follower.from) + 1 : 0;
    let skipped: Position | null = null;
    for (let told = false; !stopped() && !closed; ) {
      const event = outages > 0 ? undefined : events[next];
      if (event && passes(follower.filter, event)) {
        next++;
        skipped = null;
        const work = follower.event(event);
        if (work) await work;
        moved(event.position);
        continue;
      }
      if (event) {
        next++;
        skipped = event.position;
        continue;
      }
      const seen = skipped;
      skipped = null;
      if (seen) {
        await follower.checkpoint?.(seen);
        moved(seen);
        continue;
      }
      if (!told && outages === 0) {
        told = true;
        follower.caughtUp?.();
      }
      if (next === events.length || outages > 0) await change();
    }
  };

  const follow = (follower: Follower): Subscription => {
    let position = follower.from === 'end' ? undefined : follower.from;
    const end = events.length;
    let stopped = false;
    const failure = Promise.resolve()
      .then(() =>
        serve(
          follower,
          end,
          () => stopped,
          (at) => {
            if (!position || comparePositions(at, position) > 0) position = at;
          },
        ),
      )
      .then(
        () => null,
        (error: Error) => error,
      );
    return {
      stop: async () => {
        stopped = true;
        wake();
        await failure;
      },
      position: () => position,
      failure,
    };
  };

  return {
    events,
    append,
    read: async function* (stream, { from = 0, limit } = {}) {
      reached();
      yield* (streams.get(stream) ?? []).slice(from, limit === undefined ? undefined : from + limit);
    },
    last: async (stream) => {
      reached();
      return streams.get(stream)?.at(-1) ?? null;
    },
    readAll: async function* ({ from, backwards = false, limit } = {}) {
      reached();
      const start = from ? indexOf(from) : backwards ? events.length - 1 : 0;
      const found = backwards ? events.slice(0, start + 1).reverse() : events.slice(start);
      yield* limit === undefined ? found : found.slice(0, limit);
    },
    follow,
    ping: async () => reached(),
    close: async () => {
      closed = true;
      wake();
    },
    outage: () => {
      outages++;
      let over = false;
      return () => {
        if (!over) outages--;
        over = true;
        wake();
      };
    },
  };
};
