import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { endProcess, type ProcessRef } from './os-process.ts';
import { findByPidFile, readPidFile, removePidFile } from './pid-file.ts';

/** How to run a process that the supervisor keeps running. */
export type ManagedProcess = {
  name: string;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** The signal that asks it to end. After `graceMs` it gets SIGKILL. */
  stopSignal: NodeJS.Signals;
  graceMs: number;
  /** For a server that writes a pid file itself: the file, and a text that only its command line contains. */
  ownPidFile?: { file: string; mark: string };
  /** The process is up when its log matches this. */
  readyPattern?: RegExp;
  /** Runs each time the process is up, before others may rely on it. `ended` is aborted when the process ends. */
  prepare?: (ended: AbortSignal) => Promise<void>;
  /** The process gives way to the others when the machine is busy. */
  isLowPriority?: boolean;
  /** Opens an IPC channel: receives the messages of the process, and lets it notice that its supervisor has ended. */
  onMessage?: (message: unknown) => void;
};

/** Where logs and pid files are, and how to report problems to the operator. */
export type ProcessDirs = {
  logs: string;
  run: string;
  report: (line: string) => void;
};

/** Lower than that of the processes that accept deliveries. It still gets a third of a normal share, so it does not wait for long. */
const LOW_PRIORITY = 5;

export const logFileOf = ({ logs }: Pick<ProcessDirs, 'logs'>, name: string): string => join(logs, `${name}.log`);
export const pidFileOf = ({ run }: Pick<ProcessDirs, 'run'>, name: string): string => join(run, `${name}.pid`);

/** Spawns the process in a session of its own, with its output appended to the log. @throws if the log cannot be opened */
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
    // On Linux a session is a scheduling group: the nice value counts inside the group, this one between groups.
    writeFileSync(`/proc/${pid}/autogroup`, String(LOW_PRIORITY));
  } catch {
    // The process has ended already, which its exit event reports, or the system has no such groups.
  }
};

/** Resolves when the process has ended, to a description of how. */
export const exitOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `code ${code}`));
  });

export const hasEnded = ({ exitCode, signalCode, pid }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null || pid === undefined;

/** Lets our own process exit while the child runs. */
export const unrefChild = (child: ChildProcess): void => {
  child.unref();
  child.channel?.unref();
};

/** Ends what an earlier supervisor left running under this name, even if that supervisor was killed. */
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
  // The pid in a stale file may be reused, which is likely in a container. PostgreSQL would take that process for a server of its own.
  if (ownPidFile && leftovers.length === 0) removePidFile(ownPidFile.file);
};
