import { parseStream, type Recorded } from '../../domain/event.ts';
import { omit } from '../../domain/omit.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type SealedWith, sealedWith } from '../../domain/sealed-data.ts';
import { LogError, type NewEvent } from '../eventstore/event-log.ts';
import type { ContentKey, ContentKeys } from './content-keys.ts';
import { UnknownKey } from './data-key-cache.ts';
import { openBytes, sealBytes } from './sealed-bytes.ts';

export type BytesEvent = NewEvent & { readonly data: Uint8Array };

export type EventPlace = { readonly tenant: string; readonly category: string; readonly id: string };

/** The tenant was erased, the data are damaged, or the key is missing. */
export type UnreadableReason = 'erased' | 'damaged' | 'key';

/** A retry helps only if an operator restores the data or the key. */
export class ContentUnreadable extends Error {
  readonly reason: UnreadableReason;
  constructor(reason: UnreadableReason, { stream, event_id }: Pick<Recorded, 'stream' | 'event_id'>, cause?: unknown) {
    super(`the data of the event ${event_id} in ${stream} cannot be opened: ${REASONS[reason]}`, { cause });
    this.name = 'ContentUnreadable';
    this.reason = reason;
  }
}

const REASONS: Readonly<Record<UnreadableReason, string>> = {
  erased: "the tenant's data key was destroyed",
  damaged: 'they were changed, or belong to another event',
  key: "the tenant's data key is missing or damaged",
};

/** Encrypts ("seals") and decrypts ("opens") events with a tenant's contents, for example of webhook deliveries. */
export type SealedEvents = {
  /**
   * Uses the tenant's data key, and states this in the metadata. Empty data do not change. Can be decrypted only in an event with the same
   * id in the same stream. Returns a promise only if the key is not in memory.
   * @throws Refusal unavailable; LogError gone if the tenant was erased, unavailable
   */
  readonly sealEvent: (place: EventPlace, event: BytesEvent) => BytesEvent | Promise<BytesEvent>;
  /**
   * An event that is not encrypted is returned unchanged. Returns a promise only if the key is not in memory.
   * @throws ContentUnreadable, LogError unavailable
   */
  readonly openEvent: (event: Recorded) => Recorded | Promise<Recorded>;
};

/** Binds encrypted data to this event. None of the texts contains the separator. */
export const associatedDataOf = ({ tenant, category, id }: EventPlace, event_id: string): Buffer =>
  Buffer.from(`annals event data\0${tenant}\0${category}\0${id}\0${event_id}`);

/** `kid` is the id of the key. */
export const withSealedData = (event: BytesEvent, kid: string, data: Uint8Array): BytesEvent => {
  const sealed: SealedWith = { v: 1, kid };
  return { ...event, data, meta: { ...event.meta, facts: { ...event.meta.facts, sealed } } };
};

const seal = (place: EventPlace, event: BytesEvent, { kid, key }: ContentKey): BytesEvent =>
  withSealedData(event, kid, sealBytes(key, associatedDataOf(place, event.id), event.data));

const open = (event: Recorded, { key }: ContentKey): Recorded => {
  // Use the name of the stream, because callers may change the separate fields in a copy of the event.
  const place = parseStream(event.stream)!;
  const facts = omit(event.meta.facts!, 'sealed');
  try {
    const data = openBytes(key, associatedDataOf(place, event.event_id), event.data as Uint8Array);
    return { ...event, data, meta: { ...event.meta, facts } };
  } catch (error) {
    throw new ContentUnreadable('damaged', event, error);
  }
};

/** Converts an error of loading a key. @throws ContentUnreadable, or the error itself */
export const throwAsUnreadable = (event: Recorded, error: unknown): never => {
  if (error instanceof LogError && error.kind === 'gone') throw new ContentUnreadable('erased', event, error);
  if (error instanceof UnknownKey || error instanceof Refusal) throw new ContentUnreadable('key', event, error);
  throw error;
};

/** @throws (the function) the errors of `openEvent` */
export const createEventOpener =
  (contentKey: ContentKeys): SealedEvents['openEvent'] =>
  (event) => {
    const sealed = sealedWith(event);
    if (!sealed) return event;
    if (sealed.v !== 1) throw new Error(`the data of the event ${event.event_id} are sealed in an unknown format`);
    const key = contentKey(event.tenant, sealed.kid);
    if (!(key instanceof Promise)) return open(event, key);
    return key.then(
      (loaded) => open(event, loaded),
      (error: unknown) => throwAsUnreadable(event, error),
    );
  };

export const createSealedEvents = (contentKey: ContentKeys): SealedEvents => ({
  sealEvent: (place, event) => {
    if (event.data.length === 0) return event;
    const key = contentKey(place.tenant);
    return key instanceof Promise ? key.then((loaded) => seal(place, event, loaded)) : seal(place, event, key);
  },
  openEvent: createEventOpener(contentKey),
});
