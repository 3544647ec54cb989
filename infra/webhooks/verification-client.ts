import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { retryLater } from './record-delivery.ts';
import type { Done, Task, Work } from './verification-worker.ts';

type Waiting = { readonly done: (result: Done['result']) => void; readonly failed: (error: Error) => void };

/**
 * Has large bodies examined in a thread of their own, one after the other, so that the event loop goes on meanwhile. The bytes should lie in
 * shared memory, or are copied. The thread begins with the first of them. @throws Refusal unavailable where it ended
 */
export const openVerificationClient = (logger: Pick<Logger, 'warn'>) => {
  const waiting = new Map<number, Waiting>();
  let thread: Worker | undefined;
  let tasks = 0;

  const begin = (): Worker => {
    const begun = new Worker(new URL('./verification-worker.ts', import.meta.url));
    begun.on('message', ({ id, result }: Done) => {
      waiting.get(id)?.done(result);
      waiting.delete(id);
      // A thread that has nothing to do keeps no process.
      if (waiting.size === 0) begun.unref();
    });
    begun.on('error', (error) =>
      logger.warn({ error: (error as Error).message }, 'the thread that examines large bodies ended; it begins anew with the next'),
    );
    begun.on('exit', () => {
      if (thread === begun) thread = undefined;
      for (const { failed } of waiting.values()) failed(retryLater());
      waiting.clear();
    });
    return begun;
  };

  return {
    ask: <N extends keyof Work>(name: N, given: Parameters<Work[N]>[0]): Promise<ReturnType<Work[N]>> =>
      new Promise((resolve, reject) => {
        thread ??= begin();
        thread.ref();
        const id = tasks++;
        waiting.set(id, { done: resolve as Waiting['done'], failed: reject });
        thread.postMessage({ id, name, given } satisfies Task);
      }),
    close: async (): Promise<void> => {
      await thread?.terminate();
    },
  };
};
