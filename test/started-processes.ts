import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTimeOf } from '../infra/supervision/os-process.ts';

const CHECK_INTERVAL_MS = 50;

/** A running process: its id and its command line. */
export type StartedProcess = { readonly pid: number; readonly command: string };

const read = (pid: number, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
};

const everyProcessOnLinux = (): (StartedProcess & { text: string })[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0)
    .map((pid) => {
      const command = read(pid, 'cmdline').replaceAll('\0', ' ').trim();
      return { pid, command, text: `${command}\0${read(pid, 'environ')}` };
    });

const everyProcessElsewhere = (): (StartedProcess & { text: string })[] =>
  execFileSync('ps', ['axeww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
    .split('\n')
    .map((line) => ({ pid: Number.parseInt(line, 10), command: line.trim(), text: line }));

/**
 * Returns the running processes, without this one and those of `except`, whose command line or environment contains
 * `mark`. A test process gets a temporary directory of its own: it is in the environment of what the tests start, and
 * in the command lines of servers that get no environment.
 */
export const processesWith = (mark: string, except: readonly (number | undefined)[]): StartedProcess[] =>
  (process.platform === 'linux' ? everyProcessOnLinux() : everyProcessElsewhere()).filter(
    ({ pid, text }) => pid !== process.pid && !except.includes(pid) && text.includes(mark) && startTimeOf(pid) !== undefined,
  );

/** Returns the processes with this mark that still run after `graceMs` milliseconds. */
export const remainingProcesses = async (
  mark: string,
  except: readonly (number | undefined)[],
  graceMs: number,
): Promise<StartedProcess[]> => {
  const end = Date.now() + graceMs;
  for (;;) {
    const remaining = processesWith(mark, except);
    if (remaining.length === 0 || Date.now() > end) return remaining;
    await sleep(CHECK_INTERVAL_MS);
  }
};

/** Kills processes, whatever session or group they are in. A process that has ended meanwhile is ignored. */
export const killProcesses = (processes: readonly StartedProcess[]): void => {
  for (const { pid } of processes)
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
};
