import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pollDelay, retryDelay } from '../backoff.ts';
import {
  exitOf,
  hasEnded,
  logFileOf,
  lowerPriority,
  type ManagedProcess,
  type ProcessDirs,
  pidFileOf,
  spawnProcess,
  unrefChild,
} from './managed-process.ts';
import { removeEmptyPidFile, removePidFile, writePidFile } from './pid-file.ts';
import { reasonIn, rotateLog, sizeOf, textSince, truncateLog } from './process-log.ts';

export type Supervised = {
  readonly name: string;
  /** Resolves when the process is up for the first time. Rejects if the process has failed to start too often, or was stopped. */
  readonly ready: Promise<void>;
  readonly pid: () => number | undefined;
  /** Ends the process and does not restart it. Resolves when it has ended. */
  readonly stop: () => Promise<void>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Kills the process, so that it is started again, and reports `reason` to the operator. */
  readonly restart: (reason: string) => void;
  /** Lets this process exit although the supervised process is still running. */
  readonly unref: () => void;
};

const MAX_START_ATTEMPTS = 5;
/**
 * The delays between attempts to start, in milliseconds. They are short until the process is up for the first time,
 * because the operator waits for the start.
 */
const START_DELAY = { minMs: 50, maxMs: 2_000 };
const RESTART_DELAY = { minMs: 50, maxMs: 10_000 };
/**
 * The time in milliseconds after which a process that is up counts as stable. If it ends after that, this does not
 * count as a failed start, and the process is restarted after the minimum delay.
 */
const STABLE_AFTER_MS = 3_000;
const LOG_CHECK_INTERVAL_MS = 60_000;
/**
 * The maximum time for a process to come up, in milliseconds. After a crash, PostgreSQL and the event store may have
 * much to repair.
 */
const READY_TIMEOUT_MS = 600_000;
const POLL = { minMs: 10, maxMs: 250 };

type Supervision = {
  readonly spec: ManagedProcess;
  readonly dirs: ProcessDirs;
  readonly logFile: string;
  readonly pidFile: string;
  readonly stopping: AbortController;
  readonly ready: PromiseWithResolvers<void>;
  child: ChildProcess | undefined;
  hasServed: boolean;
  /** The reason why the supervisor itself has killed the process; null if it has not. */
  restartReason: string | null;
  /** The last report about the end of the process, without numbers; null if the process has been stable since then. */
  reported: string | null;
  isUnreferenced: boolean;
};

/** How one run of the process ended, and for how many milliseconds it had been up. */
type Run = { readonly how: string; readonly servedMs: number };

const messageOf = (error: unknown): string => (error as Error).message;

/**
 * Waits until the process is up.
 * @returns false if the process ended first, or did not come up in time
 * @throws the errors of `prepare`
 */
const waitUntilServing = async (
  { readyPattern, prepare }: ManagedProcess,
  child: ChildProcess,
  ended: AbortSignal,
  readLog: () => string,
): Promise<boolean> => {
  const startedAt = performance.now();
  while (readyPattern && !readyPattern.test(readLog())) {
    if (hasEnded(child) || performance.now() - startedAt > READY_TIMEOUT_MS) return false;
    await sleep(pollDelay(POLL, startedAt));
  }
  await prepare?.(ended);
  return !hasEnded(child);
};

/**
 * Writes the pid file. If the supervisor crashes, the next start finds the process with this file. If writing fails,
 * this is only reported, and the process continues to run.
 */
const recordPid = ({ spec, dirs, pidFile }: Supervision, pid: number): void => {
  try {
    writePidFile(pidFile, pid);
  } catch (error) {
    dirs.report(`${spec.name} runs, but its pid file ${pidFile} cannot be written: ${messageOf(error)}`);
  }
};

const limitLog = ({ dirs, logFile }: Supervision): void => {
  try {
    truncateLog(logFile);
  } catch (error) {
    dirs.report(`${logFile} grows and cannot be truncated: ${messageOf(error)}`);
  }
};

const startChild = (supervision: Supervision): ChildProcess => {
  const { spec, logFile } = supervision;
  const child = spawnProcess(spec, logFile);
  supervision.child = child;
  if (child.pid !== undefined) recordPid(supervision, child.pid);
  if (child.pid !== undefined && spec.isLowPriority) lowerPriority(child.pid);
  if (spec.onMessage) child.on('message', spec.onMessage);
  if (supervision.isUnreferenced) unrefChild(child);
  return child;
};

