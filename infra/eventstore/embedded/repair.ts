import * as fs from 'node:fs';
import { readUpTo, syncBytes, syncFile, writeAll } from '../../durable-files.ts';
import { damageError } from './corruption.ts';
import { batchDistanceAt, flagsAt, isIntactAt, LAST_OF_APPEND, OVERHEAD_BYTES, positionAt, sizeAt } from './record.ts';
import { nonZeroLength, offsetOf, readRecords, recordsEnd, type Segment } from './segment.ts';

const WINDOW = 1 << 20;

/** Offsets in the file: where the last whole append's batch begins, behind that append, and of the first record that is not sound (or the end). */
type Scan = { batch: number; complete: number; stop: number };

const scan = (segment: Segment, from: number): Scan => {
  let complete = from;
  let batch = from;
  let at = from;
  for (let bytes = readRecords(segment, at, WINDOW); bytes.length > 0; bytes = readRecords(segment, at, WINDOW)) {
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

/** Whether a sound record of a later batch lies behind: then what is not sound had been synced, and is damage, not a torn write. */
const laterBatchBehind = (segment: Segment, stop: number): boolean => {
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

const cut = (segment: Segment, length: number): void => {
  fs.ftruncateSync(segment.file, length);
  syncFile(segment.file);
  segment.length = length;
};

/**
 * Writes the last batch once more, and waits for the disk. Who wrote it may have ended before its sync did, or because it failed: then it is in
 * the system's memory only, which is read like the disk, and a sync alone would not write it.
 */
const settle = (segment: Segment, { batch, complete }: Scan): void => {
  for (let at = batch; at < complete; at += WINDOW) writeAll(segment.file, readUpTo(segment.file, at, Math.min(WINDOW, complete - at)), at);
  if (batch < complete) syncBytes(segment.file);
};

/**
 * Checks the log from a position on and cuts off what a crash left behind the last whole append.
 * @returns bytes cut off @throws where the log is damaged before its end
 */
export const repair = (segments: Segment[], from: number): number => {
  const last = segments.at(-1)!;
  for (const segment of segments) {
    if (segment !== last && segment.base + segment.length <= from) continue;
    const found = scan(segment, offsetOf(segment, from));
    const isTorn = found.complete !== recordsEnd(segment);
    if (isTorn && (segment !== last || laterBatchBehind(segment, found.stop))) throw damageError(segment.base + found.stop);
    if (segment !== last || segment.packed) continue;
    const lost = nonZeroLength(segment, found.complete);
    if (isTorn) cut(segment, found.complete);
    settle(segment, found);
    return lost;
  }
  return 0;
};
