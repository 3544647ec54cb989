import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { entryPoint } from '../program.ts';
import type { SpoolStatus, SpoolStorageOptions } from './spool-storage.ts';
import type { SpoolMessage, SpoolRequest, SpoolTasks } from './spool-worker.ts';

const RESTART_DELAY_MS = 1_000;

type Pending = { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void };

type ThreadOptions = {
  readonly storage: SpoolStorageOptions;
  readonly logger: Pick<Logger, 'warn'>;
  /** Called when the thread has opened the file, with the number of rows of each integration. */
  readonly onOpen: (waiting: readonly (readonly [integration: string, rows: number])[]) => void;
  /** Called with null when the thread has ended. */
  readonly onStatus: (status: SpoolStatus | null) => void;
};

/** Writing to the disk blocks the thread. A thread that ends is started again after a second. */
export const openSpoolThread = ({ storage, logger, onOpen, onStatus }: ThreadOptions) => {
  const pending = new Map<number, Pending>();
  let worker: Worker | null = null;
  let isClosed = false;
  let nextId = 0;

  const onMessage = (message: SpoolMessage): void => {
    if ('warning' in message) logger.warn(message.warning);
    if ('status' in message && message.status) onStatus(message.status);
    if ('waiting' in message) onOpen(message.waiting);
    if ('id' in message) answer(message);
  };

  const answer = (message: Extract<SpoolMessage, { id: number }>): void => {
    const { resolve, reject } = pending.get(message.id)!;
    pending.delete(message.id);
    if ('error' in message) reject(new Error(message.error));
    else resolve(message.result);
  };

  const onExit = (): void => {
    worker = null;
    onStatus(null);
    for (const { reject } of pending.values()) reject(new Error('the thread of the spool has ended'));
    pending.clear();
    if (!isClosed) setTimeout(start, RESTART_DELAY_MS).unref();
  };

  const start = (): void => {
    if (isClosed) return;
    worker = new Worker(entryPoint('infra/spool/spool-worker.ts'), { workerData: storage });
    worker.unref();
    worker.on('message', onMessage);
    worker.on('error', (error) => logger.warn({ error: (error as Error).message }, 'the spool of deliveries cannot be used'));
    worker.on('exit', onExit);
  };

  const ask = <N extends keyof SpoolTasks>(name: N, input?: Parameters<SpoolTasks[N]>[0]): Promise<ReturnType<SpoolTasks[N]>> =>
    new Promise((resolve, reject) => {
      if (!worker) return reject(new Error('the spool is not open'));
      const id = nextId++;
      pending.set(id, { resolve: (result) => resolve(result as ReturnType<SpoolTasks[N]>), reject });
      worker.postMessage({ id, name, input } satisfies SpoolRequest);
    });

  start();
  return {
    /** @throws Error if the task fails, or if the thread ends before */
    ask,
    isRunning: (): boolean => worker !== null,
    close: async (): Promise<void> => {
      isClosed = true;
      worker?.ref();
      await ask('close').catch(() => {});
    },
  };
};
