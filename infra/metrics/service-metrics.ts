import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { readText } from '../durable-files.ts';
import type { AppendOutcome } from '../eventstore/client.ts';
import { withDeadline } from '../eventstore/deadline.ts';
import type { ProcessMetrics, Reading } from './process-metrics.ts';
import { createHistogram } from './series.ts';

const APPEND_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const CHECK_TIMEOUT_MS = 1_500;
const BLOCK_BYTES = 512;

type Check = () => boolean | Promise<boolean>;

/**
 * For each service, a function that checks whether the service answers this process. If it does not, the promise of the
 * function rejects.
 */
export type DependencyChecks = Readonly<Record<'event_store' | 'postgres' | 'nats', Check> & { file_store?: Check }>;

export const measureAppends = ({ registry }: Pick<ProcessMetrics, 'registry'>) => {
  const durations = createHistogram<'outcome'>(
    registry,
    { name: 'annals_store_append_seconds', help: 'Time that an append to the event store took, with its retries, in seconds' },
    APPEND_BUCKETS,
  );
  const series = {
    ok: durations({ outcome: 'ok' }),
    conflict: durations({ outcome: 'conflict' }),
    failed: durations({ outcome: 'failed' }),
  };
  return (outcome: AppendOutcome, milliseconds: number): void => series[outcome].observe(milliseconds / 1_000);
};

export const addDependencyMetrics = (metrics: ProcessMetrics, checks: DependencyChecks): void =>
  metrics.addGroup({
    help: { annals_dependency_up: 'Whether the service answers this process (1) or not (0)' },
    read: () =>
      Promise.all(
        Object.entries(checks).map(async ([name, check]): Promise<Reading<'annals_dependency_up'>> => {
          const isUp = await withDeadline(CHECK_TIMEOUT_MS, Promise.resolve().then(check)).catch(() => false);
          return { labels: { name }, values: { annals_dependency_up: isUp ? 1 : 0 } };
        }),
      ),
  });

/** The URL of the embedded store contains the secret in its directory. */
export const isStoreOf = (dir: string, eventstoreUrl: string): boolean => {
  const secret = readText(join(dir, 'secret'));
  return secret !== undefined && eventstoreUrl.includes(`connectionName=${encodeURIComponent(secret)}`);
};

/** Returns the number of bytes that the files of a directory occupy on the disk. */
export const occupiedBytes = async (dir: string): Promise<number> => {
  let bytes = 0;
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const { blocks } = await stat(join(entry.parentPath, entry.name)).catch(() => ({ blocks: 0 }));
    bytes += blocks * BLOCK_BYTES;
  }
  return bytes;
};

/** Null if the directory does not exist. */
const freeBytes = (dir: string): Promise<number | null> =>
  statfs(dir).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => null,
  );

/** The size of the store is null if it is not on this machine. */
export const readStorage = async ({ annalsData, eventstoreUrl = '' }: Pick<Config, 'annalsData' | 'eventstoreUrl'>) => {
  const dir = join(annalsData, 'store');
  return {
    annals_store_size_bytes: isStoreOf(dir, eventstoreUrl) ? await occupiedBytes(dir) : null,
    annals_disk_free_bytes: await freeBytes(annalsData),
  };
};
