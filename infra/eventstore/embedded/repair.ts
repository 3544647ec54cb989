import * as fs from 'node:fs';
import { readUpTo, syncBytes, syncFile, writeAll } from '../../durable-files.ts';
import { damageError } from './log/corruption.ts';
import { batchDistanceAt, flagsAt, isIntactAt, LAST_OF_APPEND, OVERHEAD_BYTES, positionAt, sizeAt } from './log/record.ts';
import { nonZeroLength, offsetOf, readRecords, recordsEnd, type Segment } from './log/segment.ts';

const WINDOW_BYTES = 1 << 20;

/** File offsets: the start and end of the last complete append's batch, and the first damaged record or the end of all. */
type Scan = { batch: number; complete: number; stop: number };

const scan = (segment: Segment, from: number): Scan => {
  let complete = from;
  let batch = from;
  let at = from;
  for (let bytes = readRecords(segment, at, WINDOW_BYTES); bytes.length > 0; bytes = readRecords(segment, at, WINDOW_BYTES)) {
    for (let offset = 0; offset < bytes.length; offset += sizeAt(bytes, offset)) {
      const position = segment.packed ? positionAt(bytes, offset) : segment.base + at + offset;
      if (!isIntactAt(bytes, offset, position)) return { batch, complete, stop: at + offset };
      if (!segment.packed && !(flagsAt(bytes, offset) & LAST_OF_APPEND)) continue;
      complete = at + offset + sizeAt(bytes, offset);
      batch = at + offset - batchDistanceAt(bytes, offset);
    }
    at += bytes.length;
  }
  return { batch, complete, stop: at };
};

/** True if an intact record of a later batch follows: the bad one was then damaged after its sync, and is not an incomplete write. */
const hasLaterBatch = (segment: Segment, stop: number): boolean => {
  const bytes = readUpTo(segment.file, stop, segment.length - stop);
  for (let at = 1; at + OVERHEAD_BYTES <= bytes.length; at++) {
    const position = segment.base + stop + at;
    if (
      positionAt(bytes, at) === position &&
      isIntactAt(bytes, at, position) &&
      position - batchDistanceAt(bytes, at) > segment.base + stop
    )
      return true;
  }
  return false;
};

const truncate = (segment: Segment, length: number): void => {
  fs.ftruncateSync(segment.file, length);
  syncFile(segment.file);
  segment.length = length;
};

/**
 * The process may have ended before the sync, or because it failed. The batch may then be only in the system's page cache: reads would
 * return it, but another sync alone would not write it to the disk.
 */
const rewriteLastBatch = (segment: Segment, { batch, complete }: Scan): void => {
  for (let at = batch; at < complete; at += WINDOW_BYTES)
    writeAll(segment.file, readUpTo(segment.file, at, Math.min(WINDOW_BYTES, complete - at)), at);
  if (batch < complete) syncBytes(segment.file);
};

/**
 * Cuts off an append that a crash left incomplete. Returns the number of bytes cut off.
 * @throws Error if the log is damaged before its end
 */
export const repair = (segments: Segment[], from: number): number => {
  const last = segments.at(-1)!;
  for (const segment of segments) {
    if (segment !== last && segment.base + segment.length <= from) continue;
    const found = scan(segment, offsetOf(segment, from));
    const isTorn = found.complete !== recordsEnd(segment);
    if (isTorn && (segment !== last || hasLaterBatch(segment, found.stop))) throw damageError(segment.base + found.stop);
    if (segment !== last || segment.packed) continue;
    const lost = nonZeroLength(segment, found.complete);
    if (isTorn) truncate(segment, found.complete);
    rewriteLastBatch(segment, found);
    return lost;
  }
  return 0;
};
