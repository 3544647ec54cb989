import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const main = join(import.meta.dirname, '..', 'infra', 'main.ts');

/** `annals store …` as a user runs it. */
export const annals = (...args: string[]): { code: number | null; said: string } => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'store', ...args], { encoding: 'utf8' });
  return { code: status, said: stdout + stderr };
};

export const segmentsOf = (dir: string): string[] =>
  readdirSync(join(dir, 'log'))
    .filter((name) => name.endsWith('.log'))
    .sort()
    .map((name) => join(dir, 'log', name));

/** Changes some bits of one byte of a file. */
export const flip = (path: string, at: number, bits = 1): void => {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  byte[0]! ^= bits;
  writeSync(file, byte, 0, 1, at);
  closeSync(file);
};
