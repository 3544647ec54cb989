import * as fs from 'node:fs';
import { join } from 'node:path';
import { isDiskFull, makeDirectory, readInto, readUpTo, syncBytes, writeAll } from '../../durable-files.ts';
import { damageError } from './corruption.ts';
import { createPreallocation, type Preallocation } from './preallocation.ts';
import { createReadBuffer, FIRST_READ_BYTES } from './read-buffer.ts';
import { HEADER_BYTES, isIntactAt, maxRecordSize, OVERHEAD_BYTES, type ProposedEvent, positionAt, sizeAt, writeRecord } from './record.ts';
import {
  createSegment,
  findExactOffset,
  offsetOf,
  openSegment,
  positionAfter,
  readRecords,
  readRecordsBefore,
  recordsEnd,
  SEGMENT_HEADER_BYTES,
  type Segment,
  setSegmentEnds,
} from './segment.ts';

const SEGMENT_SIZE = 128 << 20;
const PAGE = 128 << 10;
const ROOM = 4 << 20;

/** Whole records; `next` is where to go on. No bytes: nothing is there. */
export type Page = { bytes: Buffer; next: number };

export type Log = ReturnType<typeof openLog>;

/** The log's segments in a directory: appended to at the end, synced once per batch, read from anywhere. */
export const openLog = (dir: string) => {
  makeDirectory(dir);
  const names = fs
    .readdirSync(dir)
    .filter((name) => name.endsWith('.log'))
    .sort();
  const segments = setSegmentEnds(names.map((name) => openSegment(join(dir, name))));
  if (segments.length === 0) segments.push(createSegment(dir, 0));
  // The last batch stays in memory until the next begins: that is what live subscribers read.
  let pending = Buffer.allocUnsafe(ROOM);
  let start = Number.POSITIVE_INFINITY;
  let used = 0;

  const desk = createReadBuffer();
  let room: Preallocation | undefined;
  const last = (): Segment => segments.at(-1)!;
  const end = (): number => last().base + last().length;

  const indexOf = (position: number): number => {
    let at = segments.length - 1;
    while (at > 0 && segments[at]!.base > position) at--;
    return at;
  };

  /** From the last batch: a view that the next batch overwrites. */
  const recentPage = (position: number, size: number): Page => {
    const from = Math.min(position - start, used);
    let to = from;
    while (to < used && (to === from || to - from < size)) to += sizeAt(pending, to);
    return { bytes: pending.subarray(from, to), next: start + to };
  };

  /** Whole records from a position on that a record has, or behind it; a view that is good for this turn only. */
  const page = (position: number, size = PAGE): Page => {
    if (position >= start) return recentPage(position, size);
    for (let at = indexOf(position); at < segments.length; at++) {
      const segment = segments[at]!;
      const offset = offsetOf(segment, position);
      const bytes = readRecords(segment, offset, size);
      if (bytes.length > 0) return { bytes, next: positionAfter(segment, offset + bytes.length) };
      if (offset < recordsEnd(segment)) throw damageError(position);
    }
    return { bytes: Buffer.alloc(0), next: end() };
  };

  /** Where the record at an offset of a segment should say that it lies; a packed one is believed. */
  const placeIn = (segment: Segment, bytes: Buffer, at: number, offset: number): number =>
    segment.packed ? positionAt(bytes, at) : segment.base + offset + at;

  /**
   * The same of records that are what was written: up to the first that is not, which is an error where it is the first of all. What was
   * written last comes from memory, and is not looked at again.
   */
  const intactPage = (position: number, size = PAGE): Page => {
    if (position >= start) return recentPage(position, size);
    for (let index = indexOf(position); index < segments.length; index++) {
      const segment = segments[index]!;
      const offset = offsetOf(segment, position);
      const found = intactRecordsFrom(segment, offset, size) ?? intactRecordsFrom(segment, findExactOffset(segment, position), size);
      if (found) return found;
      if (offset < recordsEnd(segment)) throw damageError(segment.packed ? position : segment.base + offset);
    }
    return { bytes: Buffer.alloc(0), next: end() };
  };

  /** The sound records that begin at an offset; nothing where the first is harmed, or none is there. */
  const intactRecordsFrom = (segment: Segment, offset: number | undefined, size: number): Page | undefined => {
    if (offset === undefined) return undefined;
    const bytes = readRecords(segment, offset, size);
    let at = 0;
    let last = 0;
    while (at < bytes.length && isIntactAt(bytes, at, placeIn(segment, bytes, at, offset))) {
      last = positionAt(bytes, at);
      at += sizeAt(bytes, at);
    }
    if (at === 0) return undefined;
    // A packed segment's records say themselves where they lie, which is not believed of one that has not been looked at.
    const next = segment.packed && offset + at < recordsEnd(segment) ? last + 1 : positionAfter(segment, offset + at);
    return { bytes: bytes.subarray(0, at), next };
  };

  /** Where the records before a position end. @throws where what is harmed lies between and hides it */
  const offsetBefore = (segment: Segment, position: number): number => {
    if (position >= segment.base + segment.length) return recordsEnd(segment);
    const offset = offsetOf(segment, position);
    if (!segment.packed || offset === recordsEnd(segment)) return offset;
    const here = positionAt(readUpTo(segment.file, offset, HEADER_BYTES), 0);
    if (here === position) return offset;
    const exact = findExactOffset(segment, position);
    if (exact === undefined && !(here > position)) throw damageError(position);
    return exact ?? offset;
  };

  /** The sound records before a position, in the log's order; `next` is the position of the first of them. @throws where the one before is harmed */
  const pageBefore = (position: number, size = PAGE): Page => {
    for (let index = indexOf(position - 1); index >= 0; index--) {
      const segment = segments[index]!;
      const offset = offsetBefore(segment, position);
      const bytes = readRecordsBefore(segment, offset, size);
      const first = offset - bytes.length;
      let at = bytes.length;
      while (at > 0) {
        const before = at - bytes.readUInt32LE(at - 4);
        if (!isIntactAt(bytes, before, placeIn(segment, bytes, before, first))) break;
        at = before;
      }
      if (at < bytes.length) return { bytes: bytes.subarray(at), next: positionAt(bytes, at) };
      if (offset > SEGMENT_HEADER_BYTES) throw damageError(position - 1);
    }
    return { bytes: Buffer.alloc(0), next: 0 };
  };

  const pendingRecord = (position: number): Buffer | undefined => {
    const bytes = pending.subarray(Math.min(position - start, used), used);
    return isIntactAt(bytes, 0, position) ? bytes.subarray(0, sizeAt(bytes, 0)) : undefined;
  };

  const recordBy = (position: number, scratch: Buffer): Buffer | undefined => {
    if (position < 0) return undefined;
    if (position >= start) return pendingRecord(position);
    if (position >= end()) return undefined;
    const segment = segments[indexOf(position)]!;
    const offset = offsetOf(segment, position);
    const left = recordsEnd(segment) - offset;
    if (left < OVERHEAD_BYTES) return undefined;
    const first = readInto(scratch, segment.file, offset);
    const size = sizeAt(first, 0);
    if (size < OVERHEAD_BYTES || size > left) return undefined;
    const bytes = size <= first.length ? first : readUpTo(segment.file, offset, size);
    return isIntactAt(bytes, 0, position) ? bytes.subarray(0, size) : undefined;
  };

  /** The record at a position; nothing where no record begins there. */
  const record = (position: number): Buffer | undefined => desk.at(position) ?? recordBy(position, Buffer.allocUnsafe(FIRST_READ_BYTES));

  /** Whether scavenging took away what was at a position: the record that follows in its segment is sound, or none does. */
  const isFreed = (position: number): boolean => {
    const segment = segments[indexOf(position)]!;
    if (!segment.packed) return false;
    const offset = offsetOf(segment, position);
    const bytes = readRecords(segment, offset, FIRST_READ_BYTES);
    if (bytes.length === 0) return offset >= recordsEnd(segment);
    return positionAt(bytes, 0) > position && isIntactAt(bytes, 0, positionAt(bytes, 0));
  };

  const orFreed = (position: number, record: Buffer | undefined): Buffer | undefined => {
    if (record || isFreed(position)) return record;
    const segment = segments[indexOf(position)]!;
    const found = findExactOffset(segment, position);
    if (found === undefined) throw damageError(position);
    return readRecords(segment, found, OVERHEAD_BYTES);
  };

  /** The record at a position that is known to have one; nothing where scavenging took it away. @throws where it is harmed */
  const recordOrFreed = (position: number): Buffer | undefined => orFreed(position, record(position));

  /** The same, in memory that the next glance takes again. */
  const viewRecord = (position: number): Buffer | undefined =>
    orFreed(position, desk.keep(position, segments[indexOf(position)]!, recordBy(position, desk.cleared())));

  /** Closes the last segment and begins another; only while no room is being made. */
  const startSegment = (): void => {
    segments.push(createSegment(dir, end()));
    start = Number.POSITIVE_INFINITY;
    used = 0;
    const full = room;
    room = undefined;
    full?.trim();
  };

  /** Whether a position names a record, or one that scavenging may have taken away. @throws where one says that it lies there and is harmed */
  const isReadablePosition = (position: number): boolean => {
    if (record(position)) return true;
    const segment = segments[indexOf(position)]!;
    if (segment.packed) return true;
    const head = readUpTo(segment.file, offsetOf(segment, position), HEADER_BYTES);
    if (head.length === HEADER_BYTES && positionAt(head, 0) === position) throw damageError(position);
    return false;
  };

  /** Where a harmed record ends, if a sound one begins there or the log ends: whoever had read it before can go on. */
  const positionAfterDamaged = (position: number): number | undefined => {
    const segment = segments[indexOf(position)]!;
    const next = position + sizeAt(readUpTo(segment.file, offsetOf(segment, position), HEADER_BYTES), 0);
    return !segment.packed && (next === end() || record(next)) ? next : undefined;
  };

  /** Whether a batch of so many bytes can begin now; if not, `whenWritable` tells. */
  const free = (bytes: number): boolean => room === undefined || room.fits(bytes);
  const whenWritable = (): Promise<void> => room?.quiet() ?? Promise.resolve();

  /** Where the next batch begins: a new segment where the last is full. */
  const startBatch = (): number => {
    if (last().length >= SEGMENT_SIZE && !room?.busy()) startSegment();
    if (pending.length > ROOM) pending = Buffer.allocUnsafe(ROOM);
    start = end();
    used = 0;
    return start;
  };

  /** Adds an event to the batch and gives back its position. It can be read at once, by its position. */
  const put = (event: ProposedEvent, stream: Buffer, revision: number, created: number, flags: number): number => {
    const room = maxRecordSize(event, stream.length);
    if (used + room > pending.length) pending = Buffer.concat([pending], Math.max(pending.length * 2, used + room));
    const position = start + used;
    used += writeRecord(pending, used, event, { stream, revision, position, created, batchStart: start, flags });
    return position;
  };

  /**
   * Writes and syncs the batch. On a full disk nothing has happened; any other error leaves open what the disk holds. Room is made ahead only
   * while batches are small: a large one shares the journal's cost among many, and writing zeros beside it would only take the disk from it.
   */
  const commit = (small: boolean): void => {
    const segment = last();
    try {
      writeAll(segment.file, pending.subarray(0, used), segment.length);
    } catch (error) {
      if (isDiskFull(error)) abandon();
      throw error;
    }
    syncBytes(segment.file);
    segment.length += used;
    room ??= createPreallocation(segment);
    if (small) room.provide();
    else room.passed();
  };

  const abandon = (): void => {
    fs.ftruncateSync(last().file, last().length);
    room?.lost();
    used = 0;
    start = Number.POSITIVE_INFINITY;
  };

  /** Behind the last event of the batch, written or not. */
  const batchEnd = (): number => start + used;

  const close = async (): Promise<void> => {
    await room?.stop();
    room?.trim();
    for (const segment of segments) fs.closeSync(segment.file);
  };

  return {
    dir,
    segments,
    startSegment,
    free,
    whenWritable,
    isReadablePosition,
    positionAfterDamaged,
    recordOrFreed,
    intactPage,
    end,
    page,
    pageBefore,
    record,
    viewRecord,
    startBatch,
    put,
    commit,
    batchEnd,
    close,
  };
};
