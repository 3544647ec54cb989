import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { readUpTo, replaceFile, syncDirectory, writeAll } from '../../../durable-files.ts';
import { damageError } from './corruption.ts';
import { HEADER_BYTES, isIntactAt, OVERHEAD_BYTES, positionAt, sizeAt } from './record.ts';

/**
 * A file of the log. In a plain segment, the position of a record is the base of the segment plus the record's offset
 * in the file. Scavenging rewrites a segment as a packed segment, in which the header of each record contains its
 * position, and a table lists every 32nd record. `length` is the length of the part of the log that the segment covers,
 * including the header of the segment. The next segment starts at `base + length`.
 */
export type Segment = { path: string; file: number; base: number; length: number; packed: Packed | undefined };
export type Packed = { positions: Float64Array; offsets: Float64Array; bytes: number };

export const SEGMENT_HEADER_BYTES = 32;
const MAGIC = 'annals log 1';
const PACKED_MAGIC = 'annals pack1';
const RECORDS_PER_MARK = 32;

const segmentName = (base: number): string => `${String(base).padStart(16, '0')}.log`;

const headerOf = (magic: string, base: number, table: number): Buffer => {
  const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
  header.write(magic, 'latin1');
  header.writeDoubleLE(base, 16);
  header.writeDoubleLE(table, 24);
  return header;
};

export const createSegment = (dir: string, base: number): Segment => {
  const path = join(dir, segmentName(base));
  try {
    // Give the file its final name only after its header is on the disk: a store cannot start without the header.
    replaceFile(path, headerOf(MAGIC, base, 0));
    syncDirectory(dir);
    return openSegment(path);
  } catch (error) {
    fs.rmSync(path, { force: true });
    throw error;
  }
};

/**
 * Writes a packed copy of a segment: the header, the records, the length of the log that the segment covers, and the
 * table of positions and offsets. The copy takes the place of the original only in `replaceSegment`.
 */
export const writePacked = async (path: string, { base, length }: Segment, records: AsyncIterable<Buffer>): Promise<void> => {
  const file = fs.openSync(path, 'w', 0o600);
  try {
    const table: number[] = [length];
    let at = SEGMENT_HEADER_BYTES;
    let count = 0;
    for await (const record of records) {
      writeAll(file, record, at);
      if (count++ % RECORDS_PER_MARK === 0) table.push(positionAt(record, 0), at);
      at += record.length;
    }
    writeAll(file, headerOf(PACKED_MAGIC, base, at), 0);
    writeAll(file, Buffer.from(Float64Array.from(table).buffer), at);
    await new Promise<void>((resolve, reject) => fs.fsync(file, (error) => (error ? reject(error) : resolve())));
  } catch (error) {
    fs.rmSync(path, { force: true });
    throw error;
  } finally {
    fs.closeSync(file);
  }
};

/** The caller must hold the directory's lock. */
export const removeUnfinished = (dir: string): void => {
  for (const name of fs.readdirSync(dir)) if (name.endsWith('.next')) fs.rmSync(join(dir, name));
};

/** Later reads use the packed copy at `path`. */
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

/** Plain or packed. @throws Error if the file is neither */
export const openSegment = (path: string): Segment => {
  const file = fs.openSync(path, 'r+');
  const head = readUpTo(file, 0, SEGMENT_HEADER_BYTES);
  const magic = head.toString('latin1', 0, MAGIC.length);
  const { size } = fs.fstatSync(file);
  if (magic === MAGIC) return { path, file, base: head.readDoubleLE(16), length: size, packed: undefined };
  if (magic === PACKED_MAGIC) return { path, file, base: head.readDoubleLE(16), ...readPacked(file, size, head.readDoubleLE(24)) };
  fs.closeSync(file);
  throw new Error(`${path} is not a log segment`);
};

/**
 * A plain segment before the last ends where the next one starts. After a power failure, its file may have preallocated zeros beyond.
 * @throws Error if it contains anything but zeros there
 */
export const setSegmentEnds = (segments: Segment[]): Segment[] => {
  for (const [i, next] of segments.slice(1).entries()) {
    const segment = segments[i]!;
    if (segment.packed) continue;
    const length = next.base - segment.base;
    if (nonZeroLength(segment, length) > 0) throw damageError(next.base);
    segment.length = length;
  }
  return segments;
};

/** Counts to the last byte that is not zero: zeros at the end are preallocated space, not data. */
export const nonZeroLength = ({ file, length }: Segment, from: number): number => {
  const bytes = readUpTo(file, from, Math.max(0, length - from));
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
};

/** The values must be in ascending order. Returns how many are at most `wanted`. */
const countUpTo = (values: Float64Array, wanted: number): number => {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle]! <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
};

const MAX_SPAN_BYTES = 64 << 10;

type MarkedSpan = { from: number; until: number; peek: (offset: number, size: number) => Buffer };

/** The part between two entries ("marks") of the segment's table. It is read with one call if it has at most MAX_SPAN_BYTES. */
const markedSpanOf = (file: number, { positions, offsets, bytes }: Packed, position: number): MarkedSpan => {
  const mark = Math.max(0, countUpTo(positions, position) - 1);
  const from = offsets[mark] ?? bytes;
  const until = offsets[mark + 1] ?? bytes;
  if (until - from > MAX_SPAN_BYTES) return { from, until, peek: (offset, size) => readUpTo(file, offset, size) };
  const span = readUpTo(file, from, until - from);
  return { from, until, peek: (offset, size) => span.subarray(offset - from, offset - from + size) };
};

/**
 * Finds the file offset of the record at `position`. The search starts at the last entry of the segment's table before
 * `position`, and goes from record to record until it reaches `position`. It ends earlier at a record whose header or
 * trailer does not fit the records next to it. The result is then the offset of this record or, if the record before is
 * damaged, the offset of that one, because either may be the wanted record. The caller verifies the record at the
 * returned offset, and so detects the damage.
 */
const packedOffset = (file: number, packed: Packed, position: number): number => {
  const { from, until, peek } = markedSpanOf(file, packed, position);
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

/** Tries every offset, because the sizes of damaged records cannot be trusted. Undefined if there is no intact record. */
export const findExactOffset = ({ file, packed }: Segment, position: number): number | undefined => {
  if (!packed) return undefined;
  const { from, until, peek } = markedSpanOf(file, packed, position);
  const bytes = peek(from, until - from);
  for (let at = 0; at + OVERHEAD_BYTES <= bytes.length; at++)
    if (positionAt(bytes, at) === position && isIntactAt(bytes, at, position)) return from + at;
  return undefined;
};

/** The file offset of the first record at or after a position; the end of the records if there is none. */
export const offsetOf = ({ file, base, length, packed }: Segment, position: number): number =>
  packed ? packedOffset(file, packed, position) : Math.min(length, Math.max(SEGMENT_HEADER_BYTES, position - base));

/** Returns the file offset at which the records end. */
export const recordsEnd = ({ length, packed }: Segment): number => packed?.bytes ?? length;

/** The log position of the record at a file offset; the end of the segment if there is none. */
export const positionAfter = ({ file, base, length, packed }: Segment, offset: number): number => {
  if (!packed) return base + offset;
  return offset < packed.bytes ? positionAt(readUpTo(file, offset, HEADER_BYTES), 0) : base + length;
};

/** Returns complete records from an offset on: about `size` bytes, but at least one record if there is one. */
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

/** Returns complete records that end at an offset: about `size` bytes, but at least one record if there is one. */
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
