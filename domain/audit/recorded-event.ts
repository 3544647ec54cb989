import { type Recorded, tokenOf } from '../event.ts';
import { type Hash, leafHash } from './merkle-tree.ts';

/** Exactly what the log stores, as auditors read it. Data that are bytes are shown as base64. */
export type RecordedEvent = {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
  readonly type: string;
  readonly at: string;
  readonly data: unknown;
  readonly metadata: unknown;
};

export const recordedEventOf = ({ event_id, stream, revision, position, type, at, data, meta }: Recorded): RecordedEvent => ({
  id: event_id,
  stream,
  revision,
  position: tokenOf(position),
  type,
  at,
  data: data instanceof Uint8Array ? Buffer.from(data.buffer, data.byteOffset, data.length).toString('base64') : data,
  metadata: meta,
});

/** No whitespace, fields in a fixed order. Audit proofs hash this text, so its form must never change. */
export const recordedEventText = (event: Recorded): string => JSON.stringify(recordedEventOf(event));

/** Recognised by its identity: a stored event can have empty data of its own. */
const DROPPED = new Uint8Array(0);

/** Covers everything that the log stores of the event. @throws Error if its bytes were dropped without their hash */
export const leafOf = (event: Recorded): Hash => {
  if (event.leaf !== undefined) return event.leaf;
  if (event.data === DROPPED) throw new Error(`the bytes of the event ${event.event_id} were dropped before they were hashed`);
  return leafHash(recordedEventText(event));
};

/**
 * Drops the bytes of the data (such as a body), which would take much memory while thousands of events are queued, but keeps the hash of
 * the leaf. With `isHashed: false`, the event has no leaf.
 */
export const withoutBytes = (event: Recorded, isHashed = true): Recorded =>
  event.data instanceof Uint8Array && event.data !== DROPPED
    ? { ...event, data: DROPPED, ...(isHashed && { leaf: leafOf(event) }) }
    : event;
