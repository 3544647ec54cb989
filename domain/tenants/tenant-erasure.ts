import { type Recorded, tokenOf } from '../event.ts';
import { Refusal } from '../refusal.ts';

/**
 * What was erased. `streams` and `events` count what the log still holds of the tenant: sealed contents among it can no
 * longer be decrypted, because the data key was destroyed at `key_destroyed_at` (RFC 3339 UTC).
 */
export type ErasureFacts = { readonly key_destroyed_at: string; readonly streams: number; readonly events: number };

/** What was removed outside the log: stored files, and messages that waited for runners. */
export type RemovedRemains = { readonly blobs: number; readonly messages: number };

export type TenantErasureEvent =
  | { type: 'TenantErasureStarted'; data: { reason: string } }
  | { type: 'TenantErased'; data: ErasureFacts }
  | { type: 'TenantErasureCompleted'; data: RemovedRemains };

/** The events with which the erasure of a tenant starts. It also closes the tenant, unless it is closed. */
type StartEvent = Extract<TenantErasureEvent, { type: 'TenantErasureStarted' }> | { type: 'TenantClosed'; data: object };

/** `position` is the position of TenantErased, as a consistency token. */
export type ErasureRecord = ErasureFacts & { readonly position: string };

/**
 * How far the erasure of a tenant is. `record` is null until the data key is destroyed. `is_completed`: rows, files and
 * messages are removed, too.
 */
export type Erasure = { readonly record: ErasureRecord | null; readonly is_completed: boolean };

type Erasable = { readonly status: string; readonly erasure: Erasure | null };

export const evolveErasure = (erasure: Erasure | null, { type, data, position }: Recorded<TenantErasureEvent>): Erasure => {
  switch (type) {
    case 'TenantErasureStarted':
      return { record: null, is_completed: false };
    case 'TenantErased':
      return { record: { ...data, position: tokenOf(position) }, is_completed: false };
    case 'TenantErasureCompleted':
      return { record: erasure?.record ?? null, is_completed: true };
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
export const recordErased =
  (facts: ErasureFacts) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure && !erasure.record ? [{ type: 'TenantErased', data: facts }] : [];

/** Records that nothing of the tenant is left outside the log. Does nothing if that is recorded. */
export const completeErasure =
  (removed: RemovedRemains) =>
  ({ erasure }: Erasable): TenantErasureEvent[] =>
    erasure?.record && !erasure.is_completed ? [{ type: 'TenantErasureCompleted', data: removed }] : [];

/** The lines that the platform signs in the receipt of an erasure. */
export const receiptText = (tenant_id: string, { key_destroyed_at, position, streams, events }: ErasureRecord): string =>
  ['annals erasure receipt v1', tenant_id, key_destroyed_at, position, streams, events].join('\n');
