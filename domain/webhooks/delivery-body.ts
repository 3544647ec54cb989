import { streamName } from '../event.ts';

/** The parts of a body that is too large for its delivery's event: a stream of its own, named by the delivery and the body's SHA-256. */
export const category = 'deliverybody';

/** So many bytes an event holds at most: all of a body, or a part of it. */
export const CHUNK_BYTES = 900_000;

/** So many bytes a provider may deliver: 25 MiB. */
export const MAX_BODY_BYTES = 26_214_400;

export type DeliveryBodyEvent = { type: 'DeliveryBodyPart'; data: Uint8Array };

/** In how many parts a body of `size` bytes is kept; none where its delivery's event holds it. */
export const chunkCount = (size: number): { parts?: number } => (size > CHUNK_BYTES ? { parts: Math.ceil(size / CHUNK_BYTES) } : {});

/** The bytes of one part, counted from 0. */
export const chunkAt = (body: Uint8Array, part: number): Uint8Array => body.slice(part * CHUNK_BYTES, (part + 1) * CHUNK_BYTES);

export const chunkStream = (tenant: string, delivery_id: string, sha256: string): string =>
  streamName(category, tenant, `${delivery_id}.${sha256}`);
