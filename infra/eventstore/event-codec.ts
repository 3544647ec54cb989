import type { EventData, RecordedEvent } from '@eventstore/db-client';
import { type Metadata, parseStream, type Recorded } from '../../domain/event.ts';
import { LogError, type NewEvent } from './event-log.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const nil = '00000000-0000-0000-0000-000000000000';
const encoder = new TextEncoder();

/** A server takes 1,048,576 bytes of data an append; ours stays below. */
const MAX_DATA = 1_000_000;

/** The client's form of an event. Metadata go as ready bytes: the client would encode their JSON twice. */
const toEventData = ({ id, type, data, meta }: NewEvent): EventData => {
  const metadata = encoder.encode(JSON.stringify(meta));
  return data instanceof Uint8Array
    ? { id, contentType: 'application/octet-stream', type, data, metadata }
    : ({ id, contentType: 'application/json', type, data, metadata } as EventData);
};

const sizeOf = ({ data }: NewEvent): number => (data instanceof Uint8Array ? data.length : Buffer.byteLength(JSON.stringify(data)));

/**
 * Refuses what must never be sent: a server answers it twice and the second answer ends the process.
 * @throws LogError wrong-request, too-large
 */
export const prepared = (events: readonly NewEvent[]): EventData[] => {
  const wrong = (why: string): never => {
    throw new LogError('wrong-request', why);
  };
  if (events.length === 0) wrong('an append of no events');
  for (const event of events) {
    if (event.type === '') wrong('an event without a type');
    if (!uuid.test(event.id) || event.id === nil) wrong(`not an event id: ${JSON.stringify(event.id)}`);
  }
  const bytes =
    events.length === 1 && events[0]!.data instanceof Uint8Array
      ? events[0]!.data.length
      : events.reduce((sum, event) => sum + sizeOf(event), 0);
  if (bytes > MAX_DATA) throw new LogError('too-large', `the change is of ${bytes} bytes, and at most ${MAX_DATA} are taken at once`);
  return events.map(toEventData);
};

/** Our form of a stored event; null for streams of another naming than ours (system streams, strangers). */
export const toRecorded = (event: RecordedEvent): Recorded | null => {
  const place = parseStream(event.streamId);
  const meta = event.metadata as Metadata | undefined;
  if (!place || event.type.startsWith('$') || !meta?.actor || !event.position) return null;
  return {
    type: event.type,
    data: event.data as object,
    event_id: event.id,
    stream: event.streamId,
    category: place.category,
    tenant: place.tenant,
    id: place.id,
    revision: Number(event.revision),
    position: event.position,
    at: meta.at,
    actor: meta.actor,
    meta,
  };
};
