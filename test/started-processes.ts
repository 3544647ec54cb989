import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTimeOf } from '../infra/supervision/os-process.ts';
import { checkInterval } from './fixtures/load-factor.ts';

/** A running process: its id and its command line. */
export type StartedProcess = { readonly pid: number; readonly command: string };

const read = (pid: number, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
};

const pidsOnLinux = (): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);

/**
 * Returns the ids of all running processes. A process that starts later is not among them, so it need not be looked for
 * there. Empty except on Linux, where reading the command line and the environment of every process takes longer than many a
 * test file.
 */
export const runningPids = (): readonly number[] => (process.platform === 'linux' ? pidsOnLinux() : []);

type Excluded = ReadonlySet<number | undefined>;

const everyProcessOnLinux = (except: Excluded): (StartedProcess & { text: string })[] =>
  pidsOnLinux()
    .filter((pid) => !except.has(pid))
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
 * `mark`. A test process gets its own temporary directory: it is in the environment of what the tests start, and
 * in the command lines of servers that get no environment.
 */
export const processesWith = (mark: string, except: readonly (number | undefined)[]): StartedProcess[] => {
  const excluded = new Set([process.pid, ...except]);
  return (process.platform === 'linux' ? everyProcessOnLinux(excluded) : everyProcessElsewhere()).filter(
    ({ pid, text }) => !excluded.has(pid) && text.includes(mark) && startTimeOf(pid) !== undefined,
  );
};

/** Returns the processes with this mark that still run after `graceMs` milliseconds. */
export const remainingProcesses = async (
  mark: string,
  except: readonly (number | undefined)[],
  graceMs: number,
): Promise<StartedProcess[]> => {
  const startedAt = Date.now();
  for (;;) {
    const remaining = processesWith(mark, except);
    const waitedMs = Date.now() - startedAt;
    if (remaining.length === 0 || waitedMs > graceMs) return remaining;
    await sleep(checkInterval(waitedMs));
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
