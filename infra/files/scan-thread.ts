import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { FileToScan, Threats } from '../../commands/files/find-threats.ts';
import type { ScanPorts } from '../../commands/files/scan-file.ts';
import { entryPoint } from '../program.ts';

/** The time limit for one file, in milliseconds. The start of the thread counts, too. */
const TIME_LIMIT_MS = 10_000;
const MAX_HEAP_MB = 256;

/** @throws Error if the thread fails, or exceeds the time limit; then it must not be used again */
const checkIn = async (worker: Worker, file: FileToScan, timeLimitMs: number): Promise<Threats> => {
  const { promise, resolve, reject } = Promise.withResolvers<Threats>();
  const onExit = (): void => reject(new Error('the thread ended'));
  const timer = setTimeout(() => reject(new Error('time limit')), timeLimitMs);
  worker.on('message', resolve).on('error', reject).on('exit', onExit).ref();
  worker.postMessage(file, [file.bytes.buffer as ArrayBuffer]);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    worker.off('message', resolve).off('error', reject).off('exit', onExit).unref();
  }
};

type Options = { readonly logger: Pick<Logger, 'warn'>; readonly timeLimitMs?: number };

/**
 * One thread checks one file after another, so hostile files neither block the event loop nor use more memory than one may. A file that
 * exceeds a limit ends the thread, and the next file starts a new one.
 */
export const createThreatScan = ({ logger, timeLimitMs = TIME_LIMIT_MS }: Options): ScanPorts['findThreats'] => {
  let worker: Worker | null = null;
  let last: Promise<unknown> = Promise.resolve();

  const startWorker = (): Worker => {
    const started = new Worker(entryPoint('infra/files/scan-worker.ts'), { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    // Without a listener, the error of a thread that is not in use would end the process.
    started.on('error', () => {});
    started.on('exit', () => {
      if (worker === started) worker = null;
    });
    return started;
  };

  const check = async (file: FileToScan): Promise<Threats | null> => {
    const used = worker ?? startWorker();
    worker = used;
    try {
      return await checkIn(used, file, timeLimitMs);
    } catch (error) {
      logger.warn({ reason: (error as Error).message }, 'a file was not checked completely for threats');
      worker = null;
      void used.terminate();
      return null;
    }
  };

  return (file) => {
    const checked = last.then(() => check(file));
    last = checked;
    return checked;
  };
};
