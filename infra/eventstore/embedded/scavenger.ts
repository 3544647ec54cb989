import * as fs from 'node:fs';
import { damaged } from './corruption.ts';
import type { Log } from './log.ts';
import { flagsAt, NOTHING, nameAt, positionAt, revisionAt, sizeAt, soundAt, TOMBSTONE } from './record.ts';
import { readRecords, recordsEnd, replaceSegment, SEGMENT_HEAD, type Segment, writePacked } from './segment.ts';
import type { Streams } from './stream-cache.ts';
import type { Index } from './stream-index.ts';
import { visibleOf, youngEnough } from './visibility.ts';

const WINDOW = 1 << 20;

type Parts = { log: Log; index: Index; streams: Streams };
export type Scavenged = { events: number; bytes: number };

/** What a reader may see, and a stream's last event, because its revision goes on from there; of a tombstoned one only the tombstone. */
const isKept = ({ streams }: Parts, bytes: Buffer, at: number): boolean => {
  if (flagsAt(bytes, at) & (NOTHING | TOMBSTONE)) return true;
  const stream = streams.get(nameAt(bytes, at).toString());
  if (stream.tombstoned) return false;
  if (revisionAt(bytes, at) === stream.last) return true;
  const visible = visibleOf(stream, streams.metadata(stream));
  return revisionAt(bytes, at) >= visible.low && youngEnough(bytes, at, visible);
};

const stays = (parts: Parts, bytes: Buffer, at: number): boolean =>
  isKept(parts, bytes, at) || parts.index.isWrittenLast(parts.streams.get(nameAt(bytes, at).toString()).key, revisionAt(bytes, at));

const aside = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const eachWindow = async function* (segment: Segment): AsyncGenerator<Buffer> {
  for (let at = SEGMENT_HEAD; at < recordsEnd(segment); ) {
    const bytes = readRecords(segment, at, WINDOW);
    // What is not what was written is not copied, and not taken for something that can be freed.
    for (let offset = 0; offset < bytes.length; offset += sizeAt(bytes, offset)) {
      const position = segment.packed ? positionAt(bytes, offset) : segment.base + at + offset;
      if (!soundAt(bytes, offset, position)) throw damaged(position);
    }
    if (bytes.length === 0) throw damaged(segment.base + at);
    yield bytes;
    at += bytes.length;
    await aside();
  }
};

const kept = async function* (parts: Parts, segment: Segment, count: Scavenged): AsyncGenerator<Buffer> {
  for await (const bytes of eachWindow(segment)) {
    for (let at = 0; at < bytes.length; at += sizeAt(bytes, at)) {
      if (stays(parts, bytes, at)) yield bytes.subarray(at, at + sizeAt(bytes, at));
      else count.events++;
    }
  }
};

const frees = async (parts: Parts, segment: Segment): Promise<boolean> => {
  for await (const bytes of eachWindow(segment)) {
    for (let at = 0; at < bytes.length; at += sizeAt(bytes, at)) if (!stays(parts, bytes, at)) return true;
  }
  return false;
};

/** Rewrites the segments in which something can be freed, without it; every position stays what it was. Reads and appends go on meanwhile. */
export const scavenge = async (parts: Parts): Promise<Scavenged> => {
  const { log } = parts;
  const freed: Scavenged = { events: 0, bytes: 0 };
  const last = log.segments.at(-1)!;
  if (await frees(parts, last)) {
    while (!log.free(Number.POSITIVE_INFINITY)) await log.whenFree();
    log.roll();
  }
  for (const segment of log.segments.slice(0, -1)) {
    if (!(await frees(parts, segment))) continue;
    const before = fs.fstatSync(segment.file).size;
    const path = `${segment.path}.next`;
    await writePacked(path, segment, kept(parts, segment, freed));
    replaceSegment(segment, path);
    freed.bytes += before - fs.fstatSync(segment.file).size;
  }
  return freed;
};