/** Starts the process and waits until it has ended. @throws Error if it could not be started */
const runOnce = async (supervision: Supervision): Promise<Run> => {
  const { spec, dirs, logFile, stopping, ready } = supervision;
  // The directories are created before every run, because an operator may have removed them.
  for (const dir of [dirs.logs, dirs.run]) mkdirSync(dir, { recursive: true, mode: 0o700 });
  rotateLog(logFile);
  if (spec.ownPidFile) removeEmptyPidFile(spec.ownPidFile.file);
  const offset = sizeOf(logFile);
  const readLog = (): string => textSince(logFile, offset);
  const child = startChild(supervision);
  const over = new AbortController();
  const ended = exitOf(child).finally(() => over.abort());
  let servedAt = Number.POSITIVE_INFINITY;
  // The log is not truncated before the process is up, because until then the supervisor reads it from `offset` on.
  const logCheck = setInterval(() => Number.isFinite(servedAt) && limitLog(supervision), LOG_CHECK_INTERVAL_MS).unref();
  over.signal.addEventListener('abort', () => clearInterval(logCheck));
  const startup = waitUntilServing(spec, child, over.signal, readLog).then(
    (isServing) => {
      if (!isServing) return void child.kill('SIGKILL');
      servedAt = Date.now();
      supervision.hasServed = true;
      ready.resolve();
    },
    (error: Error) => {
      if (!hasEnded(child) && !stopping.signal.aborted) dirs.report(`${spec.name} runs but cannot be used: ${error.message}`);
      child.kill('SIGKILL');
    },
  );
  const how = await ended;
  await startup;
  removePidFile(supervision.pidFile);
  const mayExplain = !supervision.hasServed || (how.startsWith('code ') && how !== 'code 0');
  const reason = mayExplain ? reasonIn(readLog()) : '';
  return { how: reason ? `${how}: ${reason}` : how, servedMs: Date.now() - servedAt };
};

/**
 * Reports the end of the process, unless the same text was already reported since the process was last stable. Numbers
 * in the text are not compared, because they may be times or process ids.
 */
const reportEnd = (supervision: Supervision, how: string): void => {
  const { spec, dirs, logFile, restartReason, hasServed } = supervision;
  const verb = hasServed ? 'ended' : 'did not start';
  const line = restartReason
    ? `${spec.name} is restarted: ${restartReason}`
    : `${spec.name} ${verb} (${how}) and is started again; its log is ${logFile}`;
  supervision.restartReason = null;
  const repeated = line.replace(/\d+/g, '');
  if (repeated !== supervision.reported) dirs.report(line);
  supervision.reported = repeated;
};

/** Starts the process again whenever it ends, until it is stopped or has failed to start too often. */
const keepRunning = async (supervision: Supervision): Promise<void> => {
  const { spec, logFile, stopping, ready } = supervision;
  for (let failures = 0; !stopping.signal.aborted; ) {
    const { how, servedMs } = await runOnce(supervision).catch((error): Run => ({ how: messageOf(error), servedMs: 0 }));
    if (stopping.signal.aborted) return;
    failures = servedMs > STABLE_AFTER_MS ? 0 : failures + 1;
    if (failures === 0) supervision.reported = null;
    if (!supervision.hasServed && failures >= MAX_START_ATTEMPTS)
      return ready.reject(new Error(`${spec.name} does not start (${how}); its log is ${logFile}`));
    reportEnd(supervision, how);
    await sleep(retryDelay(supervision.hasServed ? RESTART_DELAY : START_DELAY, failures), undefined, { signal: stopping.signal }).catch(
      () => {},
    );
  }
};

/** Starts a process, and starts it again whenever it ends, until `stop` is called. The delay increases with every failed start. */
export const supervise = (spec: ManagedProcess, dirs: ProcessDirs): Supervised => {
  const supervision: Supervision = {
    spec,
    dirs,
    logFile: logFileOf(dirs, spec.name),
    pidFile: pidFileOf(dirs, spec.name),
    stopping: new AbortController(),
    ready: Promise.withResolvers(),
    child: undefined,
    hasServed: false,
    restartReason: null,
    reported: null,
    isUnreferenced: false,
  };
  const { ready, stopping } = supervision;
  ready.promise.catch(() => {});
  const finished = keepRunning(supervision);
  return {
    name: spec.name,
    ready: ready.promise,
    pid: () => supervision.child?.pid,
    stop: async () => {
      stopping.abort();
      ready.reject(new Error(`${spec.name} was stopped`));
      supervision.child?.kill(spec.stopSignal);
      const kill = setTimeout(() => supervision.child?.kill('SIGKILL'), spec.graceMs);
      await finished;
      clearTimeout(kill);
    },
    kill: (signal) => void supervision.child?.kill(signal),
    restart: (reason) => {
      supervision.restartReason = reason;
      supervision.child?.kill('SIGKILL');
    },
    unref: () => {
      supervision.isUnreferenced = true;
      if (supervision.child) unrefChild(supervision.child);
    },
  };
};
