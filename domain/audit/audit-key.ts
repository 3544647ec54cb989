import type { Recorded } from '../event.ts';

/**
 * The keys that sign the heads of the audit trees of all tenants. All of these keys are in one stream, which belongs to
 * the platform.
 */
export const category = 'auditkey';
export const KEYS_ID = 'signing';
export const platform = true;

/**
 * A key that signs audit heads. `public_key` is the public Ed25519 key, 32 bytes in base64url, and `key_id` is the JWK
 * thumbprint of it (RFC 7638). `cross_signature` is the signature of `keyText` by the previous key; null for the first
 * key.
 */
export type AuditKey = {
  readonly key_id: string;
  readonly public_key: string;
  readonly sealed_private_key: string;
  readonly cross_signature: string | null;
};

export type AuditKeyEvent =
  | { type: 'AuditKeyCreated'; data: AuditKey }
  | { type: 'AuditKeyResealed'; data: Pick<AuditKey, 'key_id' | 'sealed_private_key'> };
export type StoredAuditKey = AuditKey & { readonly created_at: string };
export type AuditKeys = { readonly keys: readonly StoredAuditKey[] };

export const initial: AuditKeys = { keys: [] };

export const evolve = ({ keys }: AuditKeys, { type, data, at }: Recorded<AuditKeyEvent>): AuditKeys => {
  switch (type) {
    case 'AuditKeyCreated':
      return { keys: [...keys, { ...data, created_at: at }] };
    case 'AuditKeyResealed':
      return { keys: keys.map((key) => (key.key_id === data.key_id ? { ...key, ...data } : key)) };
  }
};

/**
 * Returns the text that the previous key signs, to confirm the given key as its successor. The form of this text must
 * never change.
 */
export const keyText = ({ key_id, public_key }: Pick<AuditKey, 'key_id' | 'public_key'>): string =>
  ['annals audit key v1', key_id, public_key].join('\n');

/**
 * Adds a key after the key with the id `after`, or as the first key if `after` is null. Does nothing if the last key
 * does not have the id `after`.
 */
export const addKey =
  (key: AuditKey, after: string | null) =>
  ({ keys }: AuditKeys): AuditKeyEvent[] =>
    (keys.at(-1)?.key_id ?? null) === after ? [{ type: 'AuditKeyCreated', data: key }] : [];

/**
 * Replaces the stored private key, which is encrypted with an old data key (`sealed`), with the same key encrypted with
 * another data key. Does nothing if the stored text is no longer `sealed`.
 */
export const resealKey =
  (key_id: string, sealed: string, sealed_private_key: string) =>
  ({ keys }: AuditKeys): AuditKeyEvent[] =>
    keys.some((key) => key.key_id === key_id && key.sealed_private_key === sealed)
      ? [{ type: 'AuditKeyResealed', data: { key_id, sealed_private_key } }]
      : [];
