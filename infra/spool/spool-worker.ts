import { parentPort, workerData } from 'node:worker_threads';
import type { SpoolPage } from './spool-file.ts';
import { openSpoolStorage, type SpoolStatus, type SpoolStorageOptions } from './spool-storage.ts';
import type { SpoolEntry } from './spooled-delivery.ts';

const storage = openSpoolStorage(workerData as SpoolStorageOptions);

const warn = (warning: string): void => parentPort!.postMessage({ warning } satisfies SpoolMessage);

/** These wait for the disk, so they must not run in the thread that serves requests. */
const tasks = {
  put: (entries: readonly SpoolEntry[]) => storage.put(entries),
  first: (page: SpoolPage) => storage.first(page, warn),
  remove: (seqs: readonly number[]) => storage.remove(seqs),
  park: ({ seq, reason }: { seq: number; reason: string }) => storage.park(seq, reason),
  adopt: () => storage.adopt(),
  close: () => storage.close(),
};

export type SpoolTasks = typeof tasks;
export type SpoolRequest = { readonly id: number; readonly name: keyof SpoolTasks; readonly input: unknown };

/** The messages that the thread sends: one at its start, one after each request, and one for each line to log. */
export type SpoolMessage =
  | { readonly waiting: readonly (readonly [integration: string, rows: number])[]; readonly status: SpoolStatus }
  | { readonly id: number; readonly result: unknown; readonly status: SpoolStatus | null }
  | { readonly id: number; readonly error: string; readonly status: SpoolStatus }
  | { readonly warning: string };

const answer = ({ id, name, input }: SpoolRequest): SpoolMessage => {
  try {
    const run = tasks[name] as (input: unknown) => unknown;
    const result = run(input);
    return { id, result, status: name === 'close' ? null : storage.status() };
  } catch (error) {
    return { id, error: (error as Error).message, status: storage.status() };
  }
};

parentPort!.on('message', (request: SpoolRequest) => {
  parentPort!.postMessage(answer(request));
  if (request.name === 'close') parentPort!.close();
});
parentPort!.postMessage({ waiting: storage.rowsByIntegration(), status: storage.status() } satisfies SpoolMessage);
