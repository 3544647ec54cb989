import * as fs from 'node:fs';
import { crc32 } from 'node:zlib';
import { readInto, readUpTo } from '../../../durable-files.ts';
import { type Bloom, bloomOf } from './bloom.ts';
import type { Entry } from './memtable.ts';

export const TABLE_MAGIC = 'annals index 1';
export const FOOTER_BYTES = 64;
/** An entry is three doubles: key, revision, position. */
export const ENTRY_FIELDS = 3;
export const PAGE_ENTRIES = 128;
const ENTRY_BYTES = ENTRY_FIELDS * 8;
const CHECKSUM_STEP_BYTES = 1 << 20;

/** The page that was read last, of any table: successive look-ups of one stream mostly need the same one. */
const pageBuffer = new Float64Array(PAGE_ENTRIES * ENTRY_FIELDS);
const pageBufferBytes = Buffer.from(pageBuffer.buffer);
const bufferedPage: { table: symbol | undefined; page: number } = { table: undefined, page: -1 };

const doublesOf = (bytes: Buffer): Float64Array => new Float64Array(new Uint8Array(bytes).buffer);

const isBefore = (key: number, revision: number, otherKey: number, otherRevision: number): boolean =>
  key < otherKey || (key === otherKey && revision < otherRevision);

/** `pageStarts` holds the key and revision of each page's first entry. */
type OpenTable = {
  readonly path: string;
  readonly file: number;
  readonly identity: symbol;
  readonly count: number;
  readonly pageStarts: Float64Array;
  readonly bloom: Bloom;
  readonly bloomBytes: number;
  readonly checksum: number;
};

const readFooter = (path: string, file: number): OpenTable | undefined => {
  const { size } = fs.fstatSync(file);
  const footer = readUpTo(file, Math.max(0, size - FOOTER_BYTES), FOOTER_BYTES);
  if (footer.length < FOOTER_BYTES || footer.toString('latin1', 0, TABLE_MAGIC.length) !== TABLE_MAGIC) return undefined;
  const count = footer.readDoubleLE(16);
  const filters = readUpTo(file, count * ENTRY_BYTES, size - FOOTER_BYTES - count * ENTRY_BYTES);
  if (crc32(filters) !== footer.readUInt32LE(36)) return undefined;
  const bloomBytes = footer.readDoubleLE(24);
  const pageStarts = doublesOf(filters.subarray(0, filters.length - bloomBytes));
  const bloom = bloomOf(new Uint8Array(filters.subarray(filters.length - bloomBytes)));
  return { path, file, identity: Symbol(path), count, pageStarts, bloom, bloomBytes, checksum: footer.readUInt32LE(32) };
};

/** Reads the entries of a page. The result is a view of the shared buffer. */
const readPage = ({ file, identity, count }: OpenTable, page: number): Float64Array => {
  const from = page * PAGE_ENTRIES;
  const entries = Math.min(PAGE_ENTRIES, count - from);
  if (bufferedPage.table !== identity || bufferedPage.page !== page) {
    bufferedPage.table = undefined;
    readInto(pageBufferBytes.subarray(0, entries * ENTRY_BYTES), file, from * ENTRY_BYTES);
    bufferedPage.table = identity;
    bufferedPage.page = page;
  }
  return pageBuffer.subarray(0, entries * ENTRY_FIELDS);
};

/** Returns the number of the last page that begins at or before an entry; -1 if every page begins after it. */
const pageOf = ({ pageStarts }: OpenTable, key: number, revision: number): number => {
  let low = 0;
  let high = pageStarts.length / 2;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(key, revision, pageStarts[middle * 2]!, pageStarts[middle * 2 + 1]!)) high = middle;
    else low = middle + 1;
  }
  return low - 1;
};

/** Returns the index of the page's first entry that is not before this key and revision. */
const seek = (page: Float64Array, key: number, revision: number): number => {
  let low = 0;
  let high = page.length / ENTRY_FIELDS;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(page[middle * ENTRY_FIELDS]!, page[middle * ENTRY_FIELDS + 1]!, key, revision)) low = middle + 1;
    else high = middle;
  }
  return low;
};

const lastOf = (table: OpenTable, key: number): Entry | undefined => {
  if (!table.bloom.mayHave(key)) return undefined;
  const page = pageOf(table, key, Number.POSITIVE_INFINITY);
  if (page < 0) return undefined;
  const entries = readPage(table, page);
  const at = (seek(entries, key, Number.POSITIVE_INFINITY) - 1) * ENTRY_FIELDS;
  return entries[at] === key ? { revision: entries[at + 1]!, position: entries[at + 2]! } : undefined;
};

const hasValidChecksum = ({ file, count, checksum }: OpenTable): boolean => {
  const size = count * ENTRY_BYTES;
  let computed = 0;
  for (let at = 0; at < size; at += CHECKSUM_STEP_BYTES)
    computed = crc32(readUpTo(file, at, Math.min(CHECKSUM_STEP_BYTES, size - at)), computed);
  return computed === checksum;
};

export type Table = ReturnType<typeof openTable>;

/** Keeps the first entry of each page and the Bloom filter in memory. @throws Error if the file is damaged */
export const openTable = (path: string) => {
  const file = fs.openSync(path, 'r');
  const table = readFooter(path, file);
  if (!table) {
    fs.closeSync(file);
    throw new Error(`${path} is damaged: it is not a table of the index`);
  }
  const { count, bloomBytes } = table;

  /** Adds the positions to `into`, in ascending order. Leaves out revisions that this table does not contain. */
  const range = (key: number, from: number, to: number, into: number[]): void => {
    if (!table.bloom.mayHave(key)) return;
    for (let page = Math.max(0, pageOf(table, key, from)); page * PAGE_ENTRIES < count; page++) {
      const entries = readPage(table, page);
      for (let at = seek(entries, key, from) * ENTRY_FIELDS; at < entries.length; at += ENTRY_FIELDS) {
        if (entries[at] !== key || entries[at + 1]! > to) return;
        into.push(entries[at + 2]!);
      }
    }
  };

  return {
    path,
    count,
    /** Computed from the size of the Bloom filter. */
    maxStreams: Math.ceil((bloomBytes * 8) / 12),
    /** Returns the entries from index `from` up to, but not including, index `to`. */
    read: (from: number, to: number): Float64Array =>
      doublesOf(readUpTo(file, from * ENTRY_BYTES, (Math.min(to, count) - from) * ENTRY_BYTES)),
    last: (key: number): Entry | undefined => lastOf(table, key),
    range,
    isIntact: (): boolean => hasValidChecksum(table),
    close: (): void => fs.closeSync(file),
  };
};
