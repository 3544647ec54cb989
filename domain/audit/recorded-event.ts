import { type Recorded, tokenOf } from '../event.ts';
import { type Hash, leafHash } from './merkle-tree.ts';

/**
 * An event in the form in which auditors read it: exactly what the log stores. Data that are bytes, such as encrypted
 * contents, are shown as base64.
 */
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

/**
 * Returns the JSON text of an event, without whitespace and with its fields in a fixed order. The hashes in audit
 * proofs are those of this text, so its form must never change.
 */
export const recordedEventText = (event: Recorded): string => JSON.stringify(recordedEventOf(event));

/** Stands for data that were bytes. It is recognised by its identity: a stored event can have empty data of its own. */
const DROPPED = new Uint8Array(0);

/**
 * Returns the hash of the event's leaf in the audit tree. It covers everything that the log stores of the event.
 * @throws Error if the bytes of the event were dropped without their hash
 */
export const leafOf = (event: Recorded): Hash => {
  if (event.leaf !== undefined) return event.leaf;
  if (event.data === DROPPED) throw new Error(`the bytes of the event ${event.event_id} were dropped before they were hashed`);
  return leafHash(recordedEventText(event));
};

/**
 * Returns the event without the bytes of its data (such as the body of a delivery), but with the hash of its leaf. While
 * thousands of events are queued, the bytes would take much memory. With `isHashed: false`, the hash is not computed;
 * such an event has no leaf.
 */
export const withoutBytes = (event: Recorded, isHashed = true): Recorded =>
  event.data instanceof Uint8Array && event.data !== DROPPED
    ? { ...event, data: DROPPED, ...(isHashed && { leaf: leafOf(event) }) }
    : event;
