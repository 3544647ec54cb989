import { jsonEqual } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { Refusal } from '../refusal.ts';
import { isAboutAccount } from './token-error.ts';

/**
 * An account at another service with a stored secret: OAuth tokens, or a database password. Belongs to the tenant or, if `agent_id` is
 * set, to one agent; at most one per provider.
 */
export const category = 'linkedidentity';

/** How a Postgres connection uses TLS; the values of libpq. */
export const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

export type DatabaseAccess = {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly sslmode: SslMode;
};

/** `sealed_tokens`: encrypted. `expires_at`: of the access token; null if it does not expire. */
export type Tokens = {
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
  readonly sealed_tokens: string;
  /** Whether there is a refresh token. */
  readonly refreshable: boolean;
};

/** How the provider answered the revocation of an unlinked identity's tokens. */
export type Revocation = 'revoked' | 'refused' | 'unsupported';

export type LinkedIdentityEvent =
  | { type: 'DatabaseCredentialStored'; data: DatabaseAccess & { provider: string; label: string; sealed_password: string } }
  | { type: 'IdentityLinked'; data: Tokens & { agent_id: string | null; provider: string; label: string } }
  | { type: 'IdentityTokensRefreshed'; data: Tokens }
  | { type: 'IdentityResealed'; data: { sealed: string } }
  | { type: 'IdentityRefreshRefused'; data: { error: string } }
  | { type: 'IdentityRefreshFailed'; data: { error: string } }
  | { type: 'IdentityUnlinked'; data: object }
  | { type: 'IdentityTokensRevoked'; data: { outcome: Revocation } };

export type LinkedIdentity = {
  readonly status: 'absent' | 'linked' | 'unlinked';
  readonly id: string;
  readonly tenant_id: string;
  readonly agent_id: string | null;
  readonly provider: string;
  readonly label: string;
  /** False after the provider has refused to renew the tokens. */
  readonly connected: boolean;
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
  readonly refreshable: boolean;
  /** Why the tokens could not be renewed the last time. */
  readonly error: string | null;
  readonly database: DatabaseAccess | null;
  /** The encrypted password or tokens. Null if there is none, or the tokens have been revoked. */
  readonly sealed: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  /** The revision since which the identity is linked and gives the same access (for a database: same user, same database). -1: never linked. */
  readonly access_revision: number;
};

export const initial: LinkedIdentity = {
  status: 'absent',
  id: '',
  tenant_id: '',
  agent_id: null,
  provider: '',
  label: '',
  connected: false,
  scopes: [],
  expires_at: null,
  refreshable: false,
  error: null,
  database: null,
  sealed: null,
  created_at: '',
  updated_at: '',
  access_revision: -1,
};

const evolveFields = (identity: LinkedIdentity, { type, data }: Recorded<LinkedIdentityEvent>): Partial<LinkedIdentity> => {
  switch (type) {
    case 'DatabaseCredentialStored': {
      const { provider, label, sealed_password, ...database } = data;
      return { status: 'linked', connected: true, provider, label, database, sealed: sealed_password };
    }
    case 'IdentityLinked': {
      const { sealed_tokens, ...fields } = data;
      return { ...fields, status: 'linked', connected: true, error: null, sealed: sealed_tokens };
    }
    case 'IdentityTokensRefreshed': {
      const { sealed_tokens, ...fields } = data;
      return { ...fields, connected: true, error: null, sealed: sealed_tokens };
    }
    case 'IdentityResealed':
      return data;
    case 'IdentityRefreshRefused':
      // Earlier versions also recorded errors of the client as refusals.
      return isAboutAccount(data.error) ? { ...data, connected: false, refreshable: false } : data;
    case 'IdentityRefreshFailed':
      return data;
    case 'IdentityUnlinked':
      return { status: 'unlinked', connected: false, sealed: identity.database === null ? identity.sealed : null };
    case 'IdentityTokensRevoked':
      return { sealed: null };
  }
};

/** Compares databases only: to whom an account belongs is not known. */
const hasSameAccess = ({ database: a }: LinkedIdentity, { database: b }: LinkedIdentity): boolean =>
  a?.username === b?.username && a?.port === b?.port && a?.database === b?.database;

export const evolve = (identity: LinkedIdentity, event: Recorded<LinkedIdentityEvent>): LinkedIdentity => {
  const { id, tenant, at } = event;
  // A failed attempt changes neither the tokens nor, therefore, the time at which they must be renewed.
  const updated_at = event.type === 'IdentityRefreshFailed' ? identity.updated_at : at;
  const next = { ...identity, ...evolveFields(identity, event), id, tenant_id: tenant, updated_at };
  if (next.status !== 'linked') return next;
  if (identity.status !== 'linked') return { ...next, created_at: at, access_revision: event.revision };
  return hasSameAccess(identity, next) ? next : { ...next, access_revision: event.revision };
};

