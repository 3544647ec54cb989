import * as fs from 'node:fs';
import { join } from 'node:path';
import { makeDirectory, replaceFile, syncDirectory } from '../../durable-files.ts';
import { mergeTables } from './compaction.ts';
import { createMemtable, type Entry, type Memtable } from './memtable.ts';
import { openTable, type Table } from './sstable.ts';
import { createTableWriter } from './sstable-writer.ts';

const FULL = 32_768;
const FAN_IN = 4;
const RETRY_MS = 5_000;

type Manifest = { checkpoint: number; next: number; tables: string[] };

export type Index = ReturnType<typeof openIndex>;

const readManifest = (dir: string): Manifest => {
  const path = join(dir, 'manifest.json');
  const none = { checkpoint: 0, next: 1, tables: [] };
  try {
    return fs.existsSync(path) ? (JSON.parse(fs.readFileSync(path, 'utf8')) as Manifest) : none;
  } catch (error) {
    if (error instanceof SyntaxError) return none;
    throw error;
  }
};

/** Tables of a manifest, newest first; none, and a checkpoint of 0, where one of them is harmed: then all is read from the log again. */
const openTables = (dir: string, manifest: Manifest): Table[] => {
  const open: Table[] = [];
  try {
    for (const name of manifest.tables) open.push(openTable(join(dir, name)));
    return open;
  } catch {
    for (const table of open) table.close();
    Object.assign(manifest, { checkpoint: 0, tables: [] });
    return [];
  }
};

const levelOf = ({ count }: Table): number => Math.max(0, Math.floor(Math.log(count / FULL) / Math.log(FAN_IN)));

const lastIn = (tables: Table[], key: number): Entry | undefined => {
  for (const table of tables) {
    const found = table.last(key);
    if (found) return found;
  }
  return undefined;
};

/** Where a run of tables of one level begins that is long enough to merge; -1 where there is none. */
const runOf = (tables: Table[]): number =>
  tables.findIndex((table, at) => {
    const run = tables.slice(at, at + FAN_IN);
    return run.length === FAN_IN && run.every((each) => levelOf(each) === levelOf(table));
  });

/**
 * Where each event of each stream lies in the log: the newest entries in memory, the others in sorted tables that are written behind. It holds
 * nothing that the log does not: what lies behind its checkpoint is read from the log at the start.
 */
export const openIndex = (dir: string) => {
  makeDirectory(dir);
  const manifest = readManifest(dir);
  let tables = openTables(dir, manifest);
  let active = createMemtable();
  let frozen: Memtable | undefined;
  /** Where in the log the entries in memory begin. */
  let activeFrom = manifest.checkpoint;
  let merging = false;
  let closed = false;
  let work: Promise<void> = Promise.resolve();
  for (const name of fs.readdirSync(dir)) if (name.endsWith('.table') && !manifest.tables.includes(name)) fs.rmSync(join(dir, name));

  const newPath = (): string => join(dir, `${String(manifest.next++).padStart(8, '0')}.table`);

  const adopt = (next: Table[], checkpoint: number): void => {
    const names = next.map(({ path }) => path.slice(dir.length + 1));
    replaceFile(join(dir, 'manifest.json'), JSON.stringify({ checkpoint, next: manifest.next, tables: names }));
    syncDirectory(dir);
    Object.assign(manifest, { checkpoint, tables: names });
    tables = next;
  };

  const merge = async (): Promise<void> => {
    const at = runOf(tables);
    if (merging || closed || at < 0) return;
    merging = true;
    const inputs = tables.slice(at, at + FAN_IN);
    const path = newPath();
    try {
      if (!(await mergeTables(inputs, path, () => closed))) return;
      const from = tables.indexOf(inputs[0]!);
      adopt([...tables.slice(0, from), openTable(path), ...tables.slice(from + FAN_IN)], manifest.checkpoint);
      for (const table of inputs) {
        table.close();
        fs.rmSync(table.path);
      }
    } finally {
      merging = false;
    }
    return merge();
  };

  const writeFrozen = async (memtable: Memtable, checkpoint: number): Promise<void> => {
    const path = newPath();
    const writer = createTableWriter(path, memtable.streams());
    try {
      writer.add(memtable.sorted());
      await writer.finish();
    } catch (error) {
      writer.abandon();
      throw error;
    }
    adopt([openTable(path), ...tables], checkpoint);
    frozen = undefined;
    await merge();
  };

  /** Called between batches with the log's end: writes the entries in memory to a table when they are many. */
  const settle = (end: number): void => {
    if (active.size() < FULL || frozen) return;
    const full = active;
    frozen = full;
    active = createMemtable();
    activeFrom = end;
    const attempt = (): Promise<void> =>
      writeFrozen(full, end).catch((error) => {
        process.stderr.write(`store: the index could not be written, it is tried again: ${error}\n`);
        if (frozen === full && !closed) setTimeout(attempt, RETRY_MS).unref();
      });
    // The merge that the one before had begun may still be under way.
    work = Promise.all([work, attempt()]).then(() => {});
  };

  const last = (key: number): Entry | undefined => active.last(key) ?? frozen?.last(key) ?? lastIn(tables, key);

  /**
   * Whether the index would say after a crash, before it has read the log again, that this is the stream's last event: then the record has to be
   * there, because the stream's name is known by it.
   */
  const isPersistedLast = (key: number, revision: number): boolean =>
    frozen?.last(key)?.revision === revision || lastIn(tables, key)?.revision === revision;

  /** Positions of the stream's revisions `from` to `to`, as many as there are, ascending. */
  const range = (key: number, from: number, to: number): number[] => {
    const positions: number[] = [];
    for (let at = tables.length - 1; at >= 0; at--) tables[at]!.range(key, from, to, positions);
    frozen?.range(key, from, to, positions);
    active.range(key, from, to, positions);
    return positions;
  };

  const find = (key: number, revision: number): number | undefined => {
    const recent = active.find(key, revision) ?? frozen?.find(key, revision);
    if (recent !== undefined) return recent;
    const positions: number[] = [];
    for (const table of tables) {
      table.range(key, revision, revision, positions);
      if (positions.length > 0) return positions[0];
    }
    return undefined;
  };

  const writeActive = (end: number): void => {
    const path = newPath();
    const writer = createTableWriter(path, active.streams());
    writer.add(active.sorted());
    writer.finishNow();
    adopt([openTable(path), ...tables], end);
    active = createMemtable();
    activeFrom = end;
  };

  /** While the log is read again nobody is served, so nothing is written behind. */
  const flushIfFullNow = (end: number): void => {
    if (active.size() >= FULL && !frozen) writeActive(end);
  };

  /** Writes what is in memory, so that the next start reads nothing again. */
  const close = async (end: number): Promise<void> => {
    closed = true;
    await work.catch(() => {});
    if (active.size() > 0 && !frozen) writeActive(end);
    for (const table of tables) table.close();
  };

  /** All is read from the log again: what it says does not fit to the log. Only while nobody is served. */
  const discard = (): void => {
    for (const table of tables) table.close();
    tables = [];
    Object.assign(manifest, { checkpoint: 0, tables: [] });
    active.clear();
    activeFrom = 0;
  };

  return {
    last,
    isPersistedLast,
    find,
    range,
    put: (key: number, revision: number, position: number): void => active.put(key, revision, position),
    settle,
    flushIfFullNow,
    /** From here on the log has to be read again after a start, or after `reset`. */
    checkpoint: (): number => activeFrom,
    reset: (): void => active.clear(),
    discard,
    sound: (): boolean => tables.every((table) => table.sound()),
    close,
  };
};
