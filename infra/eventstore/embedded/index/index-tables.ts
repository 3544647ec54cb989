import * as fs from 'node:fs';
import { join } from 'node:path';
import { replaceFile, syncDirectory } from '../../../durable-files.ts';
import { mergeTables } from './compaction.ts';
import type { Entry, Memtable } from './memtable.ts';
import { openTable, type Table } from './sstable.ts';
import { createTableWriter } from './sstable-writer.ts';

/** A memtable with this many entries becomes a table. */
export const MEMTABLE_ENTRIES = 32_768;
/** If this many tables have the same level (a similar size), they are merged into one table of the next level. */
const MERGE_FAN_IN = 4;

/** `tables` are file names, newest first, and contain all events before the log position `checkpoint`. `next` numbers the next file. */
type Manifest = { checkpoint: number; next: number; tables: string[] };

const readManifest = (dir: string): Manifest => {
  const path = join(dir, 'manifest.json');
  const empty = { checkpoint: 0, next: 1, tables: [] };
  try {
    return fs.existsSync(path) ? (JSON.parse(fs.readFileSync(path, 'utf8')) as Manifest) : empty;
  } catch (error) {
    if (error instanceof SyntaxError) return empty;
    throw error;
  }
};

/** If any table is damaged, none is used, and the index is rebuilt from the log. */
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

const removeUnlistedTables = (dir: string, { tables }: Manifest): void => {
  for (const name of fs.readdirSync(dir)) if (name.endsWith('.table') && !tables.includes(name)) fs.rmSync(join(dir, name));
};

const levelOf = ({ count }: Table): number => Math.max(0, Math.floor(Math.log(count / MEMTABLE_ENTRIES) / Math.log(MERGE_FAN_IN)));

/** The index of the first of MERGE_FAN_IN neighbouring tables with the same level; -1 if there are none. */
const findMergeRun = (tables: Table[]): number =>
  tables.findIndex((table, at) => {
    const run = tables.slice(at, at + MERGE_FAN_IN);
    return run.length === MERGE_FAN_IN && run.every((each) => levelOf(each) === levelOf(table));
  });

const writeTable = async (path: string, memtable: Memtable): Promise<void> => {
  const writer = createTableWriter(path, memtable.streams());
  try {
    writer.add(memtable.sorted());
    await writer.finish();
  } catch (error) {
    writer.discard();
    throw error;
  }
};

const writeTableNow = (path: string, memtable: Memtable): void => {
  const writer = createTableWriter(path, memtable.streams());
  writer.add(memtable.sorted());
  writer.finishNow();
};

type TableSet = { readonly dir: string; readonly manifest: Manifest; tables: Table[]; isMerging: boolean; isClosing: boolean };

const nextPath = ({ dir, manifest }: TableSet): string => join(dir, `${String(manifest.next++).padStart(8, '0')}.table`);

/** Writes the manifest to disk before the tables are used for look-ups. */
const publish = (set: TableSet, tables: Table[], checkpoint: number): void => {
  const { dir, manifest } = set;
  const names = tables.map(({ path }) => path.slice(dir.length + 1));
  replaceFile(join(dir, 'manifest.json'), JSON.stringify({ checkpoint, next: manifest.next, tables: names }));
  syncDirectory(dir);
  Object.assign(manifest, { checkpoint, tables: names });
  set.tables = tables;
};

const mergeLevels = async (set: TableSet): Promise<void> => {
  const at = findMergeRun(set.tables);
  if (set.isMerging || set.isClosing || at < 0) return;
  set.isMerging = true;
  const inputs = set.tables.slice(at, at + MERGE_FAN_IN);
  const path = nextPath(set);
  try {
    if (!(await mergeTables(inputs, path, () => set.isClosing))) return;
    const { tables, manifest } = set;
    const from = tables.indexOf(inputs[0]!);
    publish(set, [...tables.slice(0, from), openTable(path), ...tables.slice(from + MERGE_FAN_IN)], manifest.checkpoint);
    for (const table of inputs) {
      table.close();
      fs.rmSync(table.path);
    }
  } finally {
    set.isMerging = false;
  }
  return mergeLevels(set);
};

const lastIn = (tables: Table[], key: number): Entry | undefined => {
  for (const table of tables) {
    const found = table.last(key);
    if (found) return found;
  }
  return undefined;
};

const findIn = (tables: Table[], key: number, revision: number): number | undefined => {
  const positions: number[] = [];
  for (const table of tables) {
    table.range(key, revision, revision, positions);
    if (positions.length > 0) return positions[0];
  }
  return undefined;
};

const closeTables = (tables: Table[]): void => {
  for (const table of tables) table.close();
};

/** Sorted tables, and the manifest that names them. Tables of one level are merged in the background. */
export const openIndexTables = (dir: string) => {
  const manifest = readManifest(dir);
  const set: TableSet = { dir, manifest, tables: openTables(dir, manifest), isMerging: false, isClosing: false };
  removeUnlistedTables(dir, manifest);
  return {
    merge: (): Promise<void> => mergeLevels(set),
    /**
     * Writes a memtable as the newest table, without blocking the event loop. Calls `onPublished` as soon as look-ups
     * use the table. The caller must drop the memtable at that moment; otherwise look-ups would find its entries twice.
     */
    add: async (memtable: Memtable, checkpoint: number, onPublished: () => void): Promise<void> => {
      const path = nextPath(set);
      await writeTable(path, memtable);
      publish(set, [openTable(path), ...set.tables], checkpoint);
      onPublished();
    },
    /** Does the same as `add`, but blocks until the table is written. */
    addNow: (memtable: Memtable, checkpoint: number): void => {
      const path = nextPath(set);
      writeTableNow(path, memtable);
      publish(set, [openTable(path), ...set.tables], checkpoint);
    },
    checkpoint: (): number => manifest.checkpoint,
    last: (key: number): Entry | undefined => lastIn(set.tables, key),
    find: (key: number, revision: number): number | undefined => findIn(set.tables, key, revision),
    range: (key: number, from: number, to: number, into: number[]): void => {
      for (let at = set.tables.length - 1; at >= 0; at--) set.tables[at]!.range(key, from, to, into);
    },
    isIntact: (): boolean => set.tables.every((table) => table.isIntact()),
    /** The caller then rebuilds the index from the log. */
    discard: (): void => {
      closeTables(set.tables);
      set.tables = [];
      Object.assign(manifest, { checkpoint: 0, tables: [] });
    },
    /** A running merge stops after its current slice. */
    startClosing: (): void => {
      set.isClosing = true;
    },
    close: (): void => closeTables(set.tables),
  };
};
