import { ANY, type AppendRequest, type Outcome, STREAM_EXISTS } from './append-decision.ts';
import { DELETED_METADATA, isDeleted, type StreamMetadata } from './encoding/metadata.ts';
import { viewOf } from './encoding/protobuf.ts';
import type { Stream, StreamCache } from './index/stream-cache.ts';
import { EMPTY_APPEND, idAt, LAST_OF_APPEND, type ProposedEvent, TOMBSTONE_REVISION } from './log/record.ts';
import { type Parts, type PlannedEvent, plannedMetadata, revivalOf, writePlanned } from './planned-events.ts';
import { noEvent, tombstoneEvent } from './system-events.ts';
import { isWithinMaxAge, visibleOf } from './visibility.ts';

const writeEmptyAppend = (parts: Parts, stream: Stream, revival: PlannedEvent | undefined): Outcome => {
  const position = parts.log.addEvent(noEvent(), {
    stream: Buffer.from(stream.name),
    revision: stream.last + 1,
    position: 0,
    created: Date.now(),
    batchStart: 0,
    flags: revival ? EMPTY_APPEND : EMPTY_APPEND | LAST_OF_APPEND,
  });
  if (revival) writePlanned(parts, [revival]);
  return { kind: 'done', revision: stream.last, position };
};

const writeEvents = (parts: Parts, stream: Stream, metadata: StreamMetadata | null, events: ProposedEvent[]): Outcome => {
  const first = stream.last + 1;
  const planned: PlannedEvent[] = events.map((event, i) => ({ stream, event, revision: first + i }));
  const revival = revivalOf(parts.streams, stream, metadata, events);
  if (events.length === 0) return writeEmptyAppend(parts, stream, revival);
  if (revival) planned.push(revival);
  writePlanned(parts, planned);
  const revision = first + events.length - 1;
  return { kind: 'done', revision, position: parts.index.find(stream.key, revision) };
};

const write = (parts: Parts, stream: Stream, metadata: StreamMetadata | null, { kind, events }: AppendRequest): Outcome => {
  if (kind === 'append') return writeEvents(parts, stream, metadata, events);
  const planned =
    kind === 'delete'
      ? plannedMetadata(parts.streams, stream, DELETED_METADATA)
      : { stream, event: tombstoneEvent(), revision: TOMBSTONE_REVISION };
  return { kind: 'done', revision: stream.last, position: writePlanned(parts, [planned]) };
};

const hasIdAt = ({ index, log }: Parts, stream: Stream, revision: number, { id }: ProposedEvent): boolean => {
  const position = index.find(stream.key, revision);
  const record = position === undefined ? undefined : log.viewRecord(position);
  return record?.length ? idAt(record, 0).equals(viewOf(id)) : false;
};

/** `revision` is that of the append's last event. The outcome contains its position if it is still visible. */
const repeatOutcome = ({ index, log }: Parts, stream: Stream, metadata: StreamMetadata | null, revision: number): Outcome => {
  const visible = visibleOf(stream, metadata);
  const position = revision < visible.low ? undefined : index.find(stream.key, revision);
  const record = position === undefined || visible.oldest === 0 ? undefined : log.recordOrFreed(position);
  return { kind: 'done', revision, position: record && !isWithinMaxAge(record, 0, visible) ? undefined : position };
};

/** `$$name` has the metadata of the stream `name`. As in EventStoreDB, it is also tombstoned if it is empty and `name` is tombstoned. */
const isTombstoned = (streams: StreamCache, stream: Stream): boolean =>
  stream.tombstoned || (stream.last < 0 && stream.name.startsWith('$$') && streams.get(stream.name.slice(2)).tombstoned);

const findRecent = (parts: Parts, stream: Stream, event: ProposedEvent): number | undefined => {
  const recent = parts.recent.find(event.id);
  return recent?.stream === stream.key && hasIdAt(parts, stream, recent.revision, event) ? recent.revision : undefined;
};

/** Recognises a repeat by the ids of recent events. */
const decideAtAnyRevision = (parts: Parts, stream: Stream, metadata: StreamMetadata | null, request: AppendRequest): Outcome => {
  const { events } = request;
  let revision = -1;
  for (const [i, event] of events.entries()) {
    const found = findRecent(parts, stream, event);
    if (found === undefined) return i === 0 ? write(parts, stream, metadata, request) : { kind: 'wrong', current: stream.last };
    revision = found;
  }
  return events.length === 0 ? write(parts, stream, metadata, request) : repeatOutcome(parts, stream, metadata, revision);
};

/**
 * Decides about a request whose expected revision is lower than the last one of the stream. If the stream has the same
 * event ids at the same revisions, the request is a repeat; otherwise it is a conflict, except that a deleted stream
 * can be appended to as if it did not exist.
 */
const decideAtPassedRevision = (parts: Parts, stream: Stream, metadata: StreamMetadata | null, request: AppendRequest): Outcome => {
  const { kind, events, expected } = request;
  const from = Number(expected) + 1;
  const mismatch = events.findIndex((event, i) => !hasIdAt(parts, stream, from + i, event));
  if (mismatch === -1 && events.length > 0) return repeatOutcome(parts, stream, metadata, from + events.length - 1);
  const writesSomething = kind !== 'append' || events.length > 0;
  if (writesSomething && mismatch <= 0 && from === 0 && isDeleted(metadata)) return write(parts, stream, metadata, request);
  return { kind: 'wrong', current: stream.last };
};

/**
 * Decides in the order of the log, and adds the events of an accepted request to the batch. Earlier requests count even if they are not on
 * the disk yet. Throws before it adds anything if a record that is needed is damaged.
 */
export const createConcurrencyCheck = (parts: Parts) => {
  const { streams } = parts;
  return (request: AppendRequest): Outcome => {
    const { kind, expected } = request;
    const stream = streams.get(request.stream);
    if (isTombstoned(streams, stream)) return { kind: 'deleted' };
    const metadata = streams.metadata(stream);
    const wrong: Outcome = { kind: 'wrong', current: stream.last };
    if (expected === STREAM_EXISTS && isDeleted(metadata)) return { kind: 'deleted' };
    if (expected === STREAM_EXISTS && stream.last < 0 && metadata === null) return wrong;
    if (kind === 'delete' && stream.last < 0 && metadata === null) return wrong;
    if (expected === ANY || expected === STREAM_EXISTS) return decideAtAnyRevision(parts, stream, metadata, request);
    if (expected < stream.last) return decideAtPassedRevision(parts, stream, metadata, request);
    return expected > stream.last ? wrong : write(parts, stream, metadata, request);
  };
};
