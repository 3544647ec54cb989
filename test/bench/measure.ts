import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { LimitJob } from './limit-process.ts';
import type { Figures, LoadFigures, LoadOptions } from './load.ts';
import type { RequestSet } from './request-names.ts';

export type LoadJob = Omit<LoadOptions, 'request' | 'answered'> & { readonly requests: RequestSet };

const running = new Set<ChildProcess>();

/** Starts a helper process, so that it and the measured process do not wait for each other. */
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

/** Sends a helper's result, and lets it end. */
export const sendResult = (result: object): void => void process.send?.(result, undefined, undefined, () => process.disconnect?.());

/** Sends load to a server from a process of its own. */
export const runLoadProcess = (job: LoadJob): Promise<LoadFigures> => runJob('load-process.ts', job);

/** Measures a driver in a process of its own. */
export const runLimitProcess = (job: LimitJob): Promise<Figures> => runJob('limit-process.ts', job);

/** Kills the helpers that still run. */
export const killHelpers = (): void => {
  for (const child of running) child.kill();
};
