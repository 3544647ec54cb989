const MIN_VERSION = [2, 10, 23] as const;

/**
 * The oldest version of nats-server that is safe to use. Earlier versions may lose a stream when they are killed.
 * Versions before 2.10 cannot be configured to sync every write.
 */
export const MIN_SAFE_VERSION = MIN_VERSION.join('.');

/**
 * Returns whether a version is below MIN_SAFE_VERSION. The text may be `2.10.27` or `nats-server: v2.10.27`. True if
 * the text contains no version.
 */
export const isUnsafeVersion = (text: string): boolean => {
  const parts = /(\d+)\.(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number);
  if (!parts) return true;
  const at = parts.findIndex((part, index) => part !== MIN_VERSION[index]);
  return at >= 0 && parts[at]! < MIN_VERSION[at]!;
};
