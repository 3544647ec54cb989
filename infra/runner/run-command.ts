import { spawn } from 'node:child_process';

export type CommandRun = {
  readonly exec: string;
  readonly input: Uint8Array;
  readonly env: Readonly<Record<string, string>>;
  /** Called every `progressMs` milliseconds while the command runs. */
  readonly onProgress: () => void;
  readonly progressMs: number;
  /** When this signal is aborted, the command and the processes that it has started get SIGTERM. */
  readonly kill: AbortSignal;
  /** When this signal is aborted, the command and the processes that it has started get SIGKILL. */
  readonly force: AbortSignal;
};

/**
 * Runs a shell command with bytes on its standard input.
 * @returns its exit code, or a description of what ended it
 */
export const runCommand = ({ exec, input, env, onProgress, progressMs, kill, force }: CommandRun): Promise<number | string> =>
  new Promise((resolve) => {
    // Run the command in its own process group, so that Ctrl-C in a terminal reaches only the runner, which lets the
    // command finish.
    const child = spawn('/bin/sh', ['-c', exec], {
      detached: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { ...process.env, ...env },
    });
    const progress = setInterval(onProgress, progressMs);
    const send = (signal: NodeJS.Signals) => (): void => {
      try {
        if (child.pid) process.kill(-child.pid, signal);
      } catch {
        // The process group does not exist any more, because the command has ended.
      }
    };
    const [terminate, forceEnd] = [send('SIGTERM'), send('SIGKILL')];
    const finish = (how: number | string): void => {
      clearInterval(progress);
      kill.removeEventListener('abort', terminate);
      force.removeEventListener('abort', forceEnd);
      resolve(how);
    };
    kill.addEventListener('abort', terminate);
    force.addEventListener('abort', forceEnd);
    child.once('error', (error) => finish(error.message));
    child.once('exit', (code, signal) => finish(code ?? `signal ${signal}`));
    // Ignore the write error that occurs if a command exits without reading its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
