export const DEFAULT_CONCURRENCY = 64;

/** Calls `work` for all items, at most `concurrency` at a time. */
export const forEachConcurrently = async <T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
  concurrency = DEFAULT_CONCURRENCY,
): Promise<void> => {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, run));
};
