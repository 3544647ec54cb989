import { type ChildProcess, spawn } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { end, findByPidFile, type ProcessRef, readPidFile, removePidFile, writePidFile } from './os-process.ts';

/** A process that is kept running. */
export type ManagedProcess = {
  name: string;
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string;
  uid?: number;
  gid?: number;
  /** The signal that asks it to end, and how many ms it has for that. */
  stop: NodeJS.Signals;
  grace: number;
  /** Where its own pid file lies and what its command line holds, for a server that keeps one. */
  own?: { file: string; mark: string };
  /** What its log says when it serves. */
  says?: RegExp;
  /** What is to be done or waited for, each time it is up, before others may rely on it; given up when it ends. */
  prepare?: (ended: AbortSignal) => Promise<void>;
  /** Gives way to the others when the machine is busy. */
  yields?: boolean;
  /** Opens a channel: the piece ends when its supervisor is gone, and may tell us something. */
  hears?: (message: unknown) => void;
};

export type ProcessDirs = {
  /** Directories of logs and of pid files. */
  logs: string;
  run: string;
  say: (line: string) => void;
};

export type Supervised = {
  readonly name: string;
  /** Serves for the first time. Rejects when it ends again and again before that. */
  readonly ready: Promise<void>;
  readonly pid: () => number | undefined;
  readonly stop: () => Promise<void>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Lets our process end while the piece runs. */
  readonly unref: () => void;
};

const ATTEMPTS = 5;
const MIN_RESTART_DELAY_MS = 50;
const MAX_RESTART_DELAY_MS = 2_000;
const SETTLED_MS = 1_000;
const LOG_LIMIT = 10 * 1024 * 1024;
const LOOK_MS = 60_000;
/** Acceptance goes first among our own; what yields still gets a third of what it would, and is not kept waiting for tens of milliseconds. */
const NICENESS = 5;
/** PostgreSQL and the store may have much to repair after a crash. */
const READY_MS = 600_000;
const POLL_MS = 10;

export const logFile = ({ logs }: Pick<ProcessDirs, 'logs'>, name: string): string => join(logs, `${name}.log`);
const pidFile = ({ run }: Pick<ProcessDirs, 'run'>, name: string): string => join(run, `${name}.pid`);

const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

/** Moves a log that has grown beyond 10 MiB aside; one older part is kept. */
const rotate = (file: string): void => {
  if (sizeOf(file) > LOG_LIMIT) renameSync(file, `${file}.1`);
};

/** The same of a log that is being written: its process only appends, and so goes on at the beginning. Where there is no room the older part goes. */
export const truncateLog = (file: string): void => {
  if (sizeOf(file) <= LOG_LIMIT) return;
  try {
    copyFileSync(file, `${file}.1`);
  } catch {
    rmSync(`${file}.1`, { force: true });
  }
  truncateSync(file);
};

const textSince = (file: string, offset: number): string => {
  const length = sizeOf(file) - offset;
  if (length <= 0) return '';
  const bytes = Buffer.alloc(length);
  const fd = openSync(file, 'r');
  const read = readSync(fd, bytes, 0, length, offset);
  closeSync(fd);
  return bytes.toString('utf8', 0, read);
};

const messageIn = (line: string): string => {
  if (!line.startsWith('{')) return line;
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
    return err?.message ?? msg ?? line;
  } catch {
    return line;
  }
};

/** The line of a log that says most about an end: the last that speaks of an error, or else the last. */
const tellingLine = (text: string): string => {
  const lines = text.trimEnd().split('\n');
  return messageIn(lines.findLast((line) => /error|fatal|annals:/i.test(line)) ?? lines.at(-1) ?? '').slice(0, 300);
};

const begin = (piece: ManagedProcess, file: string): ChildProcess => {
  const log = openSync(file, 'a', 0o600);
  const { command, args, env, uid, gid, cwd = '/' } = piece;
  const stdio = piece.hears ? (['ignore', log, log, 'ipc'] as const) : (['ignore', log, log] as const);
  const child = spawn(command, args, { env, cwd, stdio: [...stdio], detached: true, ...(uid !== undefined && { uid, gid: gid! }) });
  closeSync(log);
  return child;
};

const lowerPriority = (pid: number): void => {
  try {
    setPriority(pid, NICENESS);
    // A session of its own is a scheduling group of its own on Linux: niceness counts inside the group, this between them.
    writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS));
  } catch {
    // It has ended already, which the exit event tells; or the system has no such groups.
  }
};

/** Ends what an earlier supervisor has left of a piece, however that one ended. */
export const replaceProcess = async (
  { name, stop, grace, own }: Pick<ManagedProcess, 'name' | 'stop' | 'grace' | 'own'>,
  ground: ProcessDirs,
): Promise<void> => {
  const left = [readPidFile(pidFile(ground, name)), own && findByPidFile(own.file, own.mark)].filter(
    (known): known is ProcessRef => !!known,
  );
  for (const known of left) await end(known, stop, grace);
  removePidFile(pidFile(ground, name));
  // The pid in it may be anybody's by now (in a container it soon is), and PostgreSQL would take that for a server of its own.
  if (own && left.length === 0) removePidFile(own.file);
};

const endOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `code ${code}`));
  });

const letGo = (child: ChildProcess): void => {
  child.unref();
  child.channel?.unref();
};

const isOver = ({ exitCode, signalCode, pid }: ChildProcess): boolean => exitCode !== null || signalCode !== null || pid === undefined;

/** How a process ended, and for how long it had served. */
type Life = { readonly how: string; readonly servedMs: number };

/** Resolves to whether the process got so far that others may rely on it. */
const serves = async (
  { says, prepare }: ManagedProcess,
  child: ChildProcess,
  ended: AbortSignal,
  textOf: () => string,
): Promise<boolean> => {
  const late = Date.now() + READY_MS;
  while (says && !says.test(textOf())) {
    if (isOver(child) || Date.now() > late) return false;
    await sleep(POLL_MS);
  }
  await prepare?.(ended);
  return !isOver(child);
};

/** Starts a piece and starts it again whenever it ends, at once after a time of service, ever later after failures, until told to stop. */
export const supervise = (piece: ManagedProcess, ground: ProcessDirs): Supervised => {
  const log = logFile(ground, piece.name);
  const pids = pidFile(ground, piece.name);
  const stopping = new AbortController();
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});
  let child: ChildProcess | undefined;
  let everServed = false;
  let loose = false;

  /** What can't be written down only keeps the next start from finding what this one leaves. */
  const note = (pid: number): void => {
    try {
      writePidFile(pids, pid);
    } catch (error) {
      ground.say(`${piece.name} runs, but ${pids} can not be written: ${(error as Error).message}`);
    }
  };

  const look = (): void => {
    try {
      truncateLog(log);
    } catch (error) {
      ground.say(`${log} grows, and can not be cut: ${(error as Error).message}`);
    }
  };

  /** One life of the process. @throws where it could not begin */
  const live = async (): Promise<Life> => {
    // They may have been cleared away since.
    for (const dir of [ground.logs, ground.run]) mkdirSync(dir, { recursive: true, mode: 0o700 });
    rotate(log);
    const offset = sizeOf(log);
    const born = begin(piece, log);
    child = born;
    const over = new AbortController();
    const text = (): string => textSince(log, offset);
    const ended = endOf(born).finally(() => over.abort());
    let servedAt = Number.POSITIVE_INFINITY;
    // Until it serves, what its log says since its beginning is waited for.
    const looking = setInterval(() => Number.isFinite(servedAt) && look(), LOOK_MS).unref();
    over.signal.addEventListener('abort', () => clearInterval(looking));
    const watch = serves(piece, born, over.signal, text).then(
      (serving) => {
        if (!serving) return void born.kill('SIGKILL');
        servedAt = Date.now();
        everServed = true;
        ready.resolve();
      },
      (error: Error) => {
        if (!isOver(born) && !stopping.signal.aborted) ground.say(`${piece.name} runs but cannot be used: ${error.message}`);
        born.kill('SIGKILL');
      },
    );
    if (born.pid !== undefined) note(born.pid);
    if (born.pid !== undefined && piece.yields) lowerPriority(born.pid);
    if (piece.hears) born.on('message', piece.hears);
    if (loose) letGo(born);
    const how = await ended;
    await watch;
    removePidFile(pids);
    return { how: everServed ? how : `${how}: ${tellingLine(text())}`, servedMs: Date.now() - servedAt };
  };

  const keep = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const { how, servedMs } = await live().catch(({ message }: Error): Life => ({ how: message, servedMs: 0 }));
      if (stopping.signal.aborted) return;
      failures = servedMs > SETTLED_MS ? 0 : failures + 1;
      if (!everServed && failures >= ATTEMPTS) return ready.reject(new Error(`${piece.name} does not start (${how}); its log is ${log}`));
      if (everServed) ground.say(`${piece.name} ended (${how}) and is started again; its log is ${log}`);
      const delay = Math.min(MIN_RESTART_DELAY_MS * 2 ** Math.max(0, failures - 1), MAX_RESTART_DELAY_MS);
      await sleep(delay, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };
  const kept = keep();

  const unref = (): void => {
    loose = true;
    if (child) letGo(child);
  };

  const stop = async (): Promise<void> => {
    stopping.abort();
    ready.reject(new Error(`${piece.name} was told to stop`));
    child?.kill(piece.stop);
    const late = setTimeout(() => child?.kill('SIGKILL'), piece.grace);
    await kept;
    clearTimeout(late);
  };

  return {
    name: piece.name,
    ready: ready.promise,
    pid: () => child?.pid,
    stop,
    kill: (signal) => void child?.kill(signal),
    unref,
  };
};
