import * as fs from 'node:fs';
import { crc32 } from 'node:zlib';
import { readInto, readUpTo } from '../../durable-files.ts';
import { bloomOf } from './bloom.ts';
import type { Entry } from './memtable.ts';

export const TABLE_MAGIC = 'annals index 1';
export const FOOTER_BYTES = 64;
/** An entry is three doubles: key, revision, position. */
export const ENTRY_FIELDS = 3;
export const PAGE_ENTRIES = 128;
const ENTRY = ENTRY_FIELDS * 8;

/** A look-up reads one page, here; the next one of the same stream mostly wants the same. */
const desk = new Float64Array(PAGE_ENTRIES * ENTRY_FIELDS);
const deskBytes = Buffer.from(desk.buffer);
const onDesk: { file: symbol | undefined; page: number } = { file: undefined, page: -1 };

const doublesOf = (bytes: Buffer): Float64Array => new Float64Array(new Uint8Array(bytes).buffer);

const before = (key: number, revision: number, otherKey: number, otherRevision: number): boolean =>
  key < otherKey || (key === otherKey && revision < otherRevision);

export type Table = ReturnType<typeof openTable>;

/** A sorted file of index entries. In memory: the first entry of each page, and a filter of its stream keys. @throws where it is harmed */
export const openTable = (path: string) => {
  const file = fs.openSync(path, 'r');
  const { size } = fs.fstatSync(file);
  const footer = readUpTo(file, Math.max(0, size - FOOTER_BYTES), FOOTER_BYTES);
  const fail = (): never => {
    fs.closeSync(file);
    throw new Error(`${path} is no sound table of the index`);
  };
  if (footer.length < FOOTER_BYTES || footer.toString('latin1', 0, TABLE_MAGIC.length) !== TABLE_MAGIC) fail();
  const count = footer.readDoubleLE(16);
  const filters = readUpTo(file, count * ENTRY, size - FOOTER_BYTES - count * ENTRY);
  if (crc32(filters) !== footer.readUInt32LE(36)) fail();
  const bloomBytes = footer.readDoubleLE(24);
  const marks = doublesOf(filters.subarray(0, filters.length - bloomBytes));
  const bloom = bloomOf(new Uint8Array(filters.subarray(filters.length - bloomBytes)));

  /** Entries `from` to `to` (exclusive) of the file. */
  const read = (from: number, to: number): Float64Array => doublesOf(readUpTo(file, from * ENTRY, (Math.min(to, count) - from) * ENTRY));

  const identity = Symbol(path);

  const readPage = (page: number): Float64Array => {
    const from = page * PAGE_ENTRIES;
    const entries = Math.min(PAGE_ENTRIES, count - from);
    if (onDesk.file !== identity || onDesk.page !== page) {
      onDesk.file = undefined;
      readInto(deskBytes.subarray(0, entries * ENTRY), file, from * ENTRY);
      Object.assign(onDesk, { file: identity, page });
    }
    return desk.subarray(0, entries * ENTRY_FIELDS);
  };

  /** The last page that begins at or before an entry; -1 where all are behind it. */
  const pageOf = (key: number, revision: number): number => {
    let low = 0;
    let high = marks.length / 2;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (before(key, revision, marks[middle * 2]!, marks[middle * 2 + 1]!)) high = middle;
      else low = middle + 1;
    }
    return low - 1;
  };

  /** The first entry in a page that is not before this one. */
  const seek = (page: Float64Array, key: number, revision: number): number => {
    let low = 0;
    let high = page.length / ENTRY_FIELDS;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (before(page[middle * ENTRY_FIELDS]!, page[middle * ENTRY_FIELDS + 1]!, key, revision)) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const last = (key: number): Entry | undefined => {
    if (!bloom.mayHave(key)) return undefined;
    const page = pageOf(key, Number.POSITIVE_INFINITY);
    if (page < 0) return undefined;
    const entries = readPage(page);
    const at = (seek(entries, key, Number.POSITIVE_INFINITY) - 1) * ENTRY_FIELDS;
    return entries[at] === key ? { revision: entries[at + 1]!, position: entries[at + 2]! } : undefined;
  };

  /** Adds the positions of the revisions `from` to `to` that it has, ascending. */
  const range = (key: number, from: number, to: number, into: number[]): void => {
    if (!bloom.mayHave(key)) return;
    for (let page = Math.max(0, pageOf(key, from)); page * PAGE_ENTRIES < count; page++) {
      const entries = readPage(page);
      for (let at = seek(entries, key, from) * ENTRY_FIELDS; at < entries.length; at += ENTRY_FIELDS) {
        if (entries[at] !== key || entries[at + 1]! > to) return;
        into.push(entries[at + 2]!);
      }
    }
  };

  const sound = (): boolean => {
    let checksum = 0;
    for (let at = 0; at < count * ENTRY; at += 1 << 20)
      checksum = crc32(readUpTo(file, at, Math.min(1 << 20, count * ENTRY - at)), checksum);
    return checksum === footer.readUInt32LE(32);
  };

  const close = (): void => fs.closeSync(file);

  return { path, count, maxStreams: Math.ceil((bloomBytes * 8) / 12), read, last, range, sound, close };
};
