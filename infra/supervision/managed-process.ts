import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { endProcess, type ProcessRef } from './os-process.ts';
import { findByPidFile, readPidFile, removePidFile } from './pid-file.ts';

/** Describes a process that the supervisor starts, and restarts when it ends. */
export type ManagedProcess = {
  name: string;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** The signal that asks the process to end. A process that still runs after `graceMs` milliseconds is killed (SIGKILL). */
  stopSignal: NodeJS.Signals;
  graceMs: number;
  /**
   * Set for a server that writes its own pid file. `file` is the path of the pid file. `mark` is a text that occurs
   * only in the command line of this server.
   */
  ownPidFile?: { file: string; mark: string };
  /** If this is set, the process counts as up when its log matches this pattern. */
  readyPattern?: RegExp;
  /** Called each time the process has come up, before the process is used. `ended` is aborted when the process ends. */
  prepare?: (ended: AbortSignal) => Promise<void>;
  /** Whether the process gets less CPU time than other processes when the machine is busy. */
  isLowPriority?: boolean;
  /**
   * If this is set, the supervisor opens an IPC channel to the process, and this function receives the messages of the
   * process. When the supervisor ends, the channel closes, and the process notices this.
   */
  onMessage?: (message: unknown) => void;
};

/** The directories of logs and pid files, and a function that reports problems to the operator. */
export type ProcessDirs = {
  logs: string;
  run: string;
  report: (line: string) => void;
};

/**
 * The nice value of a process with low priority. On a busy machine, such a process still gets a third of the CPU time
 * of a normal process, so it never waits for long.
 */
const LOW_PRIORITY = 5;

export const logFileOf = ({ logs }: Pick<ProcessDirs, 'logs'>, name: string): string => join(logs, `${name}.log`);
export const pidFileOf = ({ run }: Pick<ProcessDirs, 'run'>, name: string): string => join(run, `${name}.pid`);

/**
 * Spawns the process in its own session, and appends its output to the log file.
 * @throws Error if the log file cannot be opened
 */
export const spawnProcess = (spec: ManagedProcess, logFile: string): ChildProcess => {
  const log = openSync(logFile, 'a', 0o600);
  const { command, args, env, uid, gid, cwd = '/' } = spec;
  const stdio = spec.onMessage ? (['ignore', log, log, 'ipc'] as const) : (['ignore', log, log] as const);
  const child = spawn(command, args, { env, cwd, stdio: [...stdio], detached: true, ...(uid !== undefined && { uid, gid: gid! }) });
  closeSync(log);
  return child;
};

export const lowerPriority = (pid: number): void => {
  try {
    setPriority(pid, LOW_PRIORITY);
    // On Linux, each session is a scheduling group. The nice value counts only among the processes of one group. This
    // value counts among the groups.
    writeFileSync(`/proc/${pid}/autogroup`, String(LOW_PRIORITY));
  } catch {
    // Writing this fails if the process has already ended, which its exit event reports, or if the system has no
    // scheduling groups.
  }
};

/** Resolves when the process has ended. @returns a text that says how it ended */
export const exitOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `code ${code}`));
  });

export const hasEnded = ({ exitCode, signalCode, pid }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null || pid === undefined;

/** Lets this process exit although the child is still running. */
export const unrefChild = (child: ChildProcess): void => {
  child.unref();
  child.channel?.unref();
};

/** Ends a process with this name that an earlier supervisor has left running. This can happen if the supervisor was killed. */
export const replaceProcess = async (
  { name, stopSignal, graceMs, ownPidFile }: Pick<ManagedProcess, 'name' | 'stopSignal' | 'graceMs' | 'ownPidFile'>,
  dirs: ProcessDirs,
): Promise<void> => {
  const pidFile = pidFileOf(dirs, name);
  const leftovers = [readPidFile(pidFile), ownPidFile && findByPidFile(ownPidFile.file, ownPidFile.mark)].filter(
    (found): found is ProcessRef => !!found,
  );
  for (const leftover of leftovers) await endProcess(leftover, stopSignal, graceMs);
  removePidFile(pidFile);
  // The process id in an old pid file may now belong to another process, especially in a container. PostgreSQL would
  // take that process for its own server and refuse to start, so remove the file.
  if (ownPidFile && leftovers.length === 0) removePidFile(ownPidFile.file);
};
