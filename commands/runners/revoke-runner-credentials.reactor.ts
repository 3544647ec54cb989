import type * as Agent from '../../domain/agents/agent.ts';
import type { Recorded } from '../../domain/event.ts';
import type * as ApiKey from '../../domain/identity/api-key.ts';
import type * as User from '../../domain/identity/user.ts';
import { MAX_LIFETIME_SECONDS, type RunnerCredentialEvent } from '../../domain/runners/runner-credential.ts';
import type * as Tenant from '../../domain/tenants/tenant.ts';

type AccessEvent = RunnerCredentialEvent | ApiKey.ApiKeyEvent | Agent.AgentEvent | Tenant.TenantEvent | User.UserEvent;

/** Issues or revokes a credential, or ends or reinstates a resource on which credentials depend. */
export type RecordedAccessEvent = Recorded<AccessEvent>;

type CredentialIssued = Recorded<Extract<AccessEvent, { type: 'RunnerCredentialIssued' }>>;

/** The resource that an event ends or reinstates: its id, or the `membershipKey` of a membership. */
type ResourceOf = Partial<Record<AccessEvent['type'], (event: RecordedAccessEvent) => string>>;

const membershipKey = (tenant: string, user: string): string => `${tenant}/${user}`;

const ownId = ({ id }: RecordedAccessEvent): string => id;
const membership = ({ id, data }: RecordedAccessEvent): string => membershipKey(id, (data as { user_id: string }).user_id);

/** Events that end a resource on which a credential depends. `ApiKeyRevoked` is also the event of a runner key. */
const REVOKING_EVENTS: ResourceOf = {
  RunnerCredentialRevoked: ownId,
  ApiKeyRevoked: ownId,
  AgentDeleted: ownId,
  TenantSuspended: ownId,
  TenantClosed: ownId,
  UserSuspended: ownId,
  MemberRemoved: membership,
};

/** Credentials that are issued after such an event are valid; those that were revoked stay revoked. */
const REINSTATING_EVENTS: ResourceOf = {
  AgentRestored: ownId,
  TenantResumed: ownId,
  UserResumed: ownId,
  MemberAdded: membership,
};

export const revocationEventTypes = ['RunnerCredentialIssued', ...Object.keys(REVOKING_EVENTS), ...Object.keys(REINSTATING_EVENTS)];

/** Older events need not be read at the start: their credentials have expired. */
export const MAX_LIFETIME_MS = MAX_LIFETIME_SECONDS * 1_000;

/** A credential that has not expired. `dependencies`: ids (or membership keys) of resources. */
type Credential = { readonly publicKey: string; readonly expiresAt: number; readonly dependencies: readonly string[] };

/** Both maps are in the order of the events. Times are in milliseconds since 1970. */
type Revocations = {
  readonly credentials: Map<string, Credential>;
  /** Times by resource id; a reinstated resource is removed. */
  readonly endedAt: Map<string, number>;
};

/** Returns the ids on which a credential depends: of itself, tenant, agent, the requesting API key, its owner, and the owner's membership. */
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

/** @returns whether a resource on which the credential depends has already ended */
const addCredential = ({ credentials, endedAt }: Revocations, event: CredentialIssued): boolean => {
  const { public_key, expires_at } = event.data;
  const dependencies = dependenciesOf(event);
  credentials.set(event.id, { publicKey: public_key, expiresAt: Date.parse(expires_at), dependencies });
  return dependencies.some((id) => endedAt.has(id));
};

/** Each dependent credential gets an entry, so that it stays revoked if the resource is reinstated. @returns whether there is any */
const endResource = ({ credentials, endedAt }: Revocations, resource: string, at: number): boolean => {
  const revoked = [...credentials].filter(([, { dependencies }]) => dependencies.includes(resource)).map(([id]) => id);
  for (const id of [resource, ...revoked]) {
    // The new entry becomes the last one: the map must stay sorted by time.
    endedAt.delete(id);
    endedAt.set(id, at);
  }
  return revoked.length > 0;
};

/** @returns whether the event revokes a credential */
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

/** A credential leaves the list when it expires, because the broker refuses it anyway. */
export const createRevocationList = () => {
  const revocations: Revocations = { credentials: new Map(), endedAt: new Map() };
  return {
    /** Call in log order. @returns whether the event revokes a credential, so that the broker must get the new list */
    apply: (event: RecordedAccessEvent): boolean => applyEvent(revocations, event),
    /** Revoked credentials that have not expired, as public keys with `now` in seconds: the broker refuses what was issued up to this time. */
    current: (now: number): Record<string, number> => revokedPublicKeys(revocations, now),
  };
};

export type RevocationList = ReturnType<typeof createRevocationList>;
