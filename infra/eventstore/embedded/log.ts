import * as fs from 'node:fs';
import { join } from 'node:path';
import { diskFull, readInto, readUpTo, writeAll } from './disk.ts';
import { OVERHEAD, type Proposed, positionAt, roomFor, sizeAt, soundAt, writeRecord } from './record.ts';
import { damaged } from './repair.ts';
import { createRoom, type Room } from './room.ts';
import {
  createSegment,
  offsetOf,
  openSegment,
  positionBehind,
  readRecords,
  readRecordsBefore,
  recordsEnd,
  type Segment,
} from './segment.ts';

const SEGMENT_SIZE = 128 << 20;
const PAGE = 128 << 10;
const GLANCE = 4 << 10;
const ROOM = 4 << 20;

/** Whole records; `next` is where to go on. No bytes: nothing is there. */
export type Page = { bytes: Buffer; next: number };

export type Log = ReturnType<typeof openLog>;

/** The log's segments in a directory: appended to at the end, synced once per batch, read from anywhere. */
export const openLog = (dir: string) => {
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  const names = fs
    .readdirSync(dir)
    .filter((name) => name.endsWith('.log'))
    .sort();
  const segments: Segment[] = names.map((name) => openSegment(join(dir, name)));
  if (segments.length === 0) segments.push(createSegment(dir, 0));
  // The last batch stays in memory until the next begins: that is what live subscribers read.
  let pending = Buffer.allocUnsafe(ROOM);
  let start = Number.POSITIVE_INFINITY;
  let used = 0;

  const desk = Buffer.alloc(GLANCE);
  let room: Room | undefined;
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
      if (bytes.length > 0) return { bytes, next: positionBehind(segment, offset + bytes.length) };
      if (offset < recordsEnd(segment)) throw damaged(position);
    }
    return { bytes: Buffer.alloc(0), next: end() };
  };

  /** The records before a position, in the log's order; `next` is the position of the first of them. */
  const pageBefore = (position: number, size = PAGE): Page => {
    for (let at = indexOf(position - 1); at >= 0; at--) {
      const segment = segments[at]!;
      const bytes = readRecordsBefore(segment, offsetOf(segment, position), size);
      if (bytes.length > 0) return { bytes, next: positionAt(bytes, 0) };
    }
    return { bytes: Buffer.alloc(0), next: 0 };
  };

  const pendingRecord = (position: number): Buffer | undefined => {
    const bytes = pending.subarray(Math.min(position - start, used), used);
    return soundAt(bytes, 0, position) ? bytes.subarray(0, sizeAt(bytes, 0)) : undefined;
  };

  const recordBy = (position: number, scratch: Buffer): Buffer | undefined => {
    if (position < 0) return undefined;
    if (position >= start) return pendingRecord(position);
    if (position >= end()) return undefined;
    const segment = segments[indexOf(position)]!;
    const offset = offsetOf(segment, position);
    const left = recordsEnd(segment) - offset;
    if (left < OVERHEAD) return undefined;
    const first = readInto(scratch, segment.file, offset);
    const size = sizeAt(first, 0);
    if (size < OVERHEAD || size > left) return undefined;
    const bytes = size <= first.length ? first : readUpTo(segment.file, offset, size);
    return soundAt(bytes, 0, position) ? bytes.subarray(0, size) : undefined;
  };

  /** The record at a position; nothing where no record begins there. */
  const record = (position: number): Buffer | undefined => recordBy(position, Buffer.allocUnsafe(GLANCE));

  /** The same, in memory that the next glance takes again. */
  const glance = (position: number): Buffer | undefined => recordBy(position, desk);

  /** Closes the last segment and begins another; only while no room is being made. */
  const roll = (): void => {
    const next = createSegment(dir, end());
    room?.trim();
    room = undefined;
    segments.push(next);
    start = Number.POSITIVE_INFINITY;
    used = 0;
  };

  /** Whether scavenging may have taken away what was at a position. */
  const mayBeFreed = (position: number): boolean => segments[indexOf(position)]!.packed !== undefined;

  /** Whether a batch of so many bytes can begin now; if not, `whenFree` tells. */
  const free = (bytes: number): boolean => room === undefined || room.fits(bytes);
  const whenFree = (): Promise<void> => room?.quiet() ?? Promise.resolve();

  /** Where the next batch begins: a new segment where the last is full. */
  const startBatch = (): number => {
    if (last().length >= SEGMENT_SIZE && !room?.busy()) roll();
    if (pending.length > ROOM) pending = Buffer.allocUnsafe(ROOM);
    start = end();
    used = 0;
    return start;
  };

  /** Adds an event to the batch and gives back its position. It can be read at once, by its position. */
  const put = (event: Proposed, stream: Buffer, revision: number, created: number, flags: number): number => {
    const room = roomFor(event, stream.length);
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
      if (diskFull(error)) abandon();
      throw error;
    }
    fs.fdatasyncSync(segment.file);
    segment.length += used;
    room ??= createRoom(segment);
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
  const pendingEnd = (): number => start + used;

  const close = async (): Promise<void> => {
    await room?.stop();
    room?.trim();
    for (const segment of segments) fs.closeSync(segment.file);
  };

  return {
    dir,
    segments,
    roll,
    free,
    whenFree,
    mayBeFreed,
    end,
    page,
    pageBefore,
    record,
    glance,
    startBatch,
    put,
    commit,
    pendingEnd,
    close,
  };
};
