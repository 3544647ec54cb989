/** Maps items with an asynchronous function, at most `size` of them at the same time. The results are in the order of the items. */
export const inBatches = async <T, R>(items: readonly T[], size: number, of: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += size) results.push(...(await Promise.all(items.slice(start, start + size).map(of))));
  return results;
};
