import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory that PostgreSQL's user can pass through, wherever the checkout lies. */
export const temporaryDir = (): string => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-test-'));
  chmodSync(dir, 0o711);
  return dir;
};

const dirs = new Set<string>();
let isExpected = false;
const remove = (dir: string): void => rmSync(dir, { recursive: true, force: true });

/** A directory that is gone when this process is, behind what it ended on its way out; `clear` takes it away before. */
export const scratch = (): { dir: string; clear: () => void } => {
  if (!isExpected) process.once('exit', () => dirs.forEach(remove));
  isExpected = true;
  const dir = temporaryDir();
  dirs.add(dir);
  const clear = (): void => {
    dirs.delete(dir);
    remove(dir);
  };
  return { dir, clear };
};
