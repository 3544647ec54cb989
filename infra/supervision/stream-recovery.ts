import { statfsSync } from 'node:fs';
import { createBackoff } from '../backoff.ts';

/** A message from the process `work` to its supervisor: whether JetStream has stopped a stream. */
export type StreamReport = { readonly kind: 'stream'; readonly isStopped: boolean };

/**
 * The number of free bytes on the disk that a restart needs. With fewer, a restarted server would stop the stream again
 * at once.
 */
const MIN_FREE_BYTES = 32 * 1024 ** 2;
/**
 * After the disk has free space again, a stream gets this many milliseconds to continue without a restart. This is
 * longer than the relay's delay between attempts.
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
 * Creates the function that gets every StreamReport. If a JetStream stream stays stopped although the disk has free
 * space, it restarts nats-server, which may keep a stream stopped after a write error. If restarts do not help, the
 * delays between them increase.
 */
export const createStreamRecovery = ({ dir, restart, now = Date.now, free = freeBytes }: StreamRecoveryOptions) => {
  const backoff = createBackoff(RESTART_DELAY);
  let hasSpaceSince: number | null = null;
  let nextRestartAt = 0;
  return ({ isStopped }: StreamReport): void => {
    // While a restart interrupts the connection, the stream is also reported as not stopped. So only a report after the
    // restart delay proves that the stream works again.
    if (!isStopped && now() >= nextRestartAt) backoff.reset();
    hasSpaceSince = isStopped && free(dir) >= MIN_FREE_BYTES ? (hasSpaceSince ?? now()) : null;
    if (hasSpaceSince === null || now() - hasSpaceSince < SELF_RECOVERY_MS || now() < nextRestartAt) return;
    nextRestartAt = now() + backoff.next();
    hasSpaceSince = null;
    restart();
  };
};
