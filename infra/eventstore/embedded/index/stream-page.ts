import type { Log } from '../log/log.ts';
import { isIntactAt, revisionAt, sizeAt } from '../log/record.ts';
import type { Stream } from './stream-cache.ts';
import type { Index } from './stream-index.ts';

export const PAGE_EVENTS = 256;
/** A page ends at this size, so a slow reader of large events uses no more memory than one of small events. */
const PAGE_BYTES = 128 << 10;
/** Records whose distance in the log is less than this many bytes are read together. */
const MAX_GAP_BYTES = 64 << 10;

type Parts = { log: Log; index: Index };
type Found = { bytes: Buffer; at: number };

/** Stops when `handle` returns false. Skips records that scavenging has removed. */
const eachRecord = (log: Log, positions: number[], handle: (found: Found) => boolean): void => {
  let page: { bytes: Buffer; start: number } = { bytes: Buffer.alloc(0), start: 0 };
  const inside = (position: number): boolean => {
    const at = position - page.start;
    return at >= 0 && at + 4 <= page.bytes.length && isIntactAt(page.bytes, at, position);
  };
  const foundAt = (position: number): Found | undefined => {
    if (inside(position)) return { bytes: page.bytes, at: position - page.start };
    const bytes = log.recordOrFreed(position);
    return bytes && { bytes, at: 0 };
  };
  for (const [i, position] of positions.entries()) {
    const next = positions[i + 1] ?? Number.POSITIVE_INFINITY;
    if (!inside(position) && next - position < MAX_GAP_BYTES) page = { bytes: log.page(position).bytes, start: position };
    const found = foundAt(position);
    if (found && !handle(found)) return;
  }
};

/** Yields the last group first. The log range of a group is limited, so that it fits into memory. */
const groupsBackwards = function* (positions: number[]): Generator<number[]> {
  for (let end = positions.length; end > 0; ) {
    let start = end - 1;
    while (start > 0 && positions[end - 1]! - positions[start - 1]! < PAGE_BYTES) start--;
    yield positions.slice(start, end);
    end = start;
  }
};

/** With `backwards`, the order is descending. Stops when the page is full, and returns the revision at which to continue. */
export const streamPage = (
  { log, index }: Parts,
  stream: Stream,
  { from, to, backwards }: { from: number; to: number; backwards: boolean },
  handle: (bytes: Buffer, at: number) => void,
): number => {
  const low = backwards ? Math.max(from, to - PAGE_EVENTS + 1) : from;
  const high = backwards ? to : Math.min(to, from + PAGE_EVENTS - 1);
  const positions = index.range(stream.key, low, high);
  let left = PAGE_BYTES;
  let last = backwards ? low : high;
  const handleUntilFull = ({ bytes, at }: Found): boolean => {
    handle(bytes, at);
    left -= sizeAt(bytes, at);
    if (left <= 0) last = revisionAt(bytes, at);
    return left > 0;
  };
  if (!backwards) {
    eachRecord(log, positions, handleUntilFull);
    return last + 1;
  }
  for (const group of groupsBackwards(positions)) {
    const records: Found[] = [];
    eachRecord(log, group, (found) => records.push(found) > 0);
    if (!records.reverse().every(handleUntilFull)) break;
  }
  return last - 1;
};
