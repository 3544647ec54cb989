import { TOMBSTONE_REVISION } from '../log/record.ts';

/** The revision and the log position of a stream's last event. */
export type Entry = { revision: number; position: number };

/** `positions` starts at the revision `first`, and has ABSENT for scavenged events. `tombstone` is its position; -1 if none. */
type StreamEntries = { first: number; positions: number[]; tombstone: number };

const ABSENT = -1;

export type Memtable = ReturnType<typeof createMemtable>;

const lastOf = ({ first, positions, tombstone }: StreamEntries): Entry =>
  tombstone >= 0
    ? { revision: TOMBSTONE_REVISION, position: tombstone }
    : { revision: first + positions.length - 1, position: positions.at(-1)! };

const append = (entries: StreamEntries, revision: number, position: number): void => {
  if (entries.positions.length === 0) entries.first = revision;
  while (entries.first + entries.positions.length < revision) entries.positions.push(ABSENT);
  entries.positions.push(position);
};

/** Returns all entries, ordered by key and revision. An entry is three numbers: key, revision and position. */
const sortedEntries = (streams: Map<number, StreamEntries>, size: number): Float64Array => {
  const keys = Float64Array.from(streams.keys()).sort();
  const sorted = new Float64Array(size * 3);
  let at = 0;
  const add = (key: number, revision: number, position: number) => {
    sorted[at++] = key;
    sorted[at++] = revision;
    sorted[at++] = position;
  };
  for (const key of keys) {
    const { first, positions, tombstone } = streams.get(key)!;
    for (const [i, position] of positions.entries()) if (position !== ABSENT) add(key, first + i, position);
    if (tombstone >= 0) add(key, TOMBSTONE_REVISION, tombstone);
  }
  return sorted;
};

/** The newest entries of the index, in memory: from stream key and revision to log position. */
export const createMemtable = () => {
  const streams = new Map<number, StreamEntries>();
  let size = 0;

  /** Revisions of a stream must come in ascending order. */
  const put = (key: number, revision: number, position: number): void => {
    size++;
    const entries = streams.get(key);
    if (revision === TOMBSTONE_REVISION) {
      if (entries) entries.tombstone = position;
      else streams.set(key, { first: 0, positions: [], tombstone: position });
    } else if (entries) append(entries, revision, position);
    else streams.set(key, { first: revision, positions: [position], tombstone: -1 });
  };

  const find = (key: number, revision: number): number | undefined => {
    const entries = streams.get(key);
    if (!entries) return undefined;
    if (revision === TOMBSTONE_REVISION) return entries.tombstone >= 0 ? entries.tombstone : undefined;
    const position = entries.positions[revision - entries.first];
    return position === ABSENT ? undefined : position;
  };

  /** Adds the positions to `into`, in ascending order. Leaves out revisions that this memtable does not contain. */
  const range = (key: number, from: number, to: number, into: number[]): void => {
    const entries = streams.get(key);
    if (!entries) return;
    const { first, positions, tombstone } = entries;
    const end = Math.min(to - first + 1, positions.length);
    for (let at = Math.max(0, from - first); at < end; at++) if (positions[at] !== ABSENT) into.push(positions[at]!);
    if (to === TOMBSTONE_REVISION && tombstone >= 0) into.push(tombstone);
  };

  return {
    put,
    find,
    range,
    last: (key: number): Entry | undefined => {
      const entries = streams.get(key);
      return entries && lastOf(entries);
    },
    sorted: (): Float64Array => sortedEntries(streams, size),
    clear: (): void => {
      streams.clear();
      size = 0;
    },
    size: () => size,
    streams: () => streams.size,
  };
};
