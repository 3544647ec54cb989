import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { readUpTo, replaceFile, syncDirectory, writeAll } from '../../durable-files.ts';
import { damageError } from './corruption.ts';
import { HEADER_BYTES, isIntactAt, OVERHEAD_BYTES, positionAt, sizeAt } from './record.ts';

/**
 * A file of the log. A record's position is the segment's base and its offset in the file; a packed segment, which scavenging made, tells the
 * records' positions by their own heads, and keeps a table of some of them. `length` is how much of the log it covers, head included; the next segment begins there.
 */
export type Segment = { path: string; file: number; base: number; length: number; packed: Packed | undefined };
export type Packed = { positions: Float64Array; offsets: Float64Array; bytes: number };

export const SEGMENT_HEADER_BYTES = 32;
const MAGIC = 'annals log 1';
const PACKED = 'annals pack1';
const MARK_EVERY = 32;

export const segmentName = (base: number): string => `${String(base).padStart(16, '0')}.log`;

const headOf = (magic: string, base: number, table: number): Buffer => {
  const head = Buffer.alloc(SEGMENT_HEADER_BYTES);
  head.write(magic, 'latin1');
  head.writeDoubleLE(base, 16);
  head.writeDoubleLE(table, 24);
  return head;
};

export const createSegment = (dir: string, base: number): Segment => {
  const path = join(dir, segmentName(base));
  try {
    // It has its name when its head is on the disk: one without would be no segment for the next start.
    replaceFile(path, headOf(MAGIC, base, 0));
    syncDirectory(dir);
    return openSegment(path);
  } catch (error) {
    fs.rmSync(path, { force: true });
    throw error;
  }
};

/** Head, records, the length covered, and a table of every so many positions and offsets. Not yet in its place: see `replaceSegment`. */
export const writePacked = async (path: string, { base, length }: Segment, records: AsyncIterable<Buffer>): Promise<void> => {
  const file = fs.openSync(path, 'w', 0o600);
  try {
    const table: number[] = [length];
    let at = SEGMENT_HEADER_BYTES;
    let count = 0;
    for await (const record of records) {
      writeAll(file, record, at);
      if (count++ % MARK_EVERY === 0) table.push(positionAt(record, 0), at);
      at += record.length;
    }
    writeAll(file, headOf(PACKED, base, at), 0);
    writeAll(file, Buffer.from(Float64Array.from(table).buffer), at);
    await new Promise<void>((resolve, reject) => fs.fsync(file, (error) => (error ? reject(error) : resolve())));
  } catch (error) {
    fs.rmSync(path, { force: true });
    throw error;
  } finally {
    fs.closeSync(file);
  }
};

/** Removes what a crash left of segments that were being written: only for who holds the directory. */
export const removeUnfinished = (dir: string): void => {
  for (const name of fs.readdirSync(dir)) if (name.endsWith('.next')) fs.rmSync(join(dir, name));
};

/** Puts a packed file into the segment's place; readers go on with the new one. */
export const replaceSegment = (segment: Segment, path: string): void => {
  fs.renameSync(path, segment.path);
  syncDirectory(dirname(segment.path));
  const old = segment.file;
  Object.assign(segment, openSegment(segment.path));
  fs.closeSync(old);
};

const readPacked = (file: number, size: number, bytes: number): { packed: Packed; length: number } => {
  const raw = readUpTo(file, bytes, size - bytes);
  const table = new Float64Array(new Uint8Array(raw).buffer);
  const column = (k: number) => Float64Array.from({ length: (table.length - 1) / 2 }, (_, i) => table[1 + 2 * i + k]!);
  return { packed: { positions: column(0), offsets: column(1), bytes }, length: table[0]! };
};

export const openSegment = (path: string): Segment => {
  const file = fs.openSync(path, 'r+');
  const head = readUpTo(file, 0, SEGMENT_HEADER_BYTES);
  const magic = head.toString('latin1', 0, MAGIC.length);
  const { size } = fs.fstatSync(file);
  if (magic === MAGIC) return { path, file, base: head.readDoubleLE(16), length: size, packed: undefined };
  if (magic === PACKED) return { path, file, base: head.readDoubleLE(16), ...readPacked(file, size, head.readDoubleLE(24)) };
  fs.closeSync(file);
  throw new Error(`${path} is no segment of a log`);
};

/**
 * Says of each segment but the last that it ends where the next one begins. A power cut may have left one the room that was made behind its end.
 * @throws where anything but room lies there
 */
export const setSegmentEnds = (segments: Segment[]): Segment[] => {
  for (const [i, next] of segments.slice(1).entries()) {
    const segment = segments[i]!;
    if (segment.packed) continue;
    const length = next.base - segment.base;
    if (written(segment, length) > 0) throw damageError(next.base);
    segment.length = length;
  }
  return segments;
};

