import { type ChildProcess, type ExecFileOptions, execFile, execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 10;

const attempt = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    return undefined;
  }
};

/** The fields of /proc/<pid>/stat after the command's name, which may hold spaces: state first, start time twentieth. */
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

const startOnLinux = (pid: number): string | undefined => {
  const [state, ...rest] = statOf(pid) ?? [];
  return state && !/[ZX]/.test(state) ? rest[18] : undefined;
};

const startElsewhere = (pid: number): string | undefined =>
  /^[^Z]/.test(ps(pid, 'stat') ?? '') ? ps(pid, 'lstart') || undefined : undefined;

/** When a living process began, in the system's own words; undefined where there is none (a zombie is none). With the pid it names one process. */
export const startOf = process.platform === 'linux' ? startOnLinux : startElsewhere;

/** The command line of a process; empty where there is none. */
export const commandOf = (pid: number): string =>
  process.platform === 'linux'
    ? (attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')) ?? '')
    : (ps(pid, 'command') ?? '');

export type ProcessRef = { pid: number; start: string };

const same = ({ pid, start }: ProcessRef): boolean => startOf(pid) === start;

export const findProcess = (pid: number): ProcessRef | undefined => {
  const start = startOf(pid);
  return start ? { pid, start } : undefined;
};

const send = (pid: number, signal: NodeJS.Signals): void => void attempt(() => process.kill(pid, signal));

const gone = async (known: ProcessRef, within: number): Promise<boolean> => {
  for (const end = Date.now() + within; same(known); await sleep(POLL_MS)) if (Date.now() > end) return false;
  return true;
};

/** Ends a process that may not be our child: politely, and after `grace` ms for good. */
export const end = async (known: ProcessRef, signal: NodeJS.Signals, grace: number): Promise<void> => {
  if (!same(known)) return;
  send(known.pid, signal);
  if (await gone(known, grace)) return;
  send(known.pid, 'SIGKILL');
  if (!(await gone(known, 5_000))) throw new Error(`process ${known.pid} cannot be ended; end it and start again`);
};

/** Writes down which process it is, so that the next start can find it. */
export const writePidFile = (file: string, pid: number): void => {
  const known = findProcess(pid);
  if (known) writeFileSync(file, JSON.stringify(known), { mode: 0o600 });
};

export const removePidFile = (file: string): void => rmSync(file, { force: true });

/** The process that a pid file tells of, where it still lives. */
export const readPidFile = (file: string): ProcessRef | undefined => {
  const known = attempt(() => JSON.parse(readFileSync(file, 'utf8')) as ProcessRef);
  return known && same(known) ? known : undefined;
};

/** The process whose pid is a file's first line, where it lives and its command line holds `mark`: for servers that keep their own pid file. */
export const findByPidFile = (file: string, mark: string): ProcessRef | undefined => {
  const pid = Number(attempt(() => readFileSync(file, 'utf8').split('\n', 1)[0]) ?? 0);
  return pid > 1 && commandOf(pid).includes(mark) ? findProcess(pid) : undefined;
};

/** Whether a port can be listened on. @throws what listening throws, but for a port that is taken */
export const isFree = (port: number, host = '127.0.0.1'): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error)));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });

/** A port of 127.0.0.1 that nobody listens on, chosen by the system. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

const helpers = new Set<ChildProcess>();
let helpersMayBegin = true;

/** Runs a program that prepares something, and resolves to what it says. @throws with its `stderr` where it fails */
export const runHelper = (command: string, args: readonly string[], options: ExecFileOptions = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    if (!helpersMayBegin) return reject(new Error('told to stop'));
    const child = execFile(command, args, { ...options, encoding: 'utf8' }, (error, stdout, stderr) => {
      helpers.delete(child);
      if (error) return reject(Object.assign(error, { stderr }));
      resolve(stdout);
    });
    helpers.add(child);
  });

/** Ends the programs that still prepare something, and lets no other begin: this process is about to end. initdb would outlive a polite signal. */
export const killHelpers = (): void => {
  helpersMayBegin = false;
  for (const child of helpers) child.kill('SIGKILL');
};
