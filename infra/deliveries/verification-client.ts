import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { entryPoint } from '../program.ts';
import { retryLater } from './delivery-appends.ts';
import type { TaskRequest, TaskResult, Tasks } from './verification-worker.ts';

type Pending = { readonly resolve: (result: TaskResult['result']) => void; readonly reject: (error: Error) => void };

/** Tasks run one after another in a worker thread, which the first one starts. Bytes that are not in shared memory are copied. */
export const openVerificationClient = (logger: Pick<Logger, 'warn'>) => {
  const pending = new Map<number, Pending>();
  let worker: Worker | undefined;
  let nextId = 0;

  const startWorker = (): Worker => {
    const started = new Worker(entryPoint('infra/deliveries/verification-worker.ts'));
    started.on('message', ({ id, result }: TaskResult) => {
      pending.get(id)?.resolve(result);
      pending.delete(id);
      // No task is pending, so let the process exit although the thread is running.
      if (pending.size === 0) started.unref();
    });
    started.on('error', (error) =>
      logger.warn(
        { error: (error as Error).message },
        'the thread that verifies large bodies failed; the next large body starts a new one',
      ),
    );
    started.on('exit', () => {
      if (worker === started) worker = undefined;
      for (const { reject } of pending.values()) reject(retryLater());
      pending.clear();
    });
    return started;
  };

  return {
    /** @throws Refusal unavailable if the thread ends before the task */
    run: <N extends keyof Tasks>(name: N, input: Parameters<Tasks[N]>[0]): Promise<ReturnType<Tasks[N]>> =>
      new Promise((resolve, reject) => {
        worker ??= startWorker();
        worker.ref();
        const id = nextId++;
        pending.set(id, { resolve: resolve as Pending['resolve'], reject });
        worker.postMessage({ id, name, input } satisfies TaskRequest);
      }),
    close: async (): Promise<void> => {
      await worker?.terminate();
    },
  };
};
