import { ENTRY_FIELDS, type Table } from './sstable.ts';
import { createTableWriter } from './sstable-writer.ts';

const SLICE_ENTRIES = 8192;
const PAUSE_MS = 2;

type Source = { table: Table; next: number; entries: Float64Array; at: number };

const refill = (source: Source): boolean => {
  if (source.at < source.entries.length) return true;
  if (source.next >= source.table.count) return false;
  source.entries = source.table.read(source.next, source.next + SLICE_ENTRIES);
  source.next += source.entries.length / ENTRY_FIELDS;
  source.at = 0;
  return source.entries.length > 0;
};

const isBefore = (a: Source, b: Source): boolean => {
  const keyA = a.entries[a.at]!;
  const keyB = b.entries[b.at]!;
  return keyA < keyB || (keyA === keyB && a.entries[a.at + 1]! < b.entries[b.at + 1]!);
};

/** Merges in sorted order. Returns how many values of the slice are filled. */
const fillSlice = (sources: Source[], slice: Float64Array): number => {
  let filled = 0;
  while (filled < slice.length) {
    let first: Source | undefined;
    for (const source of sources) if (refill(source) && (!first || isBefore(source, first))) first = source;
    if (!first) break;
    slice.set(first.entries.subarray(first.at, first.at + ENTRY_FIELDS), filled);
    first.at += ENTRY_FIELDS;
    filled += ENTRY_FIELDS;
  }
  return filled;
};

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** Pauses after every one or two milliseconds of work, so that the process can answer. Returns false if it was cancelled. */
export const mergeTables = async (tables: Table[], path: string, isCancelled: () => boolean): Promise<boolean> => {
  const writer = createTableWriter(
    path,
    tables.reduce((sum, { maxStreams }) => sum + maxStreams, 0),
  );
  try {
    const sources = tables.map((table) => ({ table, next: 0, entries: new Float64Array(0), at: 0 }));
    for (;;) {
      const slice = new Float64Array(SLICE_ENTRIES * ENTRY_FIELDS);
      const filled = fillSlice(sources, slice);
      if (filled === 0) break;
      writer.add(slice.subarray(0, filled));
      await pause();
      if (!isCancelled()) continue;
      writer.discard();
      return false;
    }
    await writer.finish();
    return true;
  } catch (error) {
    writer.discard();
    throw error;
  }
};
