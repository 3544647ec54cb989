import type { Log } from './log.ts';
import { soundAt } from './record.ts';
import type { Index } from './stream-index.ts';
import type { Stream } from './streams.ts';

export const PAGE_EVENTS = 256;
const NEAR = 64 << 10;

type Parts = { log: Log; index: Index };

/** Gives each of these positions' records, in the order given; records that lie near each other are read together. */
const eachRecord = (log: Log, positions: number[], take: (bytes: Buffer, at: number) => void): void => {
  let page: { bytes: Buffer; start: number } = { bytes: Buffer.alloc(0), start: 0 };
  const inside = (position: number): boolean => {
    const at = position - page.start;
    return at >= 0 && at + 4 <= page.bytes.length && soundAt(page.bytes, at, position);
  };
  for (const [i, position] of positions.entries()) {
    const next = positions[i + 1] ?? Number.POSITIVE_INFINITY;
    if (!inside(position) && next - position < NEAR) page = { bytes: log.page(position).bytes, start: position };
    if (inside(position)) take(page.bytes, position - page.start);
    else {
      const record = log.recordOrFreed(position);
      if (record) take(record, 0);
    }
  }
};

/**
 * The stream's events with revisions `from` to `to`, at most a page of them, ascending or (backwards) descending.
 * @returns the revision to go on from
 */
export const streamPage = (
  { log, index }: Parts,
  stream: Stream,
  { from, to, backwards }: { from: number; to: number; backwards: boolean },
  take: (bytes: Buffer, at: number) => void,
): number => {
  const low = backwards ? Math.max(from, to - PAGE_EVENTS + 1) : from;
  const high = backwards ? to : Math.min(to, from + PAGE_EVENTS - 1);
  const positions = index.range(stream.key, low, high);
  if (backwards) {
    const records: { bytes: Buffer; at: number }[] = [];
    eachRecord(log, positions, (bytes, at) => records.push({ bytes, at }));
    for (const { bytes, at } of records.reverse()) take(bytes, at);
    return low - 1;
  }
  eachRecord(log, positions, take);
  return high + 1;
};
