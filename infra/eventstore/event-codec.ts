import type { EventData, RecordedEvent } from '@eventstore/db-client';
import { type Metadata, parseStream, type Recorded } from '../../domain/event.ts';
import { LogError, type NewEvent } from './event-log.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NIL_UUID = '00000000-0000-0000-0000-000000000000';
const encoder = new TextEncoder();

/** In one append. Slightly less than the server's limit of 1,048,576 bytes. */
const MAX_DATA_BYTES = 1_000_000;

/** Metadata is passed as encoded bytes, because the client would encode a JSON value twice. */
const toEventData = ({ id, type, data, meta }: NewEvent): EventData => {
  const metadata = encoder.encode(JSON.stringify(meta));
  return data instanceof Uint8Array
    ? { id, contentType: 'application/octet-stream', type, data, metadata }
    : ({ id, contentType: 'application/json', type, data, metadata } as EventData);
};

const sizeOf = ({ data }: NewEvent): number => (data instanceof Uint8Array ? data.length : Buffer.byteLength(JSON.stringify(data)));

/**
 * Invalid events must not be sent: EventStoreDB answers them twice, and the second answer crashes the client's process.
 * @throws LogError wrong-request, too-large
 */
export const encodeEvents = (events: readonly NewEvent[]): EventData[] => {
  const reject = (reason: string): never => {
    throw new LogError('wrong-request', reason);
  };
  if (events.length === 0) reject('an append needs at least one event');
  for (const event of events) {
    if (event.type === '') reject('an event needs a type');
    if (!UUID.test(event.id) || event.id === NIL_UUID) reject(`an event id must be a UUID: ${JSON.stringify(event.id)}`);
  }
  const bytes =
    events.length === 1 && events[0]!.data instanceof Uint8Array
      ? events[0]!.data.length
      : events.reduce((sum, event) => sum + sizeOf(event), 0);
  if (bytes > MAX_DATA_BYTES) throw new LogError('too-large', `the events are ${bytes} bytes; one append takes at most ${MAX_DATA_BYTES}`);
  return events.map(toEventData);
};

/** Null for system events and for events that the platform did not write. */
export const toRecorded = (event: RecordedEvent): Recorded | null => {
  const name = parseStream(event.streamId);
  const meta = event.metadata as Metadata | undefined;
  if (!name || event.type.startsWith('$') || !meta?.actor || !event.position) return null;
  return {
    type: event.type,
    data: event.data as object,
    event_id: event.id,
    stream: event.streamId,
    category: name.category,
    tenant: name.tenant,
    id: name.id,
    revision: Number(event.revision),
    position: event.position,
    at: meta.at,
    actor: meta.actor,
    meta,
  };
};
