import type { Call } from './grpc.ts';

const ALL = '';

export type AppendSignals = ReturnType<typeof createAppendSignals>;

/** Who waits for what: a subscription sleeps until the log, or its own stream, has grown. */
export const createAppendSignals = () => {
  const waiting = new Map<string, Set<() => void>>();
  let touched = new Set<string>();

  const wake = (key: string): void => {
    const sleepers = waiting.get(key);
    waiting.delete(key);
    for (const resume of sleepers ?? []) resume();
  };

  /** An event of this stream is in the batch under way. */
  const touch = (stream: string): void => {
    if (waiting.has(stream)) touched.add(stream);
  };

  /** The batch is in the log. */
  const grown = (): void => {
    const streams = touched;
    touched = new Set();
    for (const stream of streams) wake(stream);
    wake(ALL);
  };

  /** Until the stream grows (no stream: the log), or the call is over. */
  const waitForAppend = (call: Call, stream = ALL): Promise<void> =>
    new Promise((resolve) => {
      if (call.isClosed()) return resolve();
      const sleepers = waiting.get(stream) ?? new Set();
      waiting.set(stream, sleepers.add(resolve));
      call.onClose(() => {
        sleepers.delete(resolve);
        if (sleepers.size === 0 && waiting.get(stream) === sleepers) waiting.delete(stream);
        resolve();
      });
    });

  return { touch, grown, waitForAppend };
};
