import { comparePositions, parseToken, type Recorded, tokenOf } from '../event.ts';
import { Refusal } from '../refusal.ts';

/** How many streams and events of a tenant the log has. Those of its destroyed keys do not count. */
export type EventCounts = { readonly streams: number; readonly events: number };

/**
 * What was erased. The counts are those of what the log still holds of the tenant: sealed contents among it can no
 * longer be decrypted, because the data key was destroyed at `key_destroyed_at` (RFC 3339 UTC). `key_id` is the id of
 * the platform's key that signs the receipt; earlier versions did not record it.
 */
export type ErasureFacts = EventCounts & { readonly key_destroyed_at: string; readonly key_id?: string };

/** The events that are counted so far: all of the tenant up to `counted_to` (a consistency token). */
export type CountProgress = EventCounts & { readonly counted_to: string };

/** What was removed outside the log: stored files, and messages that waited for runners. */
export type RemovedRemains = { readonly blobs: number; readonly messages: number };

export type TenantErasureEvent =
  | { type: 'TenantErasureStarted'; data: { reason: string } }
  | { type: 'TenantDataKeyDestroyed'; data: { key_destroyed_at: string } }
  | { type: 'TenantEventsCounted'; data: CountProgress }
  | { type: 'TenantErased'; data: ErasureFacts }
  | { type: 'TenantErasureCompleted'; data: RemovedRemains };

/** The events with which the erasure of a tenant starts. It also closes the tenant, unless it is closed. */
type StartEvent = Extract<TenantErasureEvent, { type: 'TenantErasureStarted' }> | { type: 'TenantClosed'; data: object };

/** `position` is the position of TenantErased, as a consistency token. */
export type ErasureRecord = ErasureFacts & { readonly position: string };

/** When the data key was destroyed (RFC 3339 UTC), and the position of the event that records it, as a token. */
export type KeyDestruction = { readonly at: string; readonly position: string };

/**
 * How far the erasure of a tenant is. Each field is null until its step is done: `key` when the data key is destroyed,
 * `record` when the events are counted, too. `is_completed`: rows, files and messages are removed, too.
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
 * Starts to erase the tenant. It is closed for good at once. Does nothing if the erasure has started.
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

/** Records that the data key is destroyed. Does nothing if that is recorded, or if no erasure has started. */
export const recordKeyDestroyed =
  (key_destroyed_at: string) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure && !erasure.key && !erasure.record ? [{ type: 'TenantDataKeyDestroyed', data: { key_destroyed_at } }] : [];

/** Whether `token` is a later position than `other`. Null is before every position. */
const isAfter = (token: string, other: string | null): boolean =>
  other === null || comparePositions(parseToken(token)!, parseToken(other)!) > 0;

/** Records how far the tenant's events are counted. Does nothing if another process has counted further. */
export const recordCounted =
  (progress: CountProgress) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure?.key && !erasure.record && isAfter(progress.counted_to, erasure.counted?.counted_to ?? null)
      ? [{ type: 'TenantEventsCounted', data: progress }]
      : [];

/** Records what was erased. Does nothing if that is recorded, or if the data key is not destroyed. */
export const recordErased =
  (counts: EventCounts, key_id: string) =>
  ({ erasure }: Erasable): TenantErasureEvent[] => {
    if (!erasure?.key || erasure.record) return [];
    return [{ type: 'TenantErased', data: { key_destroyed_at: erasure.key.at, ...counts, key_id } }];
  };

/** Records that nothing of the tenant is left outside the log. Does nothing if that is recorded. */
export const completeErasure =
  (removed: RemovedRemains) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure?.record && !erasure.is_completed ? [{ type: 'TenantErasureCompleted', data: removed }] : [];

/** The lines that the platform signs in the receipt of an erasure. */
export const receiptText = (tenant_id: string, { key_destroyed_at, position, streams, events }: ErasureRecord): string =>
  ['annals erasure receipt v1', tenant_id, key_destroyed_at, position, streams, events].join('\n');
