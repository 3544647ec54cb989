import { type Recorded, tokenOf } from '../event.ts';

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
