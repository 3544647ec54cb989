import type { ProposedEvent } from './record.ts';

/** Bytes of data in one append; types and metadata do not count. */
const MAX_DATA_BYTES = 1024 * 1024;
/** Everything in one append: it is held in memory and written at once. */
const MAX_APPEND_BYTES = 16 * 1024 * 1024;
/** All unfinished appends of one call. */
const MAX_UNFINISHED_BYTES = 4 * MAX_APPEND_BYTES;
const EVENT_OVERHEAD_BYTES = 100;

/** Bytes of data, and of everything. */
export type Size = { data: number; total: number };

/** The size of events, added to `from`. */
export const sizeOf = (events: ProposedEvent[], from: Size = { data: 0, total: 0 }): Size => {
  let { data, total } = from;
  for (const event of events) {
    data += event.data.length;
    total += event.data.length + event.custom.length + event.type.length + EVENT_OVERHEAD_BYTES;
  }
  return { data, total };
};

/** @returns the limit in bytes that one append exceeds, or undefined */
export const exceededLimit = ({ data, total }: Size): number | undefined => {
  if (data > MAX_DATA_BYTES) return MAX_DATA_BYTES;
  return total > MAX_APPEND_BYTES ? MAX_APPEND_BYTES : undefined;
};

/** The same for all unfinished appends of one call. */
export const exceededUnfinishedLimit = (total: number): number | undefined =>
  total > MAX_UNFINISHED_BYTES ? MAX_UNFINISHED_BYTES : undefined;
