import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { LimitJob } from './limit-process.ts';
import type { Figures, Load, LoadFigures } from './load.ts';
import type { Volley } from './request-names.ts';

export type LoadJob = Omit<Load, 'request' | 'answered'> & { readonly volley: Volley };

const running = new Set<ChildProcess>();

/** A helper beside the one who measures: its own process, so that neither waits for the other. */
export const helper = (file: string): ChildProcess => {
  const child = fork(join(import.meta.dirname, file), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
};

/** The next thing that a helper says. Rejects where it ends without a word. */
export const heardFrom = <T>(child: ChildProcess): Promise<T> =>
  new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('exit', (code, signal) => reject(new Error(`a helper ended with ${code ?? signal}`)));
  });

const asked = <T>(file: string, job: object): Promise<T> => {
  const child = helper(file);
  child.send(job);
  return heardFrom<T>(child);
};

/** What a helper says when its work is done. */
export const handBack = (result: object): void => void process.send?.(result, undefined, undefined, () => process.disconnect?.());

/** Puts load on a server from a process of its own. */
export const loadApart = (job: LoadJob): Promise<LoadFigures> => asked('load-process.ts', job);

/** Measures a driver alone, in a process of its own. */
export const limitApart = (job: LimitJob): Promise<Figures> => asked('limit-process.ts', job);

/** Ends every helper that still runs. */
export const endHelpers = (): void => {
  for (const child of running) child.kill();
};
