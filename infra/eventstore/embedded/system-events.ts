import { randomUUID } from 'node:crypto';
import { type Span, spanOf } from './protobuf.ts';
import type { ProposedEvent } from './record.ts';

const spanned = (text: string): Span => spanOf(Buffer.from(text));
const nothing = spanned('');
const metadataType = spanned('$metadata');
const tombstoneType = spanned('$streamDeleted');

/** What the store itself writes into a metadata stream. */
export const metadataEvent = (text: string): ProposedEvent => ({
  id: spanned(randomUUID()),
  type: metadataType,
  json: true,
  data: spanned(text),
  custom: nothing,
});

/** The last event that a tombstoned stream ever has. */
export const tombstoneEvent = (): ProposedEvent => ({
  id: spanned(randomUUID()),
  type: tombstoneType,
  json: false,
  data: nothing,
  custom: nothing,
});

/** What stands in the log for an append of nothing. */
export const noEvent = (): ProposedEvent => ({ id: spanned(randomUUID()), type: nothing, json: false, data: nothing, custom: nothing });
