import { createMemtable, type Entry } from './memtable.ts';

export type Index = ReturnType<typeof openIndex>;

/** Where each event of each stream lies in the log. */
export const openIndex = () => {
  const memtable = createMemtable();
  const range = (key: number, from: number, to: number): number[] => {
    const positions: number[] = [];
    memtable.range(key, from, to, positions);
    return positions;
  };
  const last = (key: number): Entry | undefined => memtable.last(key);
  return { last, find: memtable.find, range, put: memtable.put, checkpoint: () => 0, reset: memtable.clear };
};
