import { makeDirectory } from '../../durable-files.ts';
import { MEMTABLE_ENTRIES, openIndexTables } from './index-tables.ts';
import { createMemtable, type Entry, type Memtable } from './memtable.ts';

const RETRY_DELAY_MS = 5_000;

export type Index = ReturnType<typeof openIndex>;

/**
 * The position of every event by stream key and revision: the newest in memory, the others in sorted tables that are
 * written in the background. The index can always be rebuilt from the log; what the tables do not contain yet is read
 * from the log at the start.
 */
export const openIndex = (dir: string) => {
  makeDirectory(dir);
  const tables = openIndexTables(dir);
  let active = createMemtable();
  /** The memtable that is being written to a table. */
  let frozen: Memtable | undefined;
  /** The log position at which the entries of `active` begin. */
  let activeFrom = tables.checkpoint();
  let isClosing = false;
  let background: Promise<void> = Promise.resolve();

  const writeFrozen = async (memtable: Memtable, checkpoint: number): Promise<void> => {
    await tables.add(memtable, checkpoint, () => {
      frozen = undefined;
    });
    await tables.merge();
  };

  /** Called between batches with the log's end: starts to write the entries in memory to a table if there are many. */
  const flushIfFull = (end: number): void => {
    if (active.size() < MEMTABLE_ENTRIES || frozen) return;
    const full = active;
    frozen = full;
    active = createMemtable();
    activeFrom = end;
    const attempt = (): Promise<void> =>
      writeFrozen(full, end).catch((error) => {
        process.stderr.write(`store: the index could not be written and is retried in ${RETRY_DELAY_MS / 1_000} s: ${error}\n`);
        if (frozen === full && !isClosing) setTimeout(attempt, RETRY_DELAY_MS).unref();
      });
    // A merge that the previous flush started may still be running.
    background = Promise.all([background, attempt()]).then(() => {});
  };

  const writeActive = (end: number): void => {
    tables.addNow(active, end);
    active = createMemtable();
    activeFrom = end;
  };

  /** Positions of the stream's revisions `from` to `to`, ascending, as many as exist. */
  const range = (key: number, from: number, to: number): number[] => {
    const positions: number[] = [];
    tables.range(key, from, to, positions);
    frozen?.range(key, from, to, positions);
    active.range(key, from, to, positions);
    return positions;
  };

  /** Writes what is in memory, so that the next start need not read the log. */
  const close = async (end: number): Promise<void> => {
    isClosing = true;
    tables.startClosing();
    await background.catch(() => {});
    if (active.size() > 0 && !frozen) writeActive(end);
    tables.close();
  };

  return {
    put: (key: number, revision: number, position: number): void => active.put(key, revision, position),
    last: (key: number): Entry | undefined => active.last(key) ?? frozen?.last(key) ?? tables.last(key),
    find: (key: number, revision: number): number | undefined =>
      active.find(key, revision) ?? frozen?.find(key, revision) ?? tables.find(key, revision),
    range,
    /**
     * Whether this may be the stream's last event as the index knows it after a crash, before it has read the log
     * again. Then scavenging must keep the record, because it holds the stream's name.
     */
    isPersistedLast: (key: number, revision: number): boolean =>
      frozen?.last(key)?.revision === revision || tables.last(key)?.revision === revision,
    flushIfFull,
    /** The same without the background, while the log is read again and no requests are served. */
    flushIfFullNow: (end: number): void => {
      if (active.size() >= MEMTABLE_ENTRIES && !frozen) writeActive(end);
    },
    /** The log position from which the log must be read after a start, or after `reset`. */
    checkpoint: (): number => activeFrom,
    /** Forgets the entries in memory. */
    reset: (): void => active.clear(),
    /** Forgets everything, because it does not match the log. Only while no requests are served. */
    discard: (): void => {
      tables.discard();
      active.clear();
      activeFrom = 0;
    },
    isIntact: (): boolean => tables.isIntact(),
    close,
  };
};
