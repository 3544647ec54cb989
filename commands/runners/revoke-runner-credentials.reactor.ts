import type * as Agent from '../../domain/agents/agent.ts';
import type { Recorded } from '../../domain/event.ts';
import type * as ApiKey from '../../domain/identity/api-key.ts';
import type * as User from '../../domain/identity/user.ts';
import { MAX_LIFETIME_SECONDS, type RunnerCredentialEvent } from '../../domain/runners/runner-credential.ts';
import type * as Tenant from '../../domain/tenants/tenant.ts';

type AccessEvent = RunnerCredentialEvent | ApiKey.ApiKeyEvent | Agent.AgentEvent | Tenant.TenantEvent | User.UserEvent;

/** An event that issues or revokes a credential, or that ends or reinstates a resource on which credentials depend. */
export type RecordedAccessEvent = Recorded<AccessEvent>;

type CredentialIssued = Recorded<Extract<AccessEvent, { type: 'RunnerCredentialIssued' }>>;

/**
 * Maps event types to functions that return the resource which an event ends or reinstates: the id of the resource, or
 * the `membershipKey` of a membership.
 */
type ResourceOf = Partial<Record<AccessEvent['type'], (event: RecordedAccessEvent) => string>>;

const membershipKey = (tenant: string, user: string): string => `${tenant}/${user}`;

const ownId = ({ id }: RecordedAccessEvent): string => id;
const membership = ({ id, data }: RecordedAccessEvent): string => membershipKey(id, (data as { user_id: string }).user_id);

/** The events that end a resource on which a credential depends. `ApiKeyRevoked` is also the event of a runner key. */
const REVOKING_EVENTS: ResourceOf = {
  RunnerCredentialRevoked: ownId,
  ApiKeyRevoked: ownId,
  AgentDeleted: ownId,
  TenantSuspended: ownId,
  TenantClosed: ownId,
  UserSuspended: ownId,
  MemberRemoved: membership,
};

/**
 * The events that reinstate a resource which had ended. New credentials that depend on the resource are then valid.
 * Credentials that were revoked before stay revoked.
 */
const REINSTATING_EVENTS: ResourceOf = {
  AgentRestored: ownId,
  TenantResumed: ownId,
  UserResumed: ownId,
  MemberAdded: membership,
};

export const revocationEventTypes = ['RunnerCredentialIssued', ...Object.keys(REVOKING_EVENTS), ...Object.keys(REINSTATING_EVENTS)];

/**
 * The maximum lifetime of a credential, in milliseconds. Events that are older than this need not be read at the start,
 * because their credentials have expired.
 */
export const MAX_LIFETIME_MS = MAX_LIFETIME_SECONDS * 1_000;

/**
 * A credential that has not expired. `dependencies` are the ids (or membership keys) of the resources on which it
 * depends.
 */
type Credential = { readonly publicKey: string; readonly expiresAt: number; readonly dependencies: readonly string[] };

/** Both maps are in the order of the events, the oldest first. Times are in milliseconds since 1970. */
type Revocations = {
  readonly credentials: Map<string, Credential>;
  /**
   * Maps the ids of resources to the times at which they ended. A resource that is reinstated is removed from the map.
   */
  readonly endedAt: Map<string, number>;
};

/**
 * Returns the ids on which a credential depends: its own id, its tenant, its agent, the API key that requested it, its
 * owner, and the membership of the owner.
 */
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

/** Adds a credential that was issued. @returns whether a resource on which the credential depends has already ended */
const addCredential = ({ credentials, endedAt }: Revocations, event: CredentialIssued): boolean => {
  const { public_key, expires_at } = event.data;
  const dependencies = dependenciesOf(event);
  credentials.set(event.id, { publicKey: public_key, expiresAt: Date.parse(expires_at), dependencies });
  return dependencies.some((id) => endedAt.has(id));
};

/**
 * Marks a resource, and every credential that depends on it, as ended. Each credential gets an entry of its own, so
 * that it stays revoked if the resource is reinstated.
 * @returns whether any credential depends on the resource
 */
const endResource = ({ credentials, endedAt }: Revocations, resource: string, at: number): boolean => {
  const revoked = [...credentials].filter(([, { dependencies }]) => dependencies.includes(resource)).map(([id]) => id);
  for (const id of [resource, ...revoked]) {
    // Delete an existing entry first, so that the new entry becomes the last one: the map must stay sorted by time.
    endedAt.delete(id);
    endedAt.set(id, at);
  }
  return revoked.length > 0;
};

/** Applies one event. @returns whether the event revokes a credential */
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
 * Creates the list of revoked credentials. A credential leaves the list when it expires, because the broker refuses
 * expired credentials anyway.
 */
export const createRevocationList = () => {
  const revocations: Revocations = { credentials: new Map(), endedAt: new Map() };
  return {
    /**
     * Applies the next event in log order.
     * @returns whether the event revokes a credential, so that the broker must get the new list
     */
    apply: (event: RecordedAccessEvent): boolean => applyEvent(revocations, event),
    /**
     * Returns the revoked credentials that have not expired yet: a map from public keys to `now` in seconds. The broker
     * refuses every credential of the public key that was issued up to this time.
     */
    current: (now: number): Record<string, number> => revokedPublicKeys(revocations, now),
  };
};

export type RevocationList = ReturnType<typeof createRevocationList>;
