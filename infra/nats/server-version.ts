const MIN_VERSION = [2, 10, 23] as const;

/** Of nats-server: earlier ones may lose a stream when they are killed, and before 2.10 they can't be told to sync. */
export const MIN_SAFE_VERSION = MIN_VERSION.join('.');

/** Whether a server's version (in `2.10.27` or in `nats-server: v2.10.27`) is older than that; so is what names none. */
export const isOld = (says: string): boolean => {
  const parts = /(\d+)\.(\d+)\.(\d+)/.exec(says)?.slice(1).map(Number);
  if (!parts) return true;
  const at = parts.findIndex((part, index) => part !== MIN_VERSION[index]);
  return at >= 0 && parts[at]! < MIN_VERSION[at]!;
};
