import { spawn } from 'node:child_process';

export type Run = {
  readonly exec: string;
  readonly input: Uint8Array;
  readonly env: Readonly<Record<string, string>>;
  /** Called every so many ms while it runs. */
  readonly tick: () => void;
  readonly everyMs: number;
  /** Asks the command and all that it started to end. */
  readonly kill: AbortSignal;
  /** Ends them, whatever they do about it. */
  readonly force: AbortSignal;
};

/** Runs a shell command with bytes on its standard input, in a process group of its own. Resolves to how it ended: 0, or what went wrong. */
export const runCommand = ({ exec, input, env, tick, everyMs, kill, force }: Run): Promise<number | string> =>
  new Promise((resolve) => {
    // A group of its own, so that Ctrl-C in a terminal reaches the runner alone, which lets the command finish.
    const child = spawn('/bin/sh', ['-c', exec], {
      detached: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { ...process.env, ...env },
    });
    const ticking = setInterval(tick, everyMs);
    const send = (signal: NodeJS.Signals) => (): void => {
      try {
        if (child.pid) process.kill(-child.pid, signal);
      } catch {
        // It is gone already.
      }
    };
    const [ask, end] = [send('SIGTERM'), send('SIGKILL')];
    const finish = (how: number | string): void => {
      clearInterval(ticking);
      kill.removeEventListener('abort', ask);
      force.removeEventListener('abort', end);
      resolve(how);
    };
    kill.addEventListener('abort', ask);
    force.addEventListener('abort', end);
    child.once('error', (error) => finish(error.message));
    child.once('exit', (code, signal) => finish(code ?? `signal ${signal}`));
    // A command need not read what it is given.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
