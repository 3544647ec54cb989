import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import { counted } from '../../../domain/counted.ts';
import { makeDirectory, replaceFile, syncDirectory, syncFile } from '../../durable-files.ts';
import { printLine } from '../../logging/print-line.ts';
import { openLog } from './log/log.ts';
import { repair } from './repair.ts';
import { assertStoreDirectory, wrongDirectory } from './store-directory.ts';

export const BACKUP_RECORD = 'last-backup.json';
export type BackupRecord = { readonly at: string; readonly to: string; readonly position: number };

const isMissingFile = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

const copyInto = (from: string, to: string, names: string[]): void => {
  makeDirectory(to);
  for (const name of names) {
    fs.copyFileSync(join(from, name), join(to, name), fs.constants.COPYFILE_FICLONE);
    const file = fs.openSync(join(to, name), 'r+');
    syncFile(file);
    fs.closeSync(file);
  }
  syncDirectory(to);
};

const tablesOf = (dir: string): string[] => {
  const { tables } = JSON.parse(fs.readFileSync(join(dir, 'manifest.json'), 'utf8')) as { tables: string[] };
  return tables;
};

/**
 * The running store may merge tables and delete the old ones meanwhile: copying then starts again. After six attempts, the copy stays
 * without an index, which a store rebuilds from the log.
 */
const copyIndex = (from: string, to: string, attempt = 0): void => {
  if (!fs.existsSync(join(from, 'manifest.json'))) return;
  try {
    copyInto(from, to, ['manifest.json', ...tablesOf(from)]);
    const copied = new Set(tablesOf(to));
    for (const name of tablesOf(to)) if (!fs.existsSync(join(to, name))) copied.delete(name);
    if (copied.size < tablesOf(to).length) throw Object.assign(new Error('the manifest changed'), { code: 'ENOENT' });
  } catch (error) {
    fs.rmSync(to, { recursive: true, force: true });
    if (!isMissingFile(error)) throw error;
    if (attempt < 5) copyIndex(from, to, attempt + 1);
  }
};

/** `annals doctor` reads the record. The backup counts as successful even if the directory cannot be written to. */
const recordBackup = (dir: string, backup: BackupRecord): void => {
  try {
    replaceFile(join(dir, BACKUP_RECORD), JSON.stringify(backup));
  } catch (error) {
    printLine(`annals doctor will not know of this backup: ${(error as Error).message}`);
  }
};

/**
 * The store may be running. The index is copied first, so that it refers to no event beyond the copied log. An incomplete append at the end
 * is cut off. The copy creates its own secret at its first start. Returns the position of the end of the copied log.
 * @throws Error with a one-line message for the operator if a directory is not suitable
 */
export const copyStore = async (dir: string, to: string): Promise<number> => {
  assertStoreDirectory(dir);
  if (fs.existsSync(to) && fs.readdirSync(to).length > 0) throw wrongDirectory(`${to} is not empty: back up into a new directory`);
  copyIndex(join(dir, 'index'), join(to, 'index'));
  const segments = fs
    .readdirSync(join(dir, 'log'))
    .filter((name) => name.endsWith('.log'))
    .sort();
  copyInto(join(dir, 'log'), join(to, 'log'), segments);
  const log = openLog(join(to, 'log'));
  repair(log.segments, log.segments.at(-1)!.base);
  const position = log.end();
  printLine(`copied ${counted(segments.length, 'segment')}, up to position ${position}`);
  await log.close();
  return position;
};

/** Records the backup for `annals doctor`. Returns the exit code. */
export const backupStore = async (dir: string, to: string): Promise<number> => {
  const position = await copyStore(dir, to);
  recordBackup(dir, { at: new Date().toISOString(), to: resolve(to), position });
  return 0;
};
