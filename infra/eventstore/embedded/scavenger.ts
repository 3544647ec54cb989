import * as fs from 'node:fs';
import type { StreamCache } from './index/stream-cache.ts';
import type { Index } from './index/stream-index.ts';
import { damageError } from './log/corruption.ts';
import type { Log } from './log/log.ts';
import { EMPTY_APPEND, flagsAt, isIntactAt, nameAt, positionAt, revisionAt, sizeAt, TOMBSTONE } from './log/record.ts';
import { readRecords, recordsEnd, replaceSegment, SEGMENT_HEADER_BYTES, type Segment, writePacked } from './log/segment.ts';
import { isWithinMaxAge, visibleOf } from './visibility.ts';

const WINDOW_BYTES = 1 << 20;

type Parts = { log: Log; index: Index; streams: StreamCache };
export type Scavenged = { events: number; bytes: number };

/**
 * True if readers can see it, or it is the stream's last one, from which revisions continue. In a tombstoned stream, only the tombstone is needed.
 */
const isNeeded = ({ streams }: Parts, bytes: Buffer, at: number): boolean => {
  if (flagsAt(bytes, at) & (EMPTY_APPEND | TOMBSTONE)) return true;
  const stream = streams.get(nameAt(bytes, at).toString());
  if (stream.tombstoned) return false;
  if (revisionAt(bytes, at) === stream.last) return true;
  const visible = visibleOf(stream, streams.metadata(stream));
  return revisionAt(bytes, at) >= visible.low && isWithinMaxAge(bytes, at, visible);
};

/** True by `isNeeded`, or if the index on disk lists it as its stream's last event, from which it takes the stream's name. */
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

/** Counts the removed records in `freed`. */
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

/** Rewrites segments without their removable events. Positions do not change; reads and appends continue meanwhile. */
export const scavenge = async (parts: Parts): Promise<Scavenged> => {
  const { log, index } = parts;
  const freed: Scavenged = { events: 0, bytes: 0 };
  // Flush first, or the index on disk would list the event before a new tombstone as the last one and keep it.
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
