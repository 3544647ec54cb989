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

/** The fields of /proc/<pid>/stat after the command's name, which may contain spaces. The state is first, the start time twentieth. */
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
 * When a process started, in the operating system's notation. Together with the pid it identifies one process, because pids are reused.
 * @returns undefined if there is no such process, or only a zombie
 */
export const startTimeOf = process.platform === 'linux' ? startTimeOnLinux : startTimeElsewhere;

/** The command line of a process; empty if there is no such process. */
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
 * Ends a process that need not be our child: sends `signal`, and SIGKILL after `graceMs`.
 * @throws if the process survives even that
 */
export const endProcess = async (target: ProcessRef, signal: NodeJS.Signals, graceMs: number): Promise<void> => {
  if (!isRunning(target)) return;
  send(target.pid, signal);
  if (await hasExited(target, graceMs)) return;
  send(target.pid, 'SIGKILL');
  if (!(await hasExited(target, KILL_TIMEOUT_MS)))
    throw new Error(`process ${target.pid} does not end, not even after SIGKILL: end it, then start again`);
};
