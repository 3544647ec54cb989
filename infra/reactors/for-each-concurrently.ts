/** The maximum number of items that are handled at the same time. */
const CONCURRENCY = 64;

/** Calls `work` for all items, at most CONCURRENCY at a time. */
export const forEachConcurrently = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> => {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, run));
};
