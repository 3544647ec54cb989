import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const dirs: string[] = [];

const clear = (): void => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
};

/** A new directory that is gone when the process ends, behind whatever it ended on its way out. */
export const tempDir = (name: string): string => {
  if (dirs.length === 0) process.once('exit', clear);
  const dir = mkdtempSync(join(tmpdir(), `annals-${name}-`));
  dirs.push(dir);
  return dir;
};
