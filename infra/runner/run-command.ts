import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cause, causeOfError, createOutputTail } from './failed-attempt.ts';

export type CommandRun = {
  readonly exec: string;
  readonly input: Uint8Array;
  readonly env: Readonly<Record<string, string>>;
  /** The command gets SIGTERM after this many milliseconds, and SIGKILL five seconds later. If absent, there is no limit. */
  readonly timeoutMs?: number | undefined;
  /** Sends SIGTERM to the command and the processes that it has started. */
  readonly kill: AbortSignal;
  /** When this signal is aborted, the command ends in the same way as when it exceeds the time limit. */
  readonly end?: AbortSignal | undefined;
  /** Sends SIGKILL to the command and the processes that it has started. */
  readonly force: AbortSignal;
};

const KILL_DELAY_MS = 5_000;

/**
 * The watcher and the command share a process group. If the runner ends without a line on the pipe (descriptor 3), for example after a
 * SIGKILL, the watcher kills the group: the command must not still run while another runner gets the same message.
 */
const WATCHED = `{ trap '' TERM INT HUP; read -r _ <&3 || kill -s KILL -- "-$$"; } >/dev/null 2>&1 &
exec /bin/sh -c "$1" 3<&-`;

/** Ends a command after `timeoutMs`, or when `end` is aborted. `close` removes the limits, and returns whether the time was exceeded. */
const startLimits = ({ timeoutMs, end }: Pick<CommandRun, 'timeoutMs' | 'end'>, terminate: () => void, forceEnd: () => void) => {
  let isOver = false;
  let killing: NodeJS.Timeout | undefined;
  const begin = (): void => {
    terminate();
    killing ??= setTimeout(forceEnd, KILL_DELAY_MS);
  };
  const exceed = (): void => {
    isOver = true;
    begin();
  };
  const timer = timeoutMs === undefined ? undefined : setTimeout(exceed, timeoutMs);
  end?.addEventListener('abort', begin);
  return {
    close: (): boolean => {
      for (const each of [timer, killing]) clearTimeout(each);
      end?.removeEventListener('abort', begin);
      // A process that the ended shell has started may ignore SIGTERM and still run.
      if (killing) forceEnd();
      return isOver;
    },
  };
};

/** `ended` is the exit code, or a text that says what ended the command. */
export type CommandEnd = { readonly ended: number | string; readonly cause: Cause };

/** `isStopped`: the runner is stopping, so a signal came from it, and the outcome is `released` instead of `crashed`. */
const endOf = (code: number | null, signal: NodeJS.Signals | null, isStopped: boolean): CommandEnd =>
  code === null
    ? { ended: `signal ${signal}`, cause: { outcome: isStopped ? 'released' : 'crashed', code: signal } }
    : { ended: code, cause: { outcome: 'failed', code } };

/** The time to wait for the end of standard error after the command has ended, in milliseconds: its child processes may keep it open. */
const STDERR_TIMEOUT_MS = 200;

/** Passes standard error of a command on to that of the runner, and keeps its end. */
const teeStderr = (stderr: Readable) => {
  const tail = createOutputTail();
  stderr.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk);
    tail.add(chunk);
  });
  const ended = new Promise<void>((resolve) => stderr.once('close', resolve));
  return async () => {
    await Promise.race([ended, sleep(STDERR_TIMEOUT_MS, undefined, { ref: false })]);
    (stderr as Socket).unref();
    return tail.read();
  };
};

const NOT_STARTED: CommandEnd = { ended: 'a stop before it began', cause: { outcome: 'released' } };

/** `input` is standard input. Not started if a signal is already aborted. */
export const runCommand = ({ exec, input, env, timeoutMs, kill, end, force }: CommandRun): Promise<CommandEnd> =>
  new Promise((resolve) => {
    const isStopped = (): boolean => [kill, end, force].some((signal) => signal?.aborted);
    if (isStopped()) return resolve(NOT_STARTED);
    // Start it in its own process group: Ctrl-C then reaches only the runner, which lets the command finish.
    const child = spawn('/bin/sh', ['-c', WATCHED, 'sh', exec], {
      detached: true,
      stdio: ['pipe', 'inherit', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    const [stdin, , stderr, watcher] = child.stdio as unknown as [Writable, null, Readable, Writable];
    const readStderr = teeStderr(stderr);
    const send = (signal: NodeJS.Signals) => (): void => {
      try {
        if (child.pid) process.kill(-child.pid, signal);
      } catch {
        // The process group is gone: the command has ended.
      }
    };
    const [terminate, forceEnd] = [send('SIGTERM'), send('SIGKILL')];
    const limits = startLimits({ timeoutMs, end }, terminate, forceEnd);
    const finish = (commandEnd: CommandEnd): void => {
      const { ended, cause } = limits.close()
        ? { ended: `a timeout after ${timeoutMs! / 1_000} s`, cause: { outcome: 'timed_out' } as const }
        : commandEnd;
      watcher.end('ended\n');
      kill.removeEventListener('abort', terminate);
      force.removeEventListener('abort', forceEnd);
      resolve({ ended, cause: { ...cause, output: readStderr() } });
    };
    kill.addEventListener('abort', terminate);
    force.addEventListener('abort', forceEnd);
    child.once('error', (error) => finish({ ended: error.message, cause: causeOfError(error, 'failed') }));
    child.once('exit', (code, signal) => finish(endOf(code, signal, isStopped())));
    // Writing fails if a command exits without reading its input.
    for (const pipe of [stdin, watcher]) pipe.on('error', () => {});
    stdin.end(input);
  });
