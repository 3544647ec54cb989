import type * as Agent from '../../domain/agents/agent.ts';
import type { Recorded } from '../../domain/event.ts';
import type * as ApiKey from '../../domain/identity/api-key.ts';
import type * as User from '../../domain/identity/user.ts';
import { MAX_LIFETIME_SECONDS, type RunnerCredentialEvent } from '../../domain/runners/runner-credential.ts';
import type * as Tenant from '../../domain/tenants/tenant.ts';

type AccessEvent = RunnerCredentialEvent | ApiKey.ApiKeyEvent | Agent.AgentEvent | Tenant.TenantEvent | User.UserEvent;

/** An event that may issue, revoke or reinstate credentials. */
export type RecordedAccessEvent = Recorded<AccessEvent>;

type CredentialIssued = Recorded<Extract<AccessEvent, { type: 'RunnerCredentialIssued' }>>;

/** How each event type names the resource (or membership) that it ends or reinstates. */
type ResourceOf = Partial<Record<AccessEvent['type'], (event: RecordedAccessEvent) => string>>;

const membershipKey = (tenant: string, user: string): string => `${tenant}/${user}`;

const ownId = ({ id }: RecordedAccessEvent): string => id;
const membership = ({ id, data }: RecordedAccessEvent): string => membershipKey(id, (data as { user_id: string }).user_id);

/** The events that end something a credential depends on. `ApiKeyRevoked` covers runner keys: they are API keys. */
const REVOKING_EVENTS: ResourceOf = {
  RunnerCredentialRevoked: ownId,
  ApiKeyRevoked: ownId,
  AgentDeleted: ownId,
  TenantSuspended: ownId,
  TenantClosed: ownId,
  UserSuspended: ownId,
  MemberRemoved: membership,
};

/** The events that reinstate it. They allow new credentials; the ones that were revoked before stay revoked. */
const REINSTATING_EVENTS: ResourceOf = {
  AgentRestored: ownId,
  TenantResumed: ownId,
  UserResumed: ownId,
  MemberAdded: membership,
};

export const revocationEventTypes = ['RunnerCredentialIssued', ...Object.keys(REVOKING_EVENTS), ...Object.keys(REINSTATING_EVENTS)];

/** The longest lifetime of a credential. Older events need not be read. */
export const MAX_LIFETIME_MS = MAX_LIFETIME_SECONDS * 1_000;

/** A credential that has not expired, and the resources it depends on. */
type Credential = { readonly publicKey: string; readonly expiresAt: number; readonly dependencies: readonly string[] };

/** Both maps are in the order of time, oldest entry first. Times are in milliseconds. */
type Revocations = {
  /** By the id of the credential. */
  readonly credentials: Map<string, Credential>;
  /** When a resource ended, by its id. */
  readonly endedAt: Map<string, number>;
};

/** Itself, its tenant, its agent, the API key that requested it, and the owner of that key with their membership. */
const dependenciesOf = ({ id, tenant, actor, data: { agent_id, owner_id } }: CredentialIssued): string[] => [
  id,
  tenant,
  agent_id,
  ...(actor.key_id ? [actor.key_id] : []),
  ...(owner_id ? [owner_id, membershipKey(tenant, owner_id)] : []),
];

const deleteOldest = <T>(map: Map<string, T>, isExpired: (value: T) => boolean): void => {
  for (const [id, value] of map) {
    if (!isExpired(value)) return;
    map.delete(id);
  }
};

const forgetExpired = ({ credentials, endedAt }: Revocations, now: number): void => {
  deleteOldest(credentials, ({ expiresAt }) => expiresAt < now);
  deleteOldest(endedAt, (at) => at < now - MAX_LIFETIME_MS);
};

/** @returns true if something that the new credential depends on has already ended */
const addCredential = ({ credentials, endedAt }: Revocations, event: CredentialIssued): boolean => {
  const { public_key, expires_at } = event.data;
  const dependencies = dependenciesOf(event);
  credentials.set(event.id, { publicKey: public_key, expiresAt: Date.parse(expires_at), dependencies });
  return dependencies.some((id) => endedAt.has(id));
};

/**
 * Ends a resource, and each credential that depends on it by its own id: it stays revoked if the resource is
 * reinstated.
 */
const endResource = ({ credentials, endedAt }: Revocations, resource: string, at: number): boolean => {
  const revoked = [...credentials].filter(([, { dependencies }]) => dependencies.includes(resource)).map(([id]) => id);
  for (const id of [resource, ...revoked]) {
    // A new entry goes to the end: the map stays in the order of time.
    endedAt.delete(id);
    endedAt.set(id, at);
  }
  return revoked.length > 0;
};

/** @returns true if the event revokes a credential */
const applyEvent = (revocations: Revocations, event: RecordedAccessEvent): boolean => {
  const at = Date.parse(event.at);
  forgetExpired(revocations, at);
  if (event.type === 'RunnerCredentialIssued') return addCredential(revocations, event as CredentialIssued);
  const reinstated = REINSTATING_EVENTS[event.type]?.(event);
  if (reinstated !== undefined) revocations.endedAt.delete(reinstated);
  const ended = REVOKING_EVENTS[event.type]?.(event);
  return ended !== undefined && endResource(revocations, ended, at);
};

const revokedPublicKeys = (revocations: Revocations, now: number): Record<string, number> => {
  forgetExpired(revocations, now);
  const { credentials, endedAt } = revocations;
  const revoked = [...credentials.values()].filter(
    ({ expiresAt, dependencies }) => expiresAt >= now && dependencies.some((id) => endedAt.has(id)),
  );
  return Object.fromEntries(revoked.map(({ publicKey }) => [publicKey, Math.floor(now / 1_000)]));
};

/**
 * The revoked credentials of the last hour, according to the events. Older credentials have expired and are forgotten.
 */
export const createRevocationList = () => {
  const revocations: Revocations = { credentials: new Map(), endedAt: new Map() };
  return {
    /**
     * Takes the next event in log order. @returns true if it revokes a credential, so that the broker must be informed
     */
    apply: (event: RecordedAccessEvent): boolean => applyEvent(revocations, event),
    /**
     * The revoked credentials that have not expired: public key → second up to which credentials of that key are void.
     */
    current: (now: number): Record<string, number> => revokedPublicKeys(revocations, now),
  };
};

export type RevocationList = ReturnType<typeof createRevocationList>;
