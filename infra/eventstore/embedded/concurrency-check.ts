import type { Log } from './log.ts';
import { DELETED_METADATA, isDeleted, type StreamMetadata, truncatedBefore } from './metadata.ts';
import { type Span, viewOf, type Wide } from './protobuf.ts';
import type { RecentIds } from './recent-ids.ts';
import { EMPTY_APPEND, idAt, JSON_DATA, LAST_OF_APPEND, LINK, type ProposedEvent, TOMBSTONE, TOMBSTONE_REVISION } from './record.ts';
import type { Stream, StreamCache } from './stream-cache.ts';
import type { Index } from './stream-index.ts';
import { metadataEvent, noEvent, tombstoneEvent } from './system-events.ts';
import { isWithinMaxAge, visibleOf } from './visibility.ts';

export const NO_STREAM = -1;
export const ANY = -2;
export const STREAM_EXISTS = -4;

/** A request to write. `expected` is a revision or one of the three above. */
export type AppendRequest = { kind: 'append' | 'delete' | 'tombstone'; stream: string; expected: Wide; events: ProposedEvent[] };

/** `position` is absent where a repeat was recognised on a stream deleted since. */
export type Outcome =
  | { kind: 'done'; revision: number; position: number | undefined }
  | { kind: 'wrong'; current: number }
  | { kind: 'deleted' }
  | { kind: 'failed'; reason: string }
  /** What it has to know of the stream lies in a record that is harmed. */
  | { kind: 'damaged'; reason: string };

type PlannedEvent = { stream: Stream; event: ProposedEvent; revision: number };
type Parts = { log: Log; index: Index; streams: StreamCache; recent: RecentIds; touch: (stream: string) => void };

const NAMELESS = Buffer.alloc(0);

const isLink = ({ bytes, at, length }: Span): boolean => length === 2 && bytes[at] === 0x24 && bytes[at + 1] === 0x3e;