/** For the unique keys of identities (see `identityKey`). */
export const KIND = 'linked identity';

/** `owner` is the id of a tenant or an agent. */
export const identityKey = (owner: string, provider: string): string => `${owner} ${provider}`;

/** In lower case, because host names are case-insensitive. */
export const databaseProvider = (host: string): string => `db:postgres:${host.toLowerCase()}`;

/** @throws Refusal not_found */
export const assertLinked = ({ status }: LinkedIdentity): void => {
  if (status !== 'linked') throw new Refusal('not_found', 'There is no such linked identity');
};

/** Whether the identity is linked, and has not been unlinked or changed to another user or database since that revision. */
export const isLinkedSince = ({ status, access_revision }: LinkedIdentity, revision: number): boolean =>
  status === 'linked' && access_revision === revision;

/** Replaces an earlier password for the same host. `isSamePassword`: the password equals the stored one. No event if nothing differs. */
export const storeDatabase =
  (access: DatabaseAccess, sealed_password: string, isSamePassword: boolean) =>
  ({ status, database }: LinkedIdentity): LinkedIdentityEvent[] => {
    if (status === 'linked' && isSamePassword && jsonEqual(database, access)) return [];
    const provider = databaseProvider(access.host);
    const label = `${access.username}@${access.host}:${access.port}/${access.database}`;
    return [{ type: 'DatabaseCredentialStored', data: { provider, label, ...access, sealed_password } }];
  };

/** Replaces the tokens if the account is linked. */
export const link = (identity: Extract<LinkedIdentityEvent, { type: 'IdentityLinked' }>['data']) => (): LinkedIdentityEvent[] => [
  { type: 'IdentityLinked', data: identity },
];

/** The provider has issued new tokens for the stored ones. Does nothing if the stored text is no longer `sealed`. */
export const refreshTokens =
  (sealed: string, tokens: Tokens) =>
  (identity: LinkedIdentity): LinkedIdentityEvent[] =>
    identity.status === 'linked' && identity.sealed === sealed ? [{ type: 'IdentityTokensRefreshed', data: tokens }] : [];

/** A person must then connect the account again. Does nothing if the stored text is no longer `sealed`. */
export const refuseRefresh =
  (sealed: string, error: string) =>
  (identity: LinkedIdentity): LinkedIdentityEvent[] =>
    identity.connected && identity.sealed === sealed ? [{ type: 'IdentityRefreshRefused', data: { error } }] : [];

/** The tokens stay, and are tried again. Does nothing if the reason is known, or if the stored text is no longer `sealed`. */
export const recordFailure =
  (sealed: string, error: string) =>
  (identity: LinkedIdentity): LinkedIdentityEvent[] =>
    identity.connected && identity.sealed === sealed && identity.error !== error
      ? [{ type: 'IdentityRefreshFailed', data: { error } }]
      : [];

/** Encrypts the same secret with another data key. Does nothing if the stored text is no longer `sealed`. */
export const resealIdentity =
  (sealed: string, resealed: string) =>
  (identity: LinkedIdentity): LinkedIdentityEvent[] =>
    identity.sealed === sealed ? [{ type: 'IdentityResealed', data: { sealed: resealed } }] : [];

/** From then on, no caller and no runner gets its secret. @throws Refusal not_found if the identity is not linked */
export const unlink = (identity: LinkedIdentity): LinkedIdentityEvent[] => {
  assertLinked(identity);
  return [{ type: 'IdentityUnlinked', data: {} }];
};

/** Records how the provider answered the revocation of the tokens of an unlinked identity. Does nothing if the stored text is no longer `sealed`. */
export const recordRevocation =
  (sealed: string, outcome: Revocation) =>
  (identity: LinkedIdentity): LinkedIdentityEvent[] =>
    identity.status === 'unlinked' && identity.sealed === sealed ? [{ type: 'IdentityTokensRevoked', data: { outcome } }] : [];

/** Tokens are renewed this early, or after half of their lifetime if it is shorter than twice that. */
const REFRESH_BEFORE_MS = 10 * 60_000;

/** When to renew a token issued at `at` (RFC 3339 UTC). Null if it does not expire or cannot be renewed. */
export const refreshAt = ({ expires_at, refreshable }: Pick<Tokens, 'expires_at' | 'refreshable'>, at: string): string | null => {
  if (expires_at === null || !refreshable) return null;
  const [issued, expiry] = [Date.parse(at), Date.parse(expires_at)];
  return new Date(Math.max(issued, expiry - Math.min(REFRESH_BEFORE_MS, (expiry - issued) / 2))).toISOString();
};
