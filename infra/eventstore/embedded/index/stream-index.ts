import { makeDirectory } from '../../../durable-files.ts';
import { printErrorLine } from '../../../logging/print-line.ts';
import { MEMTABLE_ENTRIES, openIndexTables } from './index-tables.ts';
import { createMemtable, type Entry, type Memtable } from './memtable.ts';

const RETRY_DELAY_MS = 5_000;

export type Index = ReturnType<typeof openIndex>;

type IndexState = {
  readonly tables: ReturnType<typeof openIndexTables>;
  active: Memtable;
  /** `active` contains the entries of all events from this log position on. */
  activeFrom: number;
  /** The full memtable that is being written to a table; undefined if there is none. */
  frozen: Memtable | undefined;
  /** Settles when the current writes and merges of tables are done. */
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

/** Freezes the active memtable and writes it to a table in the background. Retries until the write succeeds. */
const startFlush = (state: IndexState, end: number): void => {
  const full = state.active;
  state.frozen = full;
  startMemtable(state, end);
  const attempt = (): Promise<void> =>
    writeFrozen(state, full, end).catch((error) => {
      printErrorLine(`store: the index could not be written and is retried in ${RETRY_DELAY_MS / 1_000} s: ${error}`);
      if (state.frozen === full && !state.isClosing) setTimeout(attempt, RETRY_DELAY_MS).unref();
    });
  // The previous background work is also waited for: a merge that the previous flush started may still be running.
  state.background = Promise.all([state.background, attempt()]).then(() => {});
};

/** Writes the entries in memory to a table first, so that the next start need not read them from the log. */
const closeIndex = async (state: IndexState, end: number): Promise<void> => {
  state.isClosing = true;
  state.tables.startClosing();
  await state.background.catch(() => {});
  if (state.active.size() > 0 && !state.frozen) writeActive(state, end);
  state.tables.close();
};

/**
 * Maps stream keys and revisions to log positions: the newest entries in memory, the others in sorted tables, written in the background.
 * Events that the tables lack are read from the log at the start. The whole index can be rebuilt from the log.
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
    /** Returns positions in ascending order. Skips revisions that do not exist. */
    range: (key: number, from: number, to: number): number[] => {
      const positions: number[] = [];
      tables.range(key, from, to, positions);
      state.frozen?.range(key, from, to, positions);
      state.active.range(key, from, to, positions);
      return positions;
    },
    /**
     * Returns whether the index on disk, or the part of it that is being written, lists this revision as the stream's
     * last event. Scavenging must keep the record of that event: after a crash, the index is restored from disk before
     * the log is read, and takes the stream's name from this record.
     */
    isPersistedLast: (key: number, revision: number): boolean =>
      state.frozen?.last(key)?.revision === revision || tables.last(key)?.revision === revision,
    /** Writes in the background. Call it between batches, with the position of the log's end. */
    flushIfFull: (end: number): void => {
      if (isFull()) startFlush(state, end);
    },
    /** `end` is the log's end. Then each stream's last event in the index on disk is the one that was last at `end`. */
    flush: async (end: number): Promise<void> => {
      await state.background;
      if (state.active.size() > 0 && !state.frozen) startFlush(state, end);
      await state.background;
    },
    /** Does the same as `flushIfFull`, but blocks. Used while the log is read into the index. */
    flushIfFullNow: (end: number): void => {
      if (isFull()) writeActive(state, end);
    },
    /** Returns the position from which the log must be read after a start or after `reset`. */
    checkpoint: (): number => state.activeFrom,
    reset: (): void => state.active.clear(),
    /** Drops all entries, because they do not match the log. Must not be called while requests are served. */
    discard: (): void => {
      tables.discard();
      state.active.clear();
      state.activeFrom = 0;
    },
    isIntact: (): boolean => tables.isIntact(),
    close: (end: number): Promise<void> => closeIndex(state, end),
  };
};
