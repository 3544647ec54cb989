import type { Span } from '../encoding/protobuf.ts';

const SLOTS = 1 << 16;
const MAX_GENERATION_SIZE = SLOTS / 2;

/** Two ids can have the same hash, so compare the id of the event at this location. */
export type RecentEvent = { stream: number; revision: number };

/** Returns a 53-bit hash of an event id. */
const keyOf = ({ bytes, at: from, length }: Span): number => {
  let a = 0x9e3779b9;
  let b = 0x85ebca6b;
  for (let at = from; at < from + length; at++) {
    a = Math.imul(a ^ bytes[at]!, 2654435761);
    b = Math.imul(b ^ bytes[at]!, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 15), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0) || 1;
};

/** Maps the hash of an event id to its location. Number arrays, which the garbage collector need not scan. */
const createTable = () => {
  const keys = new Float64Array(SLOTS);
  const streams = new Float64Array(SLOTS);
  const revisions = new Float64Array(SLOTS);
  let size = 0;
  const slotOf = (key: number): number => {
    let slot = (key >>> 0) & (SLOTS - 1);
    while (keys[slot] !== 0 && keys[slot] !== key) slot = (slot + 1) & (SLOTS - 1);
    return slot;
  };
  return {
    size: () => size,
    find: (key: number): RecentEvent | undefined => {
      const slot = slotOf(key);
      return keys[slot] === key ? { stream: streams[slot]!, revision: revisions[slot]! } : undefined;
    },
    has: (key: number): boolean => keys[slotOf(key)] === key,
    add: (key: number, stream: number, revision: number): void => {
      const slot = slotOf(key);
      keys[slot] = key;
      streams[slot] = stream;
      revisions[slot] = revision;
      size++;
    },
    clear: (): void => {
      keys.fill(0);
      size = 0;
    },
  };
};

export type RecentIds = ReturnType<typeof createRecentIds>;

/** Recognises repeated appends that expect no particular revision. As in EventStoreDB, a restart loses this memory. */
export const createRecentIds = () => {
  let young = createTable();
  let old = createTable();

  /** `stream` is the stream's key. A known id keeps its first location. */
  const add = (id: Span, stream: number, revision: number): void => {
    const key = keyOf(id);
    if (young.has(key) || old.has(key)) return;
    if (young.size() >= MAX_GENERATION_SIZE) {
      [old, young] = [young, old];
      young.clear();
    }
    young.add(key, stream, revision);
  };

  const find = (id: Span): RecentEvent | undefined => {
    const key = keyOf(id);
    return young.find(key) ?? old.find(key);
  };

  const clear = (): void => {
    young.clear();
    old.clear();
  };

  return { add, find, clear };
};
