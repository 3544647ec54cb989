import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { LimitJob } from './limit-process.ts';
import type { Figures, LoadFigures, LoadOptions } from './load.ts';
import type { RequestSet } from './request-names.ts';

export type LoadJob = Omit<LoadOptions, 'request' | 'answered'> & { readonly requests: RequestSet };

const running = new Set<ChildProcess>();

/**
 * Starts a helper program of this folder in a separate process, so that its work does not block the measuring process.
 */
export const startHelper = (file: string): ChildProcess => {
  const child = fork(join(import.meta.dirname, file), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
};

/** Returns the next message of a helper. @throws Error if the helper ends without sending a message */
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

/** Sends a helper's result to the process that started it and then disconnects, so that the helper can end. */
export const sendResult = (result: object): void => void process.send?.(result, undefined, undefined, () => process.disconnect?.());

/** Sends load to a server from a separate process. @returns the measured figures */
export const runLoadProcess = (job: LoadJob): Promise<LoadFigures> => runJob('load-process.ts', job);

/** Measures a driver in a separate process. @returns the measured figures */
export const runLimitProcess = (job: LimitJob): Promise<Figures> => runJob('limit-process.ts', job);

/** Kills all helpers that are still running. */
export const killHelpers = (): void => {
  for (const child of running) child.kill();
};
