import { type ChildProcess, type ExecFileOptions, execFile } from 'node:child_process';

const running = new Set<ChildProcess>();
let isStopping = false;

/** Runs a short program to its end. @returns its standard output @throws if it fails; the error carries its `stderr` */
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

/** Kills the helpers that still run, and refuses to start others. For a process that is about to exit: initdb would survive a SIGTERM. */
export const killHelpers = (): void => {
  isStopping = true;
  for (const child of running) child.kill('SIGKILL');
};
