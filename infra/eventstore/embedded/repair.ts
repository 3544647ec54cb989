import * as fs from 'node:fs';
import { damaged } from './damage.ts';
import { readUpTo } from './disk.ts';
import { batchDistanceAt, flagsAt, LAST_OF_APPEND, OVERHEAD, positionAt, sizeAt, soundAt } from './record.ts';
import { offsetOf, readRecords, recordsEnd, type Segment } from './segment.ts';

const WINDOW = 1 << 20;

/** Offsets in the file: behind the last whole append, and of the first record that is not sound (or the end). */
type Scan = { complete: number; stop: number };

const scan = (segment: Segment, from: number): Scan => {
  let complete = from;
  let at = from;
  for (let bytes = readRecords(segment, at, WINDOW); bytes.length > 0; bytes = readRecords(segment, at, WINDOW)) {
    for (let offset = 0; offset < bytes.length; offset += sizeAt(bytes, offset)) {
      const position = segment.packed ? positionAt(bytes, offset) : segment.base + at + offset;
      if (!soundAt(bytes, offset, position)) return { complete, stop: at + offset };
      if (segment.packed || flagsAt(bytes, offset) & LAST_OF_APPEND) complete = at + offset + sizeAt(bytes, offset);
    }
    at += bytes.length;
  }
  return { complete, stop: at };
};

/** Whether a sound record of a later batch lies behind: then what is not sound had been synced, and is damage, not a torn write. */
const laterBatchBehind = (segment: Segment, stop: number): boolean => {
  const bytes = readUpTo(segment.file, stop, segment.length - stop);
  for (let at = 1; at + OVERHEAD <= bytes.length; at++) {
    const position = segment.base + stop + at;
    if (positionAt(bytes, at) === position && soundAt(bytes, at, position) && position - batchDistanceAt(bytes, at) > segment.base + stop)
      return true;
  }
  return false;
};

/** Bytes behind an offset up to the last that is not zero: zeros are room, not something lost. */
const written = (segment: Segment, from: number): number => {
  const bytes = readUpTo(segment.file, from, segment.length - from);
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return end;
};

const cut = (segment: Segment, length: number): void => {
  fs.ftruncateSync(segment.file, length);
  fs.fsyncSync(segment.file);
  segment.length = length;
};

/**
 * Checks the log from a position on and cuts off what a crash left behind the last whole append.
 * @returns bytes cut off @throws where the log is damaged before its end
 */
export const repair = (segments: Segment[], from: number): number => {
  for (const segment of segments) {
    if (segment !== segments.at(-1) && segment.base + segment.length <= from) continue;
    const { complete, stop } = scan(segment, offsetOf(segment, from));
    if (complete === recordsEnd(segment)) continue;
    if (segment !== segments.at(-1) || laterBatchBehind(segment, stop)) throw damaged(segment.base + stop);
    const lost = written(segment, complete);
    cut(segment, complete);
    return lost;
  }
  return 0;
};
