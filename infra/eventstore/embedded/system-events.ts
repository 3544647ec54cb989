import { randomUUID } from 'node:crypto';
import type { Proposed } from './record.ts';

const nothing = Buffer.alloc(0);
const metadataType = Buffer.from('$metadata');
const tombstoneType = Buffer.from('$streamDeleted');

/** What the store itself writes into a metadata stream. */
export const metadataEvent = (text: string): Proposed => ({
  id: Buffer.from(randomUUID()),
  type: metadataType,
  json: true,
  data: Buffer.from(text),
  custom: nothing,
});

/** The last event that a tombstoned stream ever has. */
export const tombstoneEvent = (): Proposed => ({
  id: Buffer.from(randomUUID()),
  type: tombstoneType,
  json: false,
  data: nothing,
  custom: nothing,
});

/** What stands in the log for an append of nothing. */
export const noEvent = (): Proposed => ({ id: Buffer.from(randomUUID()), type: nothing, json: false, data: nothing, custom: nothing });
