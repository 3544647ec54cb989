import { streamName } from '../event.ts';
import type { ReceivedBody } from './conventions/received-body.ts';

/**
 * The bodies that are too large for one event. Each stream contains the chunks of one body. The name of the stream
 * contains the delivery id and the SHA-256 of the body.
 */
export const category = 'deliverybody';

/** The size of a chunk, in bytes. One event contains at most one chunk, so a larger body is split into chunks. */
export const CHUNK_BYTES = 900_000;

/** The maximum size of the body of a delivery: 25 MiB. */
export const MAX_BODY_BYTES = 26_214_400;

/**
 * Returns these bytes as a body. If they are too many for one event, the body is divided into chunks, which share the
 * memory of `bytes`.
 */
export const receivedBody = (bytes: Uint8Array): ReceivedBody => {
  if (bytes.length <= CHUNK_BYTES) return bytes;
  const count = Math.ceil(bytes.length / CHUNK_BYTES);
  return { length: bytes.length, chunks: Array.from({ length: count }, (_, part) => chunkAt(bytes, part)) };
};

/** The data of the event are a chunk of the body. The log contains them encrypted (see sealed-data.ts). */
export type DeliveryBodyEvent = { type: 'DeliveryBodyPart'; data: Uint8Array };

/**
 * Returns the field `parts` (the number of chunks) for a delivery with a body of `size` bytes; an empty object if the
 * event of the delivery contains the whole body.
 */
export const partsField = (size: number): { parts?: number } => (size > CHUNK_BYTES ? { parts: Math.ceil(size / CHUNK_BYTES) } : {});

/** Returns one chunk of a body. `part` is the number of the chunk, from 0. */
export const chunkAt = (body: ReceivedBody, part: number): Uint8Array =>
  body instanceof Uint8Array ? body.subarray(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES) : body.chunks[part]!;

export const chunksId = (delivery_id: string, sha256: string): string => `${delivery_id}.${sha256}`;

export const chunkStream = (tenant: string, delivery_id: string, sha256: string): string =>
  streamName(category, tenant, chunksId(delivery_id, sha256));
