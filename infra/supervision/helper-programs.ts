import { type ChildProcess, type ExecFileOptions, execFile } from 'node:child_process';

const running = new Set<ChildProcess>();
let isStopping = false;

/**
 * Runs a short-lived program and waits for its end.
 * @returns its standard output @throws Error with the program's `stderr` if it fails
 */
export const runHelper = (command: string, args: readonly string[], options: ExecFileOptions = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    if (isStopping) return reject(new Error('stopped while it was starting'));
    const child = execFile(command, args, { ...options, encoding: 'utf8' }, (error, stdout, stderr) => {
      running.delete(child);
      if (error) return reject(Object.assign(error, { stderr }));
      resolve(stdout);
    });
    running.add(child);
  });

/**
 * Kills the helper programs that are still running, and prevents others from being started. It must be called before
 * this process exits. SIGKILL is used, because initdb does not end on SIGTERM.
 */
export const killHelpers = (): void => {
  isStopping = true;
  for (const child of running) child.kill('SIGKILL');
};
