import { readInto, readUpTo } from '../../../durable-files.ts';
import { damageError } from './corruption.ts';
import type { LogBatch } from './log-batch.ts';
import { endOf, type Page, readIntactPage, readPage, readPageBefore, segmentAt } from './log-pages.ts';
import { createReadBuffer, FIRST_READ_BYTES } from './read-buffer.ts';
import { HEADER_BYTES, isIntactAt, OVERHEAD_BYTES, positionAt, sizeAt } from './record.ts';
import { findExactOffset, offsetOf, readRecords, recordsEnd, type Segment } from './segment.ts';

const PAGE_BYTES = 128 << 10;

/** Uses `scratch` if the record fits; undefined if no intact record begins there. */
const readRecord = (segments: Segment[], position: number, scratch: Buffer): Buffer | undefined => {
  if (position < 0 || position >= endOf(segments)) return undefined;
  const segment = segmentAt(segments, position);
  const offset = offsetOf(segment, position);
  const left = recordsEnd(segment) - offset;
  if (left < OVERHEAD_BYTES) return undefined;
  const first = readInto(scratch, segment.file, offset);
  const size = sizeAt(first, 0);
  if (size < OVERHEAD_BYTES || size > left) return undefined;
  const bytes = size <= first.length ? first : readUpTo(segment.file, offset, size);
  return isIntactAt(bytes, 0, position) ? bytes.subarray(0, size) : undefined;
};

/** True for a packed segment in which an intact record with a higher position, or no record, follows. */
const isFreed = (segment: Segment, position: number): boolean => {
  if (!segment.packed) return false;
  const offset = offsetOf(segment, position);
  const bytes = readRecords(segment, offset, FIRST_READ_BYTES);
  if (bytes.length === 0) return offset >= recordsEnd(segment);
  return positionAt(bytes, 0) > position && isIntactAt(bytes, 0, positionAt(bytes, 0));
};

/**
 * Finds an event's record after the normal look-up has failed, for example because an earlier record is damaged.
 * @returns undefined if scavenging has removed the record
 * @throws Error if the record is damaged
 */
const findMissedRecord = (segments: Segment[], position: number): Buffer | undefined => {
  const segment = segmentAt(segments, position);
  if (isFreed(segment, position)) return undefined;
  const offset = findExactOffset(segment, position);
  if (offset === undefined) throw damageError(position);
  return readRecords(segment, offset, OVERHEAD_BYTES);
};

/** True if scavenging may have removed the event. Call it only if no intact record begins there. @throws Error if it is damaged */
const isFreeable = (segment: Segment, position: number): boolean => {
  if (segment.packed) return true;
  const header = readUpTo(segment.file, offsetOf(segment, position), HEADER_BYTES);
  if (header.length === HEADER_BYTES && positionAt(header, 0) === position) throw damageError(position);
  return false;
};

/** The current batch is read from memory, everything before it from the segments. */
export const createLogReader = (segments: Segment[], batch: LogBatch) => {
  const readBuffer = createReadBuffer();

  const read = (position: number, scratch: Buffer): Buffer | undefined =>
    batch.contains(position) ? batch.record(position) : readRecord(segments, position, scratch);

  const record = (position: number): Buffer | undefined =>
    readBuffer.copyOf(position) ?? read(position, Buffer.allocUnsafe(FIRST_READ_BYTES));

  return {
    record,

    /** Returns complete but unverified records, as a view that is valid only until the current turn of the event loop ends. */
    page: (position: number, size = PAGE_BYTES): Page =>
      batch.contains(position) ? batch.page(position, size) : readPage(segments, position, size),

    /** Returns verified records; those of the batch in memory are not verified. @throws Error if the first record is damaged */
    intactPage: (position: number, size = PAGE_BYTES): Page =>
      batch.contains(position) ? batch.page(position, size) : readIntactPage(segments, position, size),

    /** Returns verified records. `next` is the position of the first. @throws Error if the record just before the position is damaged */
    pageBefore: (position: number, size = PAGE_BYTES): Page => readPageBefore(segments, position, size),

    /** Undefined if scavenging has removed the record. @throws Error if it is damaged */
    recordOrFreed: (position: number): Buffer | undefined => record(position) ?? findMissedRecord(segments, position),

    /** Does the same as `recordOrFreed`, but the result is a view, which the next call overwrites. */
    viewRecord: (position: number): Buffer | undefined => {
      const found = read(position, readBuffer.reuse());
      readBuffer.remember(position, segmentAt(segments, position), found);
      return found ?? findMissedRecord(segments, position);
    },

    /** True if an event is there, or scavenging may have removed one. @throws Error if the event at the position is damaged */
    isReadablePosition: (position: number): boolean =>
      record(position) !== undefined || isFreeable(segmentAt(segments, position), position),

    /** Undefined unless an intact record begins after the damaged one, or the log ends there. For readers that already have the event. */
    positionAfterDamaged: (position: number): number | undefined => {
      const segment = segmentAt(segments, position);
      const next = position + sizeAt(readUpTo(segment.file, offsetOf(segment, position), HEADER_BYTES), 0);
      return !segment.packed && (next === endOf(segments) || record(next)) ? next : undefined;
    },
  };
};
