import type { ProposedEvent } from '../log/record.ts';

/** The maximum size of the event data in one append, in bytes. Event types and metadata do not count. */
const MAX_DATA_BYTES = 1024 * 1024;
/** Includes event types and metadata. It is limited because an append is held in memory and written at once. */
const MAX_APPEND_BYTES = 16 * 1024 * 1024;
/** The maximum total size, in bytes, of all unfinished appends in one BatchAppend call. */
const MAX_UNFINISHED_BYTES = 4 * MAX_APPEND_BYTES;
const EVENT_OVERHEAD_BYTES = 100;

/** `data`: bytes of event data. `total`: the same plus event types, metadata and an overhead per event. */
export type Size = { data: number; total: number };

/** Returns the total size of the events, added to the size `from`. */
export const sizeOf = (events: ProposedEvent[], from: Size = { data: 0, total: 0 }): Size => {
  let { data, total } = from;
  for (const event of events) {
    data += event.data.length;
    total += event.data.length + event.custom.length + event.type.length + EVENT_OVERHEAD_BYTES;
  }
  return { data, total };
};

export const exceededLimit = ({ data, total }: Size): number | undefined => {
  if (data > MAX_DATA_BYTES) return MAX_DATA_BYTES;
  return total > MAX_APPEND_BYTES ? MAX_APPEND_BYTES : undefined;
};

/** Returns bytes; undefined if the unfinished appends of the call exceed no limit. */
export const exceededUnfinishedLimit = (total: number): number | undefined =>
  total > MAX_UNFINISHED_BYTES ? MAX_UNFINISHED_BYTES : undefined;
