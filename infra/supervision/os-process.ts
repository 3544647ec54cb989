import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_INTERVAL_MS = 10;
const KILL_TIMEOUT_MS = 5_000;

const attempt = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    return undefined;
  }
};

/**
 * Returns those fields of /proc/<pid>/stat that follow the command's name, which may contain spaces. The first field is
 * the state, the twentieth is the start time.
 */
const statOf = (pid: number): string[] | undefined =>
  attempt(() =>
    readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' '),
  );

const ps = (pid: number, field: string): string | undefined =>
  attempt(() =>
    execFileSync('ps', ['-o', `${field}=`, '-p', String(pid)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim(),
  );

const startTimeOnLinux = (pid: number): string | undefined => {
  const [state, ...rest] = statOf(pid) ?? [];
  return state && !/[ZX]/.test(state) ? rest[18] : undefined;
};

const startTimeElsewhere = (pid: number): string | undefined =>
  /^[^Z]/.test(ps(pid, 'stat') ?? '') ? ps(pid, 'lstart') || undefined : undefined;

/**
 * Returns the start time of a process, in the operating system's notation. The system reuses process ids, but a process
 * id and a start time together identify one process.
 * @returns undefined if the process does not exist or is a zombie
 */
export const startTimeOf = process.platform === 'linux' ? startTimeOnLinux : startTimeElsewhere;

/** Returns the command line of a process; an empty text if the process does not exist. */
export const commandLineOf = (pid: number): string =>
  process.platform === 'linux'
    ? (attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')) ?? '')
    : (ps(pid, 'command') ?? '');

/** Identifies one process, even after its pid has been reused. */
export type ProcessRef = { pid: number; start: string };

export const isRunning = ({ pid, start }: ProcessRef): boolean => startTimeOf(pid) === start;

export const findProcess = (pid: number): ProcessRef | undefined => {
  const start = startTimeOf(pid);
  return start ? { pid, start } : undefined;
};

const send = (pid: number, signal: NodeJS.Signals): void => void attempt(() => process.kill(pid, signal));

const hasExited = async (target: ProcessRef, withinMs: number): Promise<boolean> => {
  for (const deadline = Date.now() + withinMs; isRunning(target); await sleep(POLL_INTERVAL_MS)) if (Date.now() > deadline) return false;
  return true;
};

/**
 * Ends a process, which need not be a child of this process. Sends `signal` and, if the process still runs after
 * `graceMs`, SIGKILL.
 * @throws Error if the process survives SIGKILL
 */
export const endProcess = async (target: ProcessRef, signal: NodeJS.Signals, graceMs: number): Promise<void> => {
  if (!isRunning(target)) return;
  send(target.pid, signal);
  if (await hasExited(target, graceMs)) return;
  send(target.pid, 'SIGKILL');
  if (!(await hasExited(target, KILL_TIMEOUT_MS)))
    throw new Error(`process ${target.pid} does not end, not even after SIGKILL: end it, then start again`);
};
