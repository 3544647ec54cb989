import { streamName } from '../event.ts';

/**
 * Streams of bodies that are too large for one event. Each stream holds one body in chunks, and is named by the
 * delivery and the SHA-256 of the body.
 */
export const category = 'deliverybody';

/** The largest part of a body, in bytes, that one event holds. A larger body is split into chunks of this size. */
export const CHUNK_BYTES = 900_000;

/** The largest body that a provider may deliver: 25 MiB. */
export const MAX_BODY_BYTES = 26_214_400;

export type DeliveryBodyEvent = { type: 'DeliveryBodyPart'; data: Uint8Array };

/**
 * The field `parts` of a delivery: the number of chunks of a body of `size` bytes. Omitted if the event of the delivery
 * holds the complete body.
 */
export const chunkCount = (size: number): { parts?: number } => (size > CHUNK_BYTES ? { parts: Math.ceil(size / CHUNK_BYTES) } : {});

/** The bytes of one chunk of a body. `part` is the number of the chunk, starting at 0. */
export const chunkAt = (body: Uint8Array, part: number): Uint8Array => body.slice(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES);

export const chunkStream = (tenant: string, delivery_id: string, sha256: string): string =>
  streamName(category, tenant, `${delivery_id}.${sha256}`);