/** Decides writes one by one in the order of the log, each on top of those before it, and adds what they write to the log's batch. */
export const createConcurrencyCheck = ({ log, index, streams, recent, touch }: Parts) => {
  const put = (planned: PlannedEvent[]): number => {
    const created = Date.now();
    let position = -1;
    let last: Stream | undefined;
    let name = NAMELESS;
    for (const [i, { stream, event, revision }] of planned.entries()) {
      if (stream !== last) {
        last = stream;
        name = Buffer.from(stream.name);
        if (stream.name.startsWith('$$')) streams.forgetMetadata(stream.name.slice(2));
        touch(stream.name);
      }
      const flags =
        (i === planned.length - 1 ? LAST_OF_APPEND : 0) |
        (event.json ? JSON_DATA : 0) |
        (isLink(event.type) ? LINK : 0) |
        (revision === TOMBSTONE_REVISION ? TOMBSTONE : 0);
      position = log.put(event, name, revision, created, flags);
      index.put(stream.key, revision, position);
      if (revision === TOMBSTONE_REVISION) stream.tombstoned = true;
      else stream.last = revision;
      recent.add(event.id, stream.key, revision);
    }
    return position;
  };

  const plannedMetadata = (of: Stream, text: string, ahead = 0): PlannedEvent => {
    const stream = streams.get(`$$${of.name}`);
    return { stream, event: metadataEvent(text), revision: stream.last + 1 + ahead };
  };

  /** Metadata written to a deleted stream revives it, as an append does: the real node writes the same metadata again, with where the stream begins anew. */
  const revivals = (stream: Stream, metadata: StreamMetadata | null, events: ProposedEvent[]): PlannedEvent[] => {
    if (isDeleted(metadata)) return [plannedMetadata(stream, truncatedBefore(metadata, stream.last + 1))];
    if (!stream.name.startsWith('$$') || events.length === 0) return [];
    const original = streams.get(stream.name.slice(2));
    if (original.tombstoned || !isDeleted(streams.metadata(original))) return [];
    const written = viewOf(events.at(-1)!.data).toString();
    return [
      plannedMetadata(
        original,
        truncatedBefore({ truncateBefore: 0, maxCount: 0, maxAgeMs: 0, raw: written }, original.last + 1),
        events.length,
      ),
    ];
  };

  const appendNothing = (stream: Stream, extra: PlannedEvent[]): Outcome => {
    const position = log.put(
      noEvent(),
      Buffer.from(stream.name),
      stream.last + 1,
      Date.now(),
      extra.length === 0 ? EMPTY_APPEND | LAST_OF_APPEND : EMPTY_APPEND,
    );
    if (extra.length > 0) put(extra);
    return { kind: 'done', revision: stream.last, position };
  };

  const append = (stream: Stream, metadata: StreamMetadata | null, events: ProposedEvent[]): Outcome => {
    const first = stream.last + 1;
    const planned = events.map((event, i) => ({ stream, event, revision: first + i }));
    const extra = revivals(stream, metadata, events);
    if (events.length === 0) return appendNothing(stream, extra);
    put(extra.length > 0 ? [...planned, ...extra] : planned);
    return { kind: 'done', revision: first + events.length - 1, position: index.find(stream.key, first + events.length - 1) };
  };

  const write = (kind: AppendRequest['kind'], stream: Stream, metadata: StreamMetadata | null, events: ProposedEvent[]): Outcome => {
    if (kind === 'append') return append(stream, metadata, events);
    const piece =
      kind === 'delete' ? plannedMetadata(stream, DELETED_METADATA) : { stream, event: tombstoneEvent(), revision: TOMBSTONE_REVISION };
    return { kind: 'done', revision: stream.last, position: put([piece]) };
  };

  const hasId = (stream: Stream, revision: number, event: ProposedEvent): boolean => {
    const position = index.find(stream.key, revision);
    const record = position === undefined ? undefined : log.viewRecord(position);
    return record?.length ? idAt(record, 0).equals(viewOf(event.id)) : false;
  };

  /** A repeat's position is that of an event that can still be seen, or none. */
  const already = (stream: Stream, metadata: StreamMetadata | null, revision: number): Outcome => {
    const visible = visibleOf(stream, metadata);
    const position = revision < visible.low ? undefined : index.find(stream.key, revision);
    const record = position === undefined || visible.oldest === 0 ? undefined : log.recordOrFreed(position);
    return { kind: 'done', revision, position: record && !isWithinMaxAge(record, 0, visible) ? undefined : position };
  };

  /** The metadata stream of a tombstoned stream goes with it, unless it has been written to before: so it is on a real node. */
  const isGone = (stream: Stream): boolean =>
    stream.tombstoned || (stream.last < 0 && stream.name.startsWith('$$') && streams.get(stream.name.slice(2)).tombstoned);

  const seenIn = (stream: Stream, event: ProposedEvent): number | undefined => {
    const seen = recent.find(event.id);
    return seen?.stream === stream.key && hasId(stream, seen.revision, event) ? seen.revision : undefined;
  };

  /** Where no revision is named, a repeat is known by the ids seen lately. */
  const anyRevision = (stream: Stream, metadata: StreamMetadata | null, { kind, events }: AppendRequest): Outcome => {
    let revision = -1;
    for (const [i, event] of events.entries()) {
      const seen = seenIn(stream, event);
      if (seen === undefined) return i === 0 ? write(kind, stream, metadata, events) : { kind: 'wrong', current: stream.last };
      revision = seen;
    }
    return events.length === 0 ? write(kind, stream, metadata, events) : already(stream, metadata, revision);
  };

  /** At a revision that the stream has passed: the same ids in the same places are a repeat. */
  const passedRevision = (stream: Stream, metadata: StreamMetadata | null, { kind, events, expected }: AppendRequest): Outcome => {
    const from = Number(expected) + 1;
    const matching = events.findIndex((event, i) => !hasId(stream, from + i, event));
    if (matching === -1 && events.length > 0) return already(stream, metadata, from + events.length - 1);
    const something = kind !== 'append' || events.length > 0;
    if (something && matching <= 0 && from === 0 && isDeleted(metadata)) return write(kind, stream, metadata, events);
    return { kind: 'wrong', current: stream.last };
  };

  return (request: AppendRequest): Outcome => {
    const { kind, expected, events } = request;
    const stream = streams.get(request.stream);
    if (isGone(stream)) return { kind: 'deleted' };
    const metadata = streams.metadata(stream);
    const wrong: Outcome = { kind: 'wrong', current: stream.last };
    if (expected === STREAM_EXISTS && isDeleted(metadata)) return { kind: 'deleted' };
    if (expected === STREAM_EXISTS && stream.last < 0 && metadata === null) return wrong;
    if (kind === 'delete' && stream.last < 0 && metadata === null) return wrong;
    if (expected === ANY || expected === STREAM_EXISTS) return anyRevision(stream, metadata, request);
    if (expected < stream.last) return passedRevision(stream, metadata, request);
    return expected > stream.last ? wrong : write(kind, stream, metadata, events);
  };
};
