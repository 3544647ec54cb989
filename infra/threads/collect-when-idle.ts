import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const INTERVAL_MS = 10_000;
/** The process is idle if it has used less than this share of a processor since the last check. */
const IDLE_SHARE = 0.02;
const MAX_NEW_SPACE_BYTES = 4 * 1024 * 1024;
const MIN_GROWTH = 1.25;
/** V8 shrinks the space for new objects only if few were created since the collection before. */
const MAX_COLLECTIONS_IN_A_ROW = 3;
const MICROSECONDS = 1_000;

const newSpaceBytes = (): number => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.physical_space_size;

const collector = (): (() => void) => {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
};

/**
 * Gives memory back after the start and after each peak: V8 itself keeps up to 48 MiB for new objects, and collects only when there are
 * some. A collection stops this thread for 50 to 100 ms, so it waits until the process has almost nothing to do.
 */
export const collectWhenIdle = (intervalMs = INTERVAL_MS): void => {
  let usage = process.cpuUsage();
  let heapBytes = 0;
  let collections = 0;
  let collect: (() => void) | undefined;

  const isIdle = (): boolean => {
    const { user, system } = process.cpuUsage(usage);
    usage = process.cpuUsage();
    return user + system < IDLE_SHARE * intervalMs * MICROSECONDS;
  };

  const check = (): void => {
    if (!isIdle()) {
      collections = 0;
      return;
    }
    const hasGrown = process.memoryUsage().heapTotal > heapBytes * MIN_GROWTH;
    if (!hasGrown && newSpaceBytes() <= MAX_NEW_SPACE_BYTES) return;
    if (collections >= MAX_COLLECTIONS_IN_A_ROW) return;
    collections++;
    collect ??= collector();
    collect();
    heapBytes = process.memoryUsage().heapTotal;
    usage = process.cpuUsage();
  };

  setInterval(check, intervalMs).unref();
};
