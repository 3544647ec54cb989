import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterwards } from './ending.ts';
import { scratch } from './temp.ts';

const main = join(import.meta.dirname, '..', 'infra', 'main.ts');
const living = new Set<ChildProcess>();

process.once('SIGTERM', () => process.exit(1));
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

/** A directory that is gone when the test file ends. */
export const storeDir = (): string => scratch().dir;

export type StoreProcess = {
  url: string;
  port: number;
  pid: number;
  dir: string;
  /** Resolves with the exit code, null after a SIGKILL. */
  end: (signal?: NodeJS.Signals) => Promise<number | null>;
};

const connectionName = (dir: string, open: boolean): string =>
  open ? '' : `&connectionName=${readFileSync(join(dir, 'secret'), 'utf8').trim()}`;

/** Starts the store as users do. @throws with what it said, where it does not come up */
export const startStore = async ({ dir = storeDir(), port = 0, open = true } = {}): Promise<StoreProcess> => {
  const child = spawn(process.execPath, [main, 'store', 'serve', '--dir', dir, '--port', String(port), ...(open ? ['--open'] : [])], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  living.add(child);
  const ended = once(child, 'close').then(([code]: unknown[]) => {
    living.delete(child);
    return code as number | null;
  });
  let said = '';
  const ready = new Promise<string>((resolve, reject) => {
    const hear = (part: Buffer) => {
      said += part;
      const url = /^store ready (\S+)/m.exec(said)?.[1];
      if (url) resolve(url);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    ended.then(() => reject(new Error(said)));
  });
  const end = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  afterwards(() => end('SIGKILL'));
  const address = await ready;
  const url = address + connectionName(dir, open);
  return {
    url,
    port: Number(new URL(address).port),
    pid: child.pid!,
    dir,
    end,
  };
};

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Milliseconds of processor time that a process has used. */
export const processorMs = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
};

/** No byte of a file behind so many can be written: what a process meets on a full disk, or at a quota. On Linux alone. */
export const limitFiles = (pid: number, bytes: string): void =>
  void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
