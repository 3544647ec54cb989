import { readUpTo } from '../../../durable-files.ts';
import { damageError } from './corruption.ts';
import { HEADER_BYTES, isIntactAt, positionAt, sizeAt } from './record.ts';
import {
  findExactOffset,
  offsetOf,
  positionAfter,
  readRecords,
  readRecordsBefore,
  recordsEnd,
  SEGMENT_HEADER_BYTES,
  type Segment,
} from './segment.ts';

/** Complete records in the log's order. `next` is the position of the next page. Empty if there are no more records. */
export type Page = { bytes: Buffer; next: number };

export const endOf = (segments: Segment[]): number => segments.at(-1)!.base + segments.at(-1)!.length;

const indexOf = (segments: Segment[], position: number): number => {
  let index = segments.length - 1;
  while (index > 0 && segments[index]!.base > position) index--;
  return index;
};

export const segmentAt = (segments: Segment[], position: number): Segment => segments[indexOf(segments, position)]!;

/** In a plain segment, the file offset gives the position. In a packed one, the record's own header, because scavenging moves records. */
const expectedPosition = (segment: Segment, bytes: Buffer, at: number, offset: number): number =>
  segment.packed ? positionAt(bytes, at) : segment.base + offset + at;

/** Returns about `size` bytes, with unverified checksums. @throws Error if the first record is unreadable */
export const readPage = (segments: Segment[], position: number, size: number): Page => {
  for (let index = indexOf(segments, position); index < segments.length; index++) {
    const segment = segments[index]!;
    const offset = offsetOf(segment, position);
    const bytes = readRecords(segment, offset, size);
    if (bytes.length > 0) return { bytes, next: positionAfter(segment, offset + bytes.length) };
    if (offset < recordsEnd(segment)) throw damageError(position);
  }
  return { bytes: Buffer.alloc(0), next: endOf(segments) };
};

/** Ends before the first damaged record. Undefined if the first record is damaged or missing, or `offset` is undefined. */
const intactRecordsFrom = (segment: Segment, offset: number | undefined, size: number): Page | undefined => {
  if (offset === undefined) return undefined;
  const bytes = readRecords(segment, offset, size);
  let at = 0;
  let last = 0;
  while (at < bytes.length && isIntactAt(bytes, at, expectedPosition(segment, bytes, at, offset))) {
    last = positionAt(bytes, at);
    at += sizeAt(bytes, at);
  }
  if (at === 0) return undefined;
  // In a packed segment, the next position is in its own header, not verified yet: use the lowest possible one.
  const next = segment.packed && offset + at < recordsEnd(segment) ? last + 1 : positionAfter(segment, offset + at);
  return { bytes: bytes.subarray(0, at), next };
};

/** Does the same as `readPage`, but the page ends before the first damaged record. @throws Error if the first record is damaged */
export const readIntactPage = (segments: Segment[], position: number, size: number): Page => {
  for (let index = indexOf(segments, position); index < segments.length; index++) {
    const segment = segments[index]!;
    const offset = offsetOf(segment, position);
    const page = intactRecordsFrom(segment, offset, size) ?? intactRecordsFrom(segment, findExactOffset(segment, position), size);
    if (page) return page;
    if (offset < recordsEnd(segment)) throw damageError(segment.packed ? position : segment.base + offset);
  }
  return { bytes: Buffer.alloc(0), next: endOf(segments) };
};

/** @throws Error if a damaged record makes it impossible to find that offset */
const offsetBefore = (segment: Segment, position: number): number => {
  if (position >= segment.base + segment.length) return recordsEnd(segment);
  const offset = offsetOf(segment, position);
  if (!segment.packed || offset === recordsEnd(segment)) return offset;
  const found = positionAt(readUpTo(segment.file, offset, HEADER_BYTES), 0);
  if (found === position) return offset;
  const exact = findExactOffset(segment, position);
  if (exact === undefined && !(found > position)) throw damageError(position);
  return exact ?? offset;
};

/** Returns verified records. `next` is the position of the first. @throws Error if the record just before the position is damaged */
export const readPageBefore = (segments: Segment[], position: number, size: number): Page => {
  for (let index = indexOf(segments, position - 1); index >= 0; index--) {
    const segment = segments[index]!;
    const offset = offsetBefore(segment, position);
    const bytes = readRecordsBefore(segment, offset, size);
    const first = offset - bytes.length;
    let at = bytes.length;
    while (at > 0) {
      const before = at - bytes.readUInt32LE(at - 4);
      // A damaged trailer can point to an earlier record, which is intact but does not end at `before`.
      if (!isIntactAt(bytes, before, expectedPosition(segment, bytes, before, first)) || before + sizeAt(bytes, before) !== at) break;
      at = before;
    }
    if (at < bytes.length) return { bytes: bytes.subarray(at), next: positionAt(bytes, at) };
    if (offset > SEGMENT_HEADER_BYTES) throw damageError(position - 1);
  }
  return { bytes: Buffer.alloc(0), next: 0 };
};
