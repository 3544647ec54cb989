import { TOMBSTONE_REVISION } from './record.ts';

/** What the index knows of a stream's last event. */
export type Entry = { revision: number; position: number };

/** Positions of one stream from a revision on, ABSENT where scavenging left a gap; its tombstone apart. */
type Run = { first: number; positions: number[]; tombstone: number };

const ABSENT = -1;

export type Memtable = ReturnType<typeof createMemtable>;

const present = (position: number | undefined): number | undefined => (position === ABSENT ? undefined : position);

/** The newest entries of the index, in memory: stream key and revision to position. */
export const createMemtable = () => {
  const runs = new Map<number, Run>();
  let size = 0;

  const put = (key: number, revision: number, position: number): void => {
    size++;
    const run = runs.get(key);
    if (revision === TOMBSTONE_REVISION) {
      if (run) run.tombstone = position;
      else runs.set(key, { first: 0, positions: [], tombstone: position });
    } else if (!run) runs.set(key, { first: revision, positions: [position], tombstone: -1 });
    else {
      if (run.positions.length === 0) run.first = revision;
      while (run.first + run.positions.length < revision) run.positions.push(ABSENT);
      run.positions.push(position);
    }
  };

  const last = (key: number): Entry | undefined => {
    const run = runs.get(key);
    if (!run) return undefined;
    if (run.tombstone >= 0) return { revision: TOMBSTONE_REVISION, position: run.tombstone };
    return { revision: run.first + run.positions.length - 1, position: run.positions.at(-1)! };
  };

  const find = (key: number, revision: number): number | undefined => {
    const run = runs.get(key);
    if (!run) return undefined;
    if (revision === TOMBSTONE_REVISION) return run.tombstone >= 0 ? run.tombstone : undefined;
    return present(run.positions[revision - run.first]);
  };

  /** Adds the positions of the revisions `from` to `to` that it has, ascending. */
  const range = (key: number, from: number, to: number, into: number[]): void => {
    const run = runs.get(key);
    if (!run) return;
    const end = Math.min(to - run.first + 1, run.positions.length);
    for (let at = Math.max(0, from - run.first); at < end; at++) if (run.positions[at] !== ABSENT) into.push(run.positions[at]!);
    if (to === TOMBSTONE_REVISION && run.tombstone >= 0) into.push(run.tombstone);
  };

  /** Key, revision, position of every entry, by key and revision. */
  const sorted = (): Float64Array => {
    const keys = Float64Array.from(runs.keys()).sort();
    const entries = new Float64Array(size * 3);
    let at = 0;
    const add = (key: number, revision: number, position: number) => {
      entries[at++] = key;
      entries[at++] = revision;
      entries[at++] = position;
    };
    for (const key of keys) {
      const { first, positions, tombstone } = runs.get(key)!;
      for (const [i, position] of positions.entries()) if (position !== ABSENT) add(key, first + i, position);
      if (tombstone >= 0) add(key, TOMBSTONE_REVISION, tombstone);
    }
    return entries;
  };

  const clear = (): void => {
    runs.clear();
    size = 0;
  };

  return { put, last, find, range, sorted, clear, size: () => size, streams: () => runs.size };
};
