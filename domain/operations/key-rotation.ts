import type { Recorded } from '../event.ts';

/** Rotations of the master key and of data keys, in one stream of the platform. */
export const category = 'keyrotation';
export const ROTATIONS_ID = 'all';
export const platform = true;

type MasterKeys = { readonly from_kid: string; readonly to_kid: string };
/** `kid`: of the tenant's new data key. */
type DataKey = { readonly tenant_id: string; readonly kid: string };

export type KeyRotationEvent =
  | { type: 'MasterKeyRotationStarted'; data: MasterKeys }
  | { type: 'MasterKeyRotationConfirmed'; data: { to_kid: string } }
  | { type: 'MasterKeyRotationCompleted'; data: MasterKeys & { keys: number } }
  | { type: 'DataKeyRotationStarted'; data: DataKey }
  | { type: 'DataKeyRotationCompleted'; data: DataKey & { files: number; secrets?: number } };

/** `is_confirmed`: an operator has confirmed that every machine has the new master key; the old one is then no longer needed. */
export type MasterKeyRotation = MasterKeys & { readonly started_at: string; readonly is_confirmed: boolean };

/** The rotations in progress, and the end of the last rotation of the master key (RFC 3339 UTC). `data_keys`: new data key ids by tenant. */
export type KeyRotations = {
  readonly master: MasterKeyRotation | null;
  readonly master_replaced_at: string | null;
  readonly data_keys: Readonly<Record<string, string>>;
};

export const initial: KeyRotations = { master: null, master_replaced_at: null, data_keys: {} };

const withoutTenant = (data_keys: KeyRotations['data_keys'], tenant_id: string): KeyRotations['data_keys'] =>
  Object.fromEntries(Object.entries(data_keys).filter(([id]) => id !== tenant_id));

export const evolve = (state: KeyRotations, { type, data, at }: Recorded<KeyRotationEvent>): KeyRotations => {
  switch (type) {
    case 'MasterKeyRotationStarted':
      return { ...state, master: { ...data, started_at: at, is_confirmed: false } };
    case 'MasterKeyRotationConfirmed':
      return { ...state, master: state.master && { ...state.master, is_confirmed: true } };
    case 'MasterKeyRotationCompleted':
      return { ...state, master: null, master_replaced_at: at };
    case 'DataKeyRotationStarted':
      return { ...state, data_keys: { ...state.data_keys, [data.tenant_id]: data.kid } };
    case 'DataKeyRotationCompleted':
      return { ...state, data_keys: withoutTenant(state.data_keys, data.tenant_id) };
  }
};

/**
 * During the rotation, data keys are encrypted with both master keys. Does nothing if it has started, or if a confirmed rotation to
 * another key must be completed first.
 */
export const startMasterRotation =
  (keys: MasterKeys) =>
  ({ master }: KeyRotations): KeyRotationEvent[] =>
    master && (master.is_confirmed || master.to_kid === keys.to_kid) ? [] : [{ type: 'MasterKeyRotationStarted', data: keys }];

/** Every machine has the new key. Does nothing unless a rotation to it is in progress and not yet confirmed. */
export const confirmMasterRotation =
  (to_kid: string) =>
  ({ master }: KeyRotations): KeyRotationEvent[] =>
    master?.to_kid === to_kid && !master.is_confirmed ? [{ type: 'MasterKeyRotationConfirmed', data: { to_kid } }] : [];

/** No encrypted key needs the old master key any more; `keys` counts them. Does nothing unless a rotation to this key is confirmed. */
export const completeMasterRotation =
  (to_kid: string, keys: number) =>
  ({ master }: KeyRotations): KeyRotationEvent[] =>
    master?.to_kid === to_kid && master.is_confirmed
      ? [{ type: 'MasterKeyRotationCompleted', data: { from_kid: master.from_kid, to_kid, keys } }]
      : [];

/** Does nothing if another rotation for this tenant is in progress. */
export const startDataKeyRotation =
  (tenant_id: string, kid: string) =>
  ({ data_keys }: KeyRotations): KeyRotationEvent[] =>
    data_keys[tenant_id] === undefined ? [{ type: 'DataKeyRotationStarted', data: { tenant_id, kid } }] : [];

/** Records the number of files and secrets that were encrypted again. Does nothing unless this rotation is in progress. */
export const completeDataKeyRotation =
  (tenant_id: string, kid: string, resealed: { readonly files: number; readonly secrets: number }) =>
  ({ data_keys }: KeyRotations): KeyRotationEvent[] =>
    data_keys[tenant_id] === kid ? [{ type: 'DataKeyRotationCompleted', data: { tenant_id, kid, ...resealed } }] : [];
