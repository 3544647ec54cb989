import { parentPort } from 'node:worker_threads';

export type Task<Input> = { readonly id: number; readonly input: Input };
export type TaskReply<Output> = { readonly id: number } & ({ readonly output: Output } | { readonly failed: string });

/** `buffers` are moved to the main thread instead of being copied. */
export type Moved<Output> = { readonly output: Output; readonly buffers?: readonly ArrayBuffer[] };

const replyTo = async <Input, Output>(run: (input: Input) => Promise<Moved<Output>>, { id, input }: Task<Input>): Promise<void> => {
  try {
    const { output, buffers = [] } = await run(input);
    parentPort!.postMessage({ id, output } satisfies TaskReply<Output>, [...new Set(buffers)]);
  } catch (error) {
    parentPort!.postMessage({ id, failed: (error as Error).message } satisfies TaskReply<Output>);
  }
};

/** Runs the tasks that a `TaskThread` sends to this thread. Must be called in the thread, once. */
export const serveTasks = <Input, Output>(run: (input: Input) => Promise<Moved<Output>>): void => {
  parentPort!.on('message', (task: Task<Input>) => void replyTo(run, task));
  parentPort!.postMessage('ready');
};
