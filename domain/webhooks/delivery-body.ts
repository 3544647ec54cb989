import { streamName } from '../event.ts';

/** Chunks of a body that is too large for one event. The delivery and the body's SHA-256 name their stream. */
export const category = 'deliverybody';

/** The most body bytes in one event. A larger body is split into chunks of this size. */
export const CHUNK_BYTES = 900_000;

/** The largest body that a provider may deliver: 25 MiB. */
export const MAX_BODY_BYTES = 26_214_400;

export type DeliveryBodyEvent = { type: 'DeliveryBodyPart'; data: Uint8Array };

/** The number of chunks of a body of `size` bytes. Empty if the delivery's event holds the whole body. */
export const chunkCount = (size: number): { parts?: number } => (size > CHUNK_BYTES ? { parts: Math.ceil(size / CHUNK_BYTES) } : {});

/** The bytes of one chunk; `part` counts from 0. */
export const chunkAt = (body: Uint8Array, part: number): Uint8Array => body.slice(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES);

export const chunkStream = (tenant: string, delivery_id: string, sha256: string): string =>
  streamName(category, tenant, `${delivery_id}.${sha256}`);
