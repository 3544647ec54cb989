import { randomUUID } from 'node:crypto';
import { type Span, spanOf } from './encoding/protobuf.ts';
import type { ProposedEvent } from './log/record.ts';

const textSpan = (text: string): Span => spanOf(Buffer.from(text));
const EMPTY = textSpan('');
const metadataType = textSpan('$metadata');
const tombstoneType = textSpan('$streamDeleted');

/** Returns a metadata event that the store itself writes to a metadata stream. */
export const metadataEvent = (text: string): ProposedEvent => ({
  id: textSpan(randomUUID()),
  type: metadataType,
  json: true,
  data: textSpan(text),
  custom: EMPTY,
});

export const tombstoneEvent = (): ProposedEvent => ({
  id: textSpan(randomUUID()),
  type: tombstoneType,
  json: false,
  data: EMPTY,
  custom: EMPTY,
});

/** Marks the position of an append without events. */
export const noEvent = (): ProposedEvent => ({ id: textSpan(randomUUID()), type: EMPTY, json: false, data: EMPTY, custom: EMPTY });
