import type { Recorded } from '../event.ts';

/** The keys with which audit heads are signed: one stream of the platform. */
export const category = 'auditkey';
export const KEYS_ID = 'signing';
export const platform = true;

/**
 * A key pair. `public_key` are the 32 bytes of the Ed25519 key as base64url, `key_id` is its JWK thumbprint (RFC 7638).
 * `cross_signature`: the signature of `keyText` by the key before it; null for the first one.
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

/** The text by whose signature a key vouches for the next one. */
export const keyText = ({ key_id, public_key }: Pick<AuditKey, 'key_id' | 'public_key'>): string =>
  ['annals audit key v1', key_id, public_key].join('\n');

/** Adds a key pair, unless the platform has got one after the key with the id `after` (null: after none). */
export const addKey =
  (key: AuditKey, after: string | null) =>
  ({ keys }: AuditKeys): AuditKeyEvent[] =>
    (keys.at(-1)?.key_id ?? null) === after ? [{ type: 'AuditKeyCreated', data: key }] : [];

/** Stores the same private key, encrypted with another data key, unless it is not `sealed` any more. */
export const resealKey =
  (key_id: string, sealed: string, sealed_private_key: string) =>
  ({ keys }: AuditKeys): AuditKeyEvent[] =>
    keys.some((key) => key.key_id === key_id && key.sealed_private_key === sealed)
      ? [{ type: 'AuditKeyResealed', data: { key_id, sealed_private_key } }]
      : [];
