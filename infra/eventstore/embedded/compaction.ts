import { ENTRY_FIELDS, type Table } from './sstable.ts';
import { createTableWriter } from './sstable-writer.ts';

const SLICE = 8192;

type Source = { table: Table; next: number; entries: Float64Array; at: number };

const refill = (source: Source): boolean => {
  if (source.at < source.entries.length) return true;
  if (source.next >= source.table.count) return false;
  source.entries = source.table.read(source.next, source.next + SLICE);
  source.next += source.entries.length / ENTRY_FIELDS;
  source.at = 0;
  return source.entries.length > 0;
};

const isBefore = (a: Source, b: Source): boolean => {
  const one = a.entries[a.at]!;
  const other = b.entries[b.at]!;
  return one < other || (one === other && a.entries[a.at + 1]! < b.entries[b.at + 1]!);
};

/** Fills a slice with the next entries of all sources in order. @returns how many numbers it has */
const take = (sources: Source[], slice: Float64Array): number => {
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

const aside = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

/** Merges tables into one, in slices of a millisecond or two so that appends and reads go on in between. @returns false where it was given up */
export const mergeTables = async (tables: Table[], path: string, givenUp: () => boolean): Promise<boolean> => {
  const writer = createTableWriter(
    path,
    tables.reduce((sum, { maxStreams }) => sum + maxStreams, 0),
  );
  try {
    const sources = tables.map((table) => ({ table, next: 0, entries: new Float64Array(0), at: 0 }));
    for (;;) {
      const slice = new Float64Array(SLICE * ENTRY_FIELDS);
      const filled = take(sources, slice);
      if (filled === 0) break;
      writer.add(slice.subarray(0, filled));
      await aside();
      if (!givenUp()) continue;
      writer.abandon();
      return false;
    }
    await writer.finish();
    return true;
  } catch (error) {
    writer.abandon();
    throw error;
  }
};
