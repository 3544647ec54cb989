import type { Call } from './grpc.ts';

const WHOLE_LOG = '';

export type AppendSignals = ReturnType<typeof createAppendSignals>;

/** Wakes subscriptions that wait until the log, or the one stream that they read, has new events. */
export const createAppendSignals = () => {
  const waiting = new Map<string, Set<() => void>>();
  let marked = new Set<string>();

  const wake = (key: string): void => {
    const sleepers = waiting.get(key);
    waiting.delete(key);
    for (const resume of sleepers ?? []) resume();
  };

  return {
    /** Marks a stream that gets an event in the current batch, if a subscription waits for this stream. */
    mark: (stream: string): void => {
      if (waiting.has(stream)) marked.add(stream);
    },

    /** Also wakes the subscriptions to the whole log. Call it after the batch is written. */
    wakeMarked: (): void => {
      const streams = marked;
      marked = new Set();
      for (const stream of streams) wake(stream);
      wake(WHOLE_LOG);
    },

    /** Resolves when the stream (the whole log, if absent) has new events, or when the call has ended. */
    waitForAppend: (call: Call, stream = WHOLE_LOG): Promise<void> =>
      new Promise((resolve) => {
        if (call.isClosed()) return resolve();
        const sleepers = waiting.get(stream) ?? new Set();
        waiting.set(stream, sleepers.add(resolve));
        call.onClose(() => {
          sleepers.delete(resolve);
          if (sleepers.size === 0 && waiting.get(stream) === sleepers) waiting.delete(stream);
          resolve();
        });
      }),
  };
};
