import type { Recorded } from '../event.ts';

/** The keys that sign the heads of the audit trees of all tenants, in one stream of the platform. */
export const category = 'auditkey';
export const KEYS_ID = 'signing';
export const platform = true;

/**
 * `public_key`: Ed25519, 32 bytes in base64url; `key_id`: its JWK thumbprint (RFC 7638). `cross_signature`: of `keyText` by the previous
 * key; null for the first key.
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

/** The text that the previous key signs to confirm its successor. Its form must never change. */
export const keyText = ({ key_id, public_key }: Pick<AuditKey, 'key_id' | 'public_key'>): string =>
  ['annals audit key v1', key_id, public_key].join('\n');

/** `after` is the id of the last key, null for the first; otherwise does nothing. */
export const addKey =
  (key: AuditKey, after: string | null) =>
  ({ keys }: AuditKeys): AuditKeyEvent[] =>
    (keys.at(-1)?.key_id ?? null) === after ? [{ type: 'AuditKeyCreated', data: key }] : [];

/** Encrypts the same key with another data key. Does nothing if the stored text is no longer `sealed`. */
export const resealKey =
  (key_id: string, sealed: string, sealed_private_key: string) =>
  ({ keys }: AuditKeys): AuditKeyEvent[] =>
    keys.some((key) => key.key_id === key_id && key.sealed_private_key === sealed)
      ? [{ type: 'AuditKeyResealed', data: { key_id, sealed_private_key } }]
      : [];
