/**
 * Returns a function that opens something at its first call, and returns the same result at later calls. After a
 * failure, the next call tries again.
 */
export const openOnce = <T>(open: () => Promise<T>): (() => Promise<T>) => {
  let opened: Promise<T> | undefined;
  return () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
};
