import type { Call } from './grpc.ts';

const WHOLE_LOG = '';

export type AppendSignals = ReturnType<typeof createAppendSignals>;

/** Wakes subscriptions: each sleeps until the log, or its own stream, has grown. */
export const createAppendSignals = () => {
  const waiting = new Map<string, Set<() => void>>();
  let marked = new Set<string>();

  const wake = (key: string): void => {
    const sleepers = waiting.get(key);
    waiting.delete(key);
    for (const resume of sleepers ?? []) resume();
  };

  return {
    /** Called when an event of this stream is added to the current batch. */
    mark: (stream: string): void => {
      if (waiting.has(stream)) marked.add(stream);
    },

    /** Called when the batch is written: wakes those who wait for a marked stream or for the log. */
    wakeMarked: (): void => {
      const streams = marked;
      marked = new Set();
      for (const stream of streams) wake(stream);
      wake(WHOLE_LOG);
    },

    /** Resolves when the stream (by default the log) has grown, or the call is over. */
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
