import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { LimitJob } from './limit-process.ts';
import type { Figures, LoadFigures, LoadOptions } from './load.ts';
import type { RequestSet } from './request-names.ts';

export type LoadJob = Omit<LoadOptions, 'request' | 'answered'> & { readonly requests: RequestSet };

const running = new Set<ChildProcess>();

/** Starts a helper process. The work runs in a process of its own, so that it does not block the measuring process. */
export const startHelper = (file: string): ChildProcess => {
  const child = fork(join(import.meta.dirname, file), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
};

/** The next message of a helper. @throws if the helper ends without one */
export const nextMessage = <T>(child: ChildProcess): Promise<T> =>
  new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('exit', (code, signal) => reject(new Error(`a helper process ended with ${code ?? signal}`)));
  });

const runJob = <T>(file: string, job: object): Promise<T> => {
  const child = startHelper(file);
  child.send(job);
  return nextMessage<T>(child);
};

/** Sends a helper's result to the process that started it, and lets the helper end. */
export const sendResult = (result: object): void => void process.send?.(result, undefined, undefined, () => process.disconnect?.());

/** Sends load to a server from a separate process. */
export const runLoadProcess = (job: LoadJob): Promise<LoadFigures> => runJob('load-process.ts', job);

/** Measures a driver in a separate process. */
export const runLimitProcess = (job: LimitJob): Promise<Figures> => runJob('limit-process.ts', job);

/** Kills all helpers that are still running. */
export const killHelpers = (): void => {
  for (const child of running) child.kill();
};
