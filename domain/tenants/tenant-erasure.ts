import { comparePositions, parseToken, type Recorded, tokenOf } from '../event.ts';
import { Refusal } from '../refusal.ts';

/** The numbers of streams and events of a tenant in the log, without the streams of its destroyed keys. */
export type EventCounts = { readonly streams: number; readonly events: number };

/**
 * The facts about an erasure. The counts include all events of the tenant that the log still contains. Their encrypted
 * contents can no longer be decrypted, because the data key was destroyed at `key_destroyed_at` (RFC 3339 UTC).
 * `key_id` is the id of the platform's key that signs the receipt; earlier versions did not record it.
 */
export type ErasureFacts = EventCounts & { readonly key_destroyed_at: string; readonly key_id?: string };

/** The counts so far. They include the events of the tenant up to the position `counted_to` (a consistency token). */
export type CountProgress = EventCounts & { readonly counted_to: string };

/** The numbers of items that were removed outside the log: stored files, and messages that were waiting for runners. */
export type RemovedRemains = { readonly blobs: number; readonly messages: number };

export type TenantErasureEvent =
  | { type: 'TenantErasureStarted'; data: { reason: string } }
  | { type: 'TenantDataKeyDestroyed'; data: { key_destroyed_at: string } }
  | { type: 'TenantEventsCounted'; data: CountProgress }
  | { type: 'TenantErased'; data: ErasureFacts }
  | { type: 'TenantErasureCompleted'; data: RemovedRemains };

/**
 * An event that starts the erasure of a tenant. TenantClosed closes the tenant, and is needed only if the tenant is not
 * closed yet.
 */
type StartEvent = Extract<TenantErasureEvent, { type: 'TenantErasureStarted' }> | { type: 'TenantClosed'; data: object };

/** `position` is the position of TenantErased, as a consistency token. */
export type ErasureRecord = ErasureFacts & { readonly position: string };

/**
 * The time at which the data key was destroyed (RFC 3339 UTC), and the position of the event that records it, as a
 * consistency token.
 */
export type KeyDestruction = { readonly at: string; readonly position: string };

/**
 * The progress of the erasure of a tenant. A field is null until its step is done: `key` until the data key is
 * destroyed, `counted` until some events are counted, `record` until all are counted. `is_completed`: rows, files and
 * messages are removed, too.
 */
export type Erasure = {
  readonly key: KeyDestruction | null;
  readonly counted: CountProgress | null;
  readonly record: ErasureRecord | null;
  readonly is_completed: boolean;
};

type Erasable = { readonly status: string; readonly erasure: Erasure | null };

const STARTED: Erasure = { key: null, counted: null, record: null, is_completed: false };

export const evolveErasure = (erasure: Erasure | null, { type, data, position }: Recorded<TenantErasureEvent>): Erasure => {
  switch (type) {
    case 'TenantErasureStarted':
      return STARTED;
    case 'TenantDataKeyDestroyed':
      return { ...STARTED, key: { at: data.key_destroyed_at, position: tokenOf(position) } };
    case 'TenantEventsCounted':
      return { ...STARTED, ...erasure, counted: data };
    case 'TenantErased':
      return { ...STARTED, ...erasure, record: { ...data, position: tokenOf(position) } };
    case 'TenantErasureCompleted':
      return { ...STARTED, ...erasure, is_completed: true };
  }
};

/**
 * Starts to erase the tenant, and closes it for good. Does nothing if the erasure has already started.
 * @throws Refusal not_found
 */
export const startErasure =
  (reason: string) =>
  ({ status, erasure }: Erasable): StartEvent[] => {
    if (status === 'absent') throw new Refusal('not_found', 'There is no such tenant');
    if (erasure) return [];
    const started: StartEvent = { type: 'TenantErasureStarted', data: { reason } };
    return status === 'closed' ? [started] : [started, { type: 'TenantClosed', data: {} }];
  };

/** Records that the data key is destroyed. Does nothing if this is already recorded, or if no erasure has started. */
export const recordKeyDestroyed =
  (key_destroyed_at: string) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure && !erasure.key && !erasure.record ? [{ type: 'TenantDataKeyDestroyed', data: { key_destroyed_at } }] : [];

/** Whether `token` is a later position than `other`; null counts as earlier than every position. */
const isAfter = (token: string, other: string | null): boolean =>
  other === null || comparePositions(parseToken(token)!, parseToken(other)!) > 0;

/**
 * Records the progress of counting the tenant's events. Does nothing if another process has recorded a later position.
 */
export const recordCounted =
  (progress: CountProgress) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure?.key && !erasure.record && isAfter(progress.counted_to, erasure.counted?.counted_to ?? null)
      ? [{ type: 'TenantEventsCounted', data: progress }]
      : [];

/**
 * Records the facts about the erasure. Does nothing if they are already recorded, or if the data key is not destroyed
 * yet.
 */
export const recordErased =
  (counts: EventCounts, key_id: string) =>
  ({ erasure }: Erasable): TenantErasureEvent[] => {
    if (!erasure?.key || erasure.record) return [];
    return [{ type: 'TenantErased', data: { key_destroyed_at: erasure.key.at, ...counts, key_id } }];
  };

/**
 * Records that nothing of the tenant is left outside the log, which completes the erasure. Does nothing if this is
 * already recorded.
 */
export const completeErasure =
  (removed: RemovedRemains) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure?.record && !erasure.is_completed ? [{ type: 'TenantErasureCompleted', data: removed }] : [];

/** Returns the text that the platform signs in the receipt of an erasure. */
export const receiptText = (tenant_id: string, { key_destroyed_at, position, streams, events }: ErasureRecord): string =>
  ['annals erasure receipt v1', tenant_id, key_destroyed_at, position, streams, events].join('\n');
