import { streamName } from '../event.ts';
import type { ReceivedBody } from './received-body.ts';

/** Bodies that are too large for one event; one stream each, named by the delivery id and the SHA-256 of the body. */
export const category = 'deliverybody';

/** One event contains at most one chunk, so a larger body is split. */
export const CHUNK_BYTES = 900_000;

/** 25 MiB. */
export const MAX_BODY_BYTES = 26_214_400;

/** Divides a body that is too large for one event into chunks, which share the memory of `bytes`. */
export const receivedBody = (bytes: Uint8Array): ReceivedBody => {
  if (bytes.length <= CHUNK_BYTES) return bytes;
  const count = Math.ceil(bytes.length / CHUNK_BYTES);
  return { length: bytes.length, chunks: Array.from({ length: count }, (_, part) => chunkAt(bytes, part)) };
};

/** The data are a chunk of the body, encrypted in the log (see sealed-data.ts). */
export type DeliveryBodyEvent = { type: 'DeliveryBodyPart'; data: Uint8Array };

/** `parts`: the number of chunks; absent if the event of the delivery contains the whole body. */
export const partsField = (size: number): { parts?: number } => (size > CHUNK_BYTES ? { parts: Math.ceil(size / CHUNK_BYTES) } : {});

/** `part` counts from 0. */
export const chunkAt = (body: ReceivedBody, part: number): Uint8Array =>
  body instanceof Uint8Array ? body.subarray(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES) : body.chunks[part]!;

export const chunksId = (delivery_id: string, sha256: string): string => `${delivery_id}.${sha256}`;

export const chunkStream = (tenant: string, delivery_id: string, sha256: string): string =>
  streamName(category, tenant, chunksId(delivery_id, sha256));
