import { statfsSync } from 'node:fs';
import { createBackoff } from '../backoff.ts';

/** A message from the process `work` to its supervisor: whether JetStream has stopped a stream. */
export type StreamReport = { readonly kind: 'stream'; readonly isStopped: boolean };

/** With fewer free bytes than this, a restarted server would stop again at once. */
const MIN_FREE_BYTES = 32 * 1024 ** 2;
/**
 * When there is free space, the stream gets this many milliseconds to continue by itself. This is longer than the
 * relay's delay between attempts.
 */
const SELF_RECOVERY_MS = 8_000;
const RESTART_DELAY = { minMs: 30_000, maxMs: 600_000 };

const freeBytes = (dir: string): number => {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
};

export type StreamRecoveryOptions = {
  /** The directory in which nats-server stores its streams. */
  readonly dir: string;
  readonly restart: () => void;
  readonly now?: () => number;
  readonly free?: (dir: string) => number;
};

/**
 * Creates the function that receives every StreamReport. It restarts nats-server if the stream stays stopped although
 * the disk has free space: after a write error, nats-server may keep a stream stopped until it is restarted. If
 * restarts do not help, the delays between them grow.
 */
export const createStreamRecovery = ({ dir, restart, now = Date.now, free = freeBytes }: StreamRecoveryOptions) => {
  const backoff = createBackoff(RESTART_DELAY);
  let hasSpaceSince: number | null = null;
  let nextRestartAt = 0;
  return ({ isStopped }: StreamReport): void => {
    // During a restart, the connection fails, which does not prove that the stream works again.
    if (!isStopped && now() >= nextRestartAt) backoff.reset();
    hasSpaceSince = isStopped && free(dir) >= MIN_FREE_BYTES ? (hasSpaceSince ?? now()) : null;
    if (hasSpaceSince === null || now() - hasSpaceSince < SELF_RECOVERY_MS || now() < nextRestartAt) return;
    nextRestartAt = now() + backoff.next();
    hasSpaceSince = null;
    restart();
  };
};
