import { streamName } from '../event.ts';

/** The parts of a body that is too large for its delivery's event: a stream of its own, named by the delivery and the body's SHA-256. */
export const category = 'deliverybody';

/** So many bytes an event holds at most: all of a body, or a part of it. */
export const PART_BYTES = 900_000;

/** So many bytes a provider may deliver: 25 MiB. */
export const MOST_BYTES = 26_214_400;

export type DeliveryBodyEvent = { type: 'DeliveryBodyPart'; data: Uint8Array };

/** In how many parts a body of `size` bytes is kept; none where its delivery's event holds it. */
export const partsOf = (size: number): { parts?: number } => (size > PART_BYTES ? { parts: Math.ceil(size / PART_BYTES) } : {});

/** The bytes of one part, counted from 0. */
export const partOf = (body: Uint8Array, part: number): Uint8Array => body.slice(part * PART_BYTES, (part + 1) * PART_BYTES);

export const partsStream = (tenant: string, delivery_id: string, sha256: string): string =>
  streamName(category, tenant, `${delivery_id}.${sha256}`);