/** Bytes behind an offset up to the last that is not zero: zeros are room, not something lost. */
export const written = ({ file, length }: Segment, from: number): number => {
  const bytes = readUpTo(file, from, Math.max(0, length - from));
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
};

/** How many of the ascending values are not above `wanted`. */
const upTo = (values: Float64Array, wanted: number): number => {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
};

const SPAN = 64 << 10;

type Span = { from: number; until: number; peek: (offset: number, size: number) => Buffer };

/** The records between the mark at or before a position and the next, read at once where they are few bytes. */
const spanOf = (file: number, { positions, offsets, bytes }: Packed, position: number): Span => {
  const mark = Math.max(0, upTo(positions, position) - 1);
  const from = offsets[mark] ?? bytes;
  const until = offsets[mark + 1] ?? bytes;
  if (until - from > SPAN) return { from, until, peek: (offset, size) => readUpTo(file, offset, size) };
  const span = readUpTo(file, from, until - from);
  return { from, until, peek: (offset, size) => span.subarray(offset - from, offset - from + size) };
};

/**
 * A record whose head or end does not fit to those around it ends the walk, and whoever reads there finds that it is harmed. So does the last
 * one passed where it is: it may have been the one looked for.
 */
const packedOffset = (file: number, packed: Packed, position: number): number => {
  const { from, until, peek } = spanOf(file, packed, position);
  const passed = { offset: from, size: 0, position: -1 };
  let offset = from;
  while (offset < until) {
    const head = peek(offset, HEADER_BYTES);
    const here = positionAt(head, 0);
    const size = sizeAt(head, 0);
    if (here >= position || !(here > passed.position) || size < OVERHEAD_BYTES || offset + size > until) break;
    if (peek(offset + size - 4, 4).readUInt32LE(0) !== size) break;
    Object.assign(passed, { offset, size, position: here });
    offset += size;
  }
  return passed.size > 0 && !isIntactAt(peek(passed.offset, passed.size), 0, passed.position) ? passed.offset : offset;
};

/** Where the record of exactly this position lies in a packed segment, though one before it may be harmed: every place is looked at. */
export const findExactOffset = ({ file, packed }: Segment, position: number): number | undefined => {
  if (!packed) return undefined;
  const { from, until, peek } = spanOf(file, packed, position);
  const bytes = peek(from, until - from);
  for (let at = 0; at + OVERHEAD_BYTES <= bytes.length; at++)
    if (positionAt(bytes, at) === position && isIntactAt(bytes, at, position)) return from + at;
  return undefined;
};

/** Where in the file the first record at or behind this position lies; the end of the records where there is none. */
export const offsetOf = ({ file, base, length, packed }: Segment, position: number): number =>
  packed ? packedOffset(file, packed, position) : Math.min(length, Math.max(SEGMENT_HEADER_BYTES, position - base));

export const recordsEnd = ({ length, packed }: Segment): number => packed?.bytes ?? length;

/** The position behind the record that ends at `offset`, where the next one is looked for. */
export const positionAfter = ({ file, base, length, packed }: Segment, offset: number): number => {
  if (!packed) return base + offset;
  return offset < packed.bytes ? positionAt(readUpTo(file, offset, HEADER_BYTES), 0) : base + length;
};

/** Whole records from an offset on, at least one if there is one. */
export const readRecords = (segment: Segment, offset: number, size: number): Buffer => {
  const left = recordsEnd(segment) - offset;
  if (left < OVERHEAD_BYTES) return Buffer.alloc(0);
  const bytes = readUpTo(segment.file, offset, Math.min(size, left));
  const first = sizeAt(bytes, 0);
  if (first > bytes.length && first <= left) return readUpTo(segment.file, offset, first);
  let end = 0;
  while (end + 4 <= bytes.length && sizeAt(bytes, end) >= OVERHEAD_BYTES && end + sizeAt(bytes, end) <= bytes.length)
    end += sizeAt(bytes, end);
  return bytes.subarray(0, end);
};

const sizeBefore = (bytes: Buffer, end: number): number => bytes.readUInt32LE(end - 4);

/** Whole records that end at an offset, at least one if there is one. */
export const readRecordsBefore = (segment: Segment, offset: number, size: number): Buffer => {
  if (offset <= SEGMENT_HEADER_BYTES) return Buffer.alloc(0);
  const last = Math.min(offset, readUpTo(segment.file, offset - 4, 4).readUInt32LE(0));
  const from = Math.max(SEGMENT_HEADER_BYTES, offset - Math.max(size, last));
  const bytes = readUpTo(segment.file, from, offset - from);
  let start = bytes.length;
  while (start >= OVERHEAD_BYTES && sizeBefore(bytes, start) >= OVERHEAD_BYTES && sizeBefore(bytes, start) <= start)
    start -= sizeBefore(bytes, start);
  return bytes.subarray(start);
};
