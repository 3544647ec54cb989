import { makeDirectory } from '../../durable-files.ts';
import { MEMTABLE_ENTRIES, openIndexTables } from './index-tables.ts';
import { createMemtable, type Entry, type Memtable } from './memtable.ts';

const RETRY_DELAY_MS = 5_000;

export type Index = ReturnType<typeof openIndex>;

type IndexState = {
  readonly tables: ReturnType<typeof openIndexTables>;
  /** Receives new entries. */
  active: Memtable;
  /** The log position at which the entries of `active` begin. */
  activeFrom: number;
  /** The memtable that is being written to a table. */
  frozen: Memtable | undefined;
  /** Settles when the tables are written and merged. */
  background: Promise<void>;
  isClosing: boolean;
};

const startMemtable = (state: IndexState, from: number): void => {
  state.active = createMemtable();
  state.activeFrom = from;
};

const writeActive = (state: IndexState, end: number): void => {
  state.tables.addNow(state.active, end);
  startMemtable(state, end);
};

const writeFrozen = async (state: IndexState, memtable: Memtable, checkpoint: number): Promise<void> => {
  await state.tables.add(memtable, checkpoint, () => {
    state.frozen = undefined;
  });
  await state.tables.merge();
};

/** Freezes the active memtable and writes it in the background, again and again until it succeeds. */
const startFlush = (state: IndexState, end: number): void => {
  const full = state.active;
  state.frozen = full;
  startMemtable(state, end);
  const attempt = (): Promise<void> =>
    writeFrozen(state, full, end).catch((error) => {
      process.stderr.write(`store: the index could not be written and is retried in ${RETRY_DELAY_MS / 1_000} s: ${error}\n`);
      if (state.frozen === full && !state.isClosing) setTimeout(attempt, RETRY_DELAY_MS).unref();
    });
  // A merge that the previous flush started may still be running.
  state.background = Promise.all([state.background, attempt()]).then(() => {});
};

/** Writes what is in memory, so that the next start need not read the log. */
const closeIndex = async (state: IndexState, end: number): Promise<void> => {
  state.isClosing = true;
  state.tables.startClosing();
  await state.background.catch(() => {});
  if (state.active.size() > 0 && !state.frozen) writeActive(state, end);
  state.tables.close();
};

/**
 * The position of every event by stream key and revision: the newest in memory, the others in sorted tables that are
 * written in the background. The index can always be rebuilt from the log; what the tables do not contain yet is read
 * from the log at the start.
 */
export const openIndex = (dir: string) => {
  makeDirectory(dir);
  const tables = openIndexTables(dir);
  const state: IndexState = {
    tables,
    active: createMemtable(),
    activeFrom: tables.checkpoint(),
    frozen: undefined,
    background: Promise.resolve(),
    isClosing: false,
  };
  const isFull = (): boolean => state.active.size() >= MEMTABLE_ENTRIES && !state.frozen;
  return {
    put: (key: number, revision: number, position: number): void => state.active.put(key, revision, position),
    last: (key: number): Entry | undefined => state.active.last(key) ?? state.frozen?.last(key) ?? tables.last(key),
    find: (key: number, revision: number): number | undefined =>
      state.active.find(key, revision) ?? state.frozen?.find(key, revision) ?? tables.find(key, revision),
    /** Positions of the stream's revisions `from` to `to`, ascending, as many as exist. */
    range: (key: number, from: number, to: number): number[] => {
      const positions: number[] = [];
      tables.range(key, from, to, positions);
      state.frozen?.range(key, from, to, positions);
      state.active.range(key, from, to, positions);
      return positions;
    },
    /**
     * Whether this may be the stream's last event as the index knows it after a crash, before it has read the log
     * again. Then scavenging must keep the record, because it holds the stream's name.
     */
    isPersistedLast: (key: number, revision: number): boolean =>
      state.frozen?.last(key)?.revision === revision || tables.last(key)?.revision === revision,
    /**
     * Called between batches with the log's end: starts to write the entries in memory to a table if there are many.
     */
    flushIfFull: (end: number): void => {
      if (isFull()) startFlush(state, end);
    },
    /** The same at once, while the log is read again and no requests are served. */
    flushIfFullNow: (end: number): void => {
      if (isFull()) writeActive(state, end);
    },
    /** The log position from which the log must be read after a start, or after `reset`. */
    checkpoint: (): number => state.activeFrom,
    /** Forgets the entries in memory. */
    reset: (): void => state.active.clear(),
    /** Forgets everything, because it does not match the log. Only while no requests are served. */
    discard: (): void => {
      tables.discard();
      state.active.clear();
      state.activeFrom = 0;
    },
    isIntact: (): boolean => tables.isIntact(),
    close: (end: number): Promise<void> => closeIndex(state, end),
  };
};
