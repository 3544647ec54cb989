import { comparePositions, parseToken, type Recorded, tokenOf } from '../event.ts';
import { Refusal } from '../refusal.ts';

/** The numbers of a tenant's streams and events in the log, without the streams of its destroyed keys. */
export type EventCounts = { readonly streams: number; readonly events: number };

/**
 * All events of the tenant still in the log; their encrypted contents cannot be decrypted, because the data key was destroyed at
 * `key_destroyed_at` (RFC 3339 UTC). `key_id`: the platform's key that signs the receipt; absent in events of earlier versions.
 */
export type ErasureFacts = EventCounts & { readonly key_destroyed_at: string; readonly key_id?: string };

/** The counts so far, up to `counted_to` (a consistency token). */
export type CountProgress = EventCounts & { readonly counted_to: string };

/** Outside of the log: stored files, and messages that were waiting for runners. */
export type RemovedRemains = { readonly blobs: number; readonly messages: number };

export type TenantErasureEvent =
  | { type: 'TenantErasureStarted'; data: { reason: string } }
  | { type: 'TenantDataKeyDestroyed'; data: { key_destroyed_at: string } }
  | { type: 'TenantEventsCounted'; data: CountProgress }
  | { type: 'TenantErased'; data: ErasureFacts }
  | { type: 'TenantErasureCompleted'; data: RemovedRemains };

/** TenantClosed is included only if the tenant is not closed yet. */
type StartEvent = Extract<TenantErasureEvent, { type: 'TenantErasureStarted' }> | { type: 'TenantClosed'; data: object };

/** `position` of the event TenantErased, as a consistency token. */
export type ErasureRecord = ErasureFacts & { readonly position: string };

/** `at` is RFC 3339 UTC; `position` of the event that records it is a consistency token. */
export type KeyDestruction = { readonly at: string; readonly position: string };

/**
 * `key` is null until the data key is destroyed, `counted` until some events are counted, `record` until all are. `is_completed`: rows,
 * files and messages are removed, too.
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

/** A tenant that is closed for good is still kept. @throws Refusal not_found if it does not exist or was erased */
export const assertKept = ({ status, erasure }: Erasable): void => {
  if (status === 'absent' || erasure?.record) throw new Refusal('not_found', 'There is no such tenant');
};

/** Closes the tenant for good. Does nothing if an erasure has already started. @throws Refusal not_found */
export const startErasure =
  (reason: string) =>
  ({ status, erasure }: Erasable): StartEvent[] => {
    if (status === 'absent') throw new Refusal('not_found', 'There is no such tenant');
    if (erasure) return [];
    const started: StartEvent = { type: 'TenantErasureStarted', data: { reason } };
    return status === 'closed' ? [started] : [started, { type: 'TenantClosed', data: {} }];
  };

/** Does nothing if this is already recorded, or if no erasure has started. */
export const recordKeyDestroyed =
  (key_destroyed_at: string) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure && !erasure.key && !erasure.record ? [{ type: 'TenantDataKeyDestroyed', data: { key_destroyed_at } }] : [];

/** Null counts as a position before all others. */
const isAfter = (token: string, other: string | null): boolean =>
  other === null || comparePositions(parseToken(token)!, parseToken(other)!) > 0;

/** Does nothing if a later position is already recorded, for example by another process. */
export const recordCounted =
  (progress: CountProgress) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure?.key && !erasure.record && isAfter(progress.counted_to, erasure.counted?.counted_to ?? null)
      ? [{ type: 'TenantEventsCounted', data: progress }]
      : [];

/** Records the erasure with the key that signs the receipt. Does nothing if already recorded, or if the data key is not destroyed yet. */
export const recordErased =
  (counts: EventCounts, key_id: string) =>
  ({ erasure }: Erasable): TenantErasureEvent[] => {
    if (!erasure?.key || erasure.record) return [];
    return [{ type: 'TenantErased', data: { key_destroyed_at: erasure.key.at, ...counts, key_id } }];
  };

/** Nothing of the tenant is left outside of the log. Does nothing if this is already recorded. */
export const completeErasure =
  (removed: RemovedRemains) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure?.record && !erasure.is_completed ? [{ type: 'TenantErasureCompleted', data: removed }] : [];

export const receiptText = (tenant_id: string, { key_destroyed_at, position, streams, events }: ErasureRecord): string =>
  ['annals erasure receipt v1', tenant_id, key_destroyed_at, position, streams, events].join('\n');
