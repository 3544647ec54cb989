import { isDeleted, type StreamMetadata, truncatedBefore } from './encoding/metadata.ts';
import { type Span, viewOf } from './encoding/protobuf.ts';
import type { RecentIds } from './index/recent-ids.ts';
import type { Stream, StreamCache } from './index/stream-cache.ts';
import type { Index } from './index/stream-index.ts';
import type { Log } from './log/log.ts';
import { JSON_DATA, LAST_OF_APPEND, LINK, type ProposedEvent, TOMBSTONE, TOMBSTONE_REVISION } from './log/record.ts';
import { metadataEvent } from './system-events.ts';

export type Parts = { log: Log; index: Index; streams: StreamCache; recent: RecentIds; markAppended: (stream: string) => void };

/** `revision` is the one that the event will get. */
export type PlannedEvent = { stream: Stream; event: ProposedEvent; revision: number };

const EMPTY_NAME = Buffer.alloc(0);

const isLink = ({ bytes, at, length }: Span): boolean => length === 2 && bytes[at] === 0x24 && bytes[at + 1] === 0x3e;

const flagsOf = ({ event, revision }: PlannedEvent, isLast: boolean): number =>
  (isLast ? LAST_OF_APPEND : 0) |
  (event.json ? JSON_DATA : 0) |
  (isLink(event.type) ? LINK : 0) |
  (revision === TOMBSTONE_REVISION ? TOMBSTONE : 0);

/** Returns the position of the last event. */
export const writePlanned = ({ log, index, streams, recent, markAppended }: Parts, planned: PlannedEvent[]): number => {
  const created = Date.now();
  let position = -1;
  let last: Stream | undefined;
  let name = EMPTY_NAME;
  for (const [i, each] of planned.entries()) {
    const { stream, event, revision } = each;
    if (stream !== last) {
      last = stream;
      name = Buffer.from(stream.name);
      if (stream.name.startsWith('$$')) streams.forgetMetadata(stream.name.slice(2));
      markAppended(stream.name);
    }
    const flags = flagsOf(each, i === planned.length - 1);
    position = log.addEvent(event, { stream: name, revision, position: 0, created, batchStart: 0, flags });
    index.put(stream.key, revision, position);
    if (revision === TOMBSTONE_REVISION) stream.tombstoned = true;
    else stream.last = revision;
    recent.add(event.id, stream.key, revision);
  }
  return position;
};

/** `ahead` is the number of events that the same append writes to the metadata stream before this one. */
export const plannedMetadata = (streams: StreamCache, { name }: Stream, text: string, ahead = 0): PlannedEvent => {
  const stream = streams.get(`$$${name}`);
  return { stream, event: metadataEvent(text), revision: stream.last + 1 + ahead };
};

/**
 * Undefined unless the append makes a soft-deleted stream visible again. An append to its metadata stream does so, too: as in EventStoreDB,
 * the new metadata are then written a second time, with the revision at which the stream continues.
 */
export const revivalOf = (
  streams: StreamCache,
  stream: Stream,
  metadata: StreamMetadata | null,
  events: ProposedEvent[],
): PlannedEvent | undefined => {
  if (isDeleted(metadata)) return plannedMetadata(streams, stream, truncatedBefore(metadata, stream.last + 1));
  if (!stream.name.startsWith('$$') || events.length === 0) return undefined;
  const original = streams.get(stream.name.slice(2));
  if (original.tombstoned || !isDeleted(streams.metadata(original))) return undefined;
  const raw = viewOf(events.at(-1)!.data).toString();
  const text = truncatedBefore({ truncateBefore: 0, maxCount: 0, maxAgeMs: 0, raw }, original.last + 1);
  return plannedMetadata(streams, original, text, events.length);
};
