import type { Loaded } from '../../commands/context.ts';
import { createLruMap } from '../lru-map.ts';

const BASE_WEIGHT = 512;
const WEIGHT_PER_ENTRY = 256;

/** Estimates the size of a state in characters: its texts, plus a fixed weight for each entry of a list or record. */
const weightOf = ({ state }: Loaded<unknown>): number => {
  let weight = BASE_WEIGHT;
  const fields = state as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === 'string') weight += value.length;
    else if (typeof value === 'object' && value !== null) weight += WEIGHT_PER_ENTRY * Object.keys(value).length;
  }
  return weight;
};

/** The bounds of each of the two generations of an LRU map (see `createLruMap`). `maxWeight` is in characters. */
export type MemoryBounds = { readonly capacity: number; readonly maxWeight: number };

/** Caches missing streams in a map of their own, so that requests for them do not push out the states of existing ones. */
export const createAggregateMemory = ({ capacity, maxWeight }: MemoryBounds) => {
  const present = createLruMap<string, Loaded<unknown>>({ capacity, maxWeight, weightOf });
  const absent = createLruMap<string, Loaded<unknown>>({ capacity: capacity / 2 });
  return {
    get: (stream: string): Loaded<unknown> | undefined => present.get(stream) ?? absent.get(stream),
    /** Returns the state of an existing stream without marking it as used. */
    peekPresent: present.peek,
    put: (stream: string, loaded: Loaded<unknown>): void => {
      absent.delete(stream);
      present.set(stream, loaded);
    },
    putAbsent: absent.set,
    deletePresent: present.delete,
    deleteAbsent: absent.delete,
    clear: (): void => {
      absent.clear();
      present.clear();
    },
  };
};
