import { isSameDigest, NO_DIGEST } from '../digest.ts';
import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';
import type { TenantRole } from '../tenants/tenant-role.ts';
import { isUsageDue } from './usage.ts';

export const category = 'apikey';
export const platform = true;

export type ApiKeyKind = 'tenant' | 'platform' | 'runner';
export type ApiKeyFields = {
  name: string;
  kind: ApiKeyKind;
  /** HMAC-SHA-256 of the API key's text, in hex, with a secret of the platform (the pepper). */
  digest: string;
  tenant_id: string | null;
  agent_id: string | null;
  owner_id: string;
  expires_at: string | null;
  read_only: boolean;
  /** The highest tenant role with which a caller of this key acts; null: the role of the key's owner. */
  role: TenantRole | null;
};
/** The first keys of a platform, and keys from earlier versions, have neither `read_only` nor `role`, and so no limits. */
type NewApiKey = Omit<ApiKeyFields, 'read_only' | 'role'> & Partial<Pick<ApiKeyFields, 'read_only' | 'role'>>;
export type ApiKeyEvent =
  | { type: 'ApiKeyCreated'; data: NewApiKey }
  | { type: 'ApiKeyRenamed'; data: { name: string } }
  | { type: 'ApiKeyRevoked'; data: object }
  | { type: 'ApiKeyUsed'; data: object };
export type ApiKey = ApiKeyFields & {
  status: 'absent' | 'active' | 'revoked';
  id: string;
  created_at: string;
  last_used_at: string | null;
};

export const initial: ApiKey = {
  status: 'absent',
  id: '',
  name: '',
  kind: 'tenant',
  digest: NO_DIGEST,
  tenant_id: null,
  agent_id: null,
  owner_id: '',
  expires_at: null,
  read_only: false,
  role: null,
  created_at: '',
  last_used_at: null,
};

export const evolve = (key: ApiKey, event: Recorded<ApiKeyEvent>): ApiKey => {
  switch (event.type) {
    case 'ApiKeyCreated':
      return { ...key, ...event.data, status: 'active', id: event.id, created_at: event.at };
    case 'ApiKeyRenamed':
      return { ...key, name: event.data.name };
    case 'ApiKeyRevoked':
      return { ...key, status: 'revoked' };
    case 'ApiKeyUsed':
      return { ...key, last_used_at: event.at };
  }
};

export const create =
  (fields: NewApiKey) =>
  (key: ApiKey): ApiKeyEvent[] =>
    key.status === 'absent' ? [{ type: 'ApiKeyCreated', data: fields }] : [];

/** @throws Refusal not_found if the key does not exist or was revoked, or if `isInScope` returns false for it */
export const rename =
  (name: string, isInScope: (key: ApiKey) => boolean) =>
  (key: ApiKey): ApiKeyEvent[] => {
    if (key.status !== 'active' || !isInScope(key)) throw new Refusal('not_found', 'There is no such API key');
    return key.name === name ? [] : [{ type: 'ApiKeyRenamed', data: { name } }];
  };

/** @throws Refusal not_found if the key does not exist, or if `isInScope` returns false for it */
export const revoke =
  (isInScope: (key: ApiKey) => boolean) =>
  (key: ApiKey): ApiKeyEvent[] => {
    if (key.status === 'absent' || !isInScope(key)) throw new Refusal('not_found', 'There is no such API key');
    return key.status === 'revoked' ? [] : [{ type: 'ApiKeyRevoked', data: {} }];
  };

/** Records a use at most once an hour. Ignores an `at` before the key's creation, because the clocks of processes differ. */
export const recordUse =
  (at: string) =>
  (key: ApiKey): ApiKeyEvent[] =>
    key.status === 'active' && Date.parse(at) >= Date.parse(key.created_at) && isUsageDue(key.last_used_at, at)
      ? [{ type: 'ApiKeyUsed', data: {} }]
      : [];

/** Takes constant time, even for a key that does not exist, which has a placeholder digest. */
export const matches = (key: ApiKey, digest: string): boolean => isSameDigest(key.digest, digest) && key.status !== 'absent';
