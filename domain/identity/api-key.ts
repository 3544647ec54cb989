import { isSameDigest, NO_DIGEST } from '../digest.ts';
import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';
import { isUsageDue } from './usage.ts';

export const category = 'apikey';
export const platform = true;

export type ApiKeyKind = 'tenant' | 'platform' | 'runner';
export type ApiKeyFields = {
  name: string;
  kind: ApiKeyKind;
  /** HMAC-SHA-256 of the key's text with the platform's pepper, in hex. */
  digest: string;
  tenant_id: string | null;
  agent_id: string | null;
  owner_id: string;
  expires_at: string | null;
};
export type ApiKeyEvent =
  | { type: 'ApiKeyCreated'; data: ApiKeyFields }
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
  created_at: '',
  last_used_at: null,
};

export const evolve = (key: ApiKey, event: Recorded<ApiKeyEvent>): ApiKey => {
  switch (event.type) {
    case 'ApiKeyCreated':
      return { ...key, ...event.data, status: 'active', id: event.id, created_at: event.at };
    case 'ApiKeyRevoked':
      return { ...key, status: 'revoked' };
    case 'ApiKeyUsed':
      return { ...key, last_used_at: event.at };
  }
};

export const create =
  (fields: ApiKeyFields) =>
  (key: ApiKey): ApiKeyEvent[] =>
    key.status === 'absent' ? [{ type: 'ApiKeyCreated', data: fields }] : [];

/** Revokes the key. @throws Refusal not_found if the key does not exist or `isInScope` rejects it */
export const revoke =
  (isInScope: (key: ApiKey) => boolean) =>
  (key: ApiKey): ApiKeyEvent[] => {
    if (key.status === 'absent' || !isInScope(key)) throw new Refusal('not_found', 'There is no such API key');
    return key.status === 'revoked' ? [] : [{ type: 'ApiKeyRevoked', data: {} }];
  };

/**
 * Records that the key was used, at most once an hour. A clock that is behind the one that created the key records
 * nothing.
 */
export const recordUse =
  (at: string) =>
  (key: ApiKey): ApiKeyEvent[] =>
    key.status === 'active' && Date.parse(at) >= Date.parse(key.created_at) && isUsageDue(key.last_used_at, at)
      ? [{ type: 'ApiKeyUsed', data: {} }]
      : [];

/** Compares digests in constant time; an absent key is compared with a placeholder, so that it takes as long. */
export const matches = (key: ApiKey, digest: string): boolean => isSameDigest(key.digest, digest) && key.status !== 'absent';
