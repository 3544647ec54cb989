const MIN_VERSION = [2, 10, 23] as const;

/** Earlier versions may lose a stream when they are killed. Before 2.10, not every write can be synced. */
export const MIN_SAFE_VERSION = MIN_VERSION.join('.');

/** `2.10.27` or `nats-server: v2.10.27`. True if the text contains no version. */
export const isUnsafeVersion = (text: string): boolean => {
  const parts = /(\d+)\.(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number);
  if (!parts) return true;
  const at = parts.findIndex((part, index) => part !== MIN_VERSION[index]);
  return at >= 0 && parts[at]! < MIN_VERSION[at]!;
};
