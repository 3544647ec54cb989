import * as fs from 'node:fs';
import { damageError } from './corruption.ts';
import type { Log } from './log.ts';
import { EMPTY_APPEND, flagsAt, isIntactAt, nameAt, positionAt, revisionAt, sizeAt, TOMBSTONE } from './record.ts';
import { readRecords, recordsEnd, replaceSegment, SEGMENT_HEADER_BYTES, type Segment, writePacked } from './segment.ts';
import type { StreamCache } from './stream-cache.ts';
import type { Index } from './stream-index.ts';
import { isWithinMaxAge, visibleOf } from './visibility.ts';

const WINDOW_BYTES = 1 << 20;

type Parts = { log: Log; index: Index; streams: StreamCache };
export type Scavenged = { events: number; bytes: number };

/**
 * Returns whether the event must be kept: readers can see it, or it is the last event of its stream, from which
 * revisions continue. Of a tombstoned stream, only the tombstone must be kept.
 */
const isNeeded = ({ streams }: Parts, bytes: Buffer, at: number): boolean => {
  if (flagsAt(bytes, at) & (EMPTY_APPEND | TOMBSTONE)) return true;
  const stream = streams.get(nameAt(bytes, at).toString());
  if (stream.tombstoned) return false;
  if (revisionAt(bytes, at) === stream.last) return true;
  const visible = visibleOf(stream, streams.metadata(stream));
  return revisionAt(bytes, at) >= visible.low && isWithinMaxAge(bytes, at, visible);
};

/**
 * Returns whether a record must be kept: because of `isNeeded`, or because the index on disk lists it as the last event
 * of its stream. From that event, the index takes the name of the stream.
 */
const mustKeep = (parts: Parts, bytes: Buffer, at: number): boolean =>
  isNeeded(parts, bytes, at) || parts.index.isPersistedLast(parts.streams.get(nameAt(bytes, at).toString()).key, revisionAt(bytes, at));

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const eachWindow = async function* (segment: Segment): AsyncGenerator<Buffer> {
  for (let at = SEGMENT_HEADER_BYTES; at < recordsEnd(segment); ) {
    const bytes = readRecords(segment, at, WINDOW_BYTES);
    // A damaged record must be neither copied nor removed.
    for (let offset = 0; offset < bytes.length; offset += sizeAt(bytes, offset)) {
      const position = segment.packed ? positionAt(bytes, offset) : segment.base + at + offset;
      if (!isIntactAt(bytes, offset, position)) throw damageError(position);
    }
    if (bytes.length === 0) throw damageError(segment.base + at);
    yield bytes;
    at += bytes.length;
    await nextTurn();
  }
};

/** Yields the segment's records that must be kept. Counts the removed ones in `freed`. */
const keptRecords = async function* (parts: Parts, segment: Segment, freed: Scavenged): AsyncGenerator<Buffer> {
  for await (const bytes of eachWindow(segment)) {
    for (let at = 0; at < bytes.length; at += sizeAt(bytes, at)) {
      if (mustKeep(parts, bytes, at)) yield bytes.subarray(at, at + sizeAt(bytes, at));
      else freed.events++;
    }
  }
};

const hasFreeable = async (parts: Parts, segment: Segment): Promise<boolean> => {
  for await (const bytes of eachWindow(segment)) {
    for (let at = 0; at < bytes.length; at += sizeAt(bytes, at)) if (!mustKeep(parts, bytes, at)) return true;
  }
  return false;
};

/**
 * Rewrites every segment that contains removable events, without these events. Positions do not change. Reads and
 * appends continue meanwhile.
 */
export const scavenge = async (parts: Parts): Promise<Scavenged> => {
  const { log, index } = parts;
  const freed: Scavenged = { events: 0, bytes: 0 };
  // Flush the index first. Otherwise, the index on disk would still list an earlier event as the last one of a stream
  // that was just tombstoned, and that event would be kept.
  await index.flush(log.end());
  const last = log.segments.at(-1)!;
  if (await hasFreeable(parts, last)) {
    while (!log.canStartBatch(Number.POSITIVE_INFINITY)) await log.whenWritable();
    log.startSegment();
  }
  for (const segment of log.segments.slice(0, -1)) {
    if (!(await hasFreeable(parts, segment))) continue;
    const before = fs.fstatSync(segment.file).size;
    const path = `${segment.path}.next`;
    await writePacked(path, segment, keptRecords(parts, segment, freed));
    replaceSegment(segment, path);
    freed.bytes += before - fs.fstatSync(segment.file).size;
  }
  return freed;
};
