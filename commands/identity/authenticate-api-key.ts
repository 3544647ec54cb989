import { PLATFORM } from '../../domain/event.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { publicIdOf } from '../../domain/identity/api-key-format.ts';
import * as User from '../../domain/identity/user.ts';
import { type Principal, tenantSuspended } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { lesserRole } from '../../domain/tenants/tenant-role.ts';
import type { AggregateReader } from '../context.ts';

export type ApiKeyAuthenticatorDeps = {
  readonly cache: AggregateReader;
  readonly uniqueId: (kind: string, tenant: string, key: string) => string;
  readonly digest: (text: string) => string;
  /** Keys that this process has verified: texts mapped to ids. */
  readonly verifiedKeys: { readonly get: (text: string) => string | undefined; readonly set: (text: string, id: string) => void };
  /** Called after the key has authenticated a request. `principal` is its caller. */
  readonly onKeyUsed: (key: ApiKey.ApiKey, principal: Principal) => void;
  readonly now: () => number;
};

export type ApiKeyAuthenticator = {
  /** Undefined if the text does not have the form of an API key. @throws Refusal unauthorized if there is no such key */
  readonly findKey: (text: string) => ApiKey.ApiKey | Promise<ApiKey.ApiKey> | undefined;
  /** The caller of a verified key. @throws Refusal unauthorized, key_expired, key_owner_inactive, tenant_suspended */
  readonly principalOf: (key: ApiKey.ApiKey) => Promise<Principal>;
  /** The status is 'absent' if there is none. */
  readonly loadKey: (id: string) => Promise<ApiKey.ApiKey>;
};

export const unauthorized = (detail = 'Send Authorization: Bearer <API key>') => new Refusal('unauthorized', detail);

/** Returns a name that no public id can have, because it contains `?`. It has the length of one, and depends on the key that was sent. */
const unusedNameFor = (text: string): string => `?${text.slice(-7)}`;

export const createApiKeyAuthenticator = (deps: ApiKeyAuthenticatorDeps): ApiKeyAuthenticator => {
  const { cache, uniqueId, digest, verifiedKeys, onKeyUsed, now } = deps;

  /**
   * A wrong key always costs one read of the log, even if the key with this public id is in memory: the response time does not reveal
   * which public ids exist.
   */
  const verify = async (text: string, publicId: string): Promise<ApiKey.ApiKey> => {
    const claimed = digest(text);
    const [id, unusedId] = [publicId, unusedNameFor(text)].map((name) => uniqueId('apikey', PLATFORM, name)) as [string, string];
    const known = cache.peek(ApiKey, PLATFORM, id)?.state;
    const isKnown = ApiKey.matches(known ?? ApiKey.initial, claimed);
    const key = isKnown ? known! : (await cache.load(ApiKey, PLATFORM, known ? unusedId : id)).state;
    if (!ApiKey.matches(key, claimed)) throw unauthorized('The API key is not valid');
    verifiedKeys.set(text, key.id);
    return key;
  };

  const loadKey = async (id: string): Promise<ApiKey.ApiKey> => (await cache.loadCached(ApiKey, PLATFORM, id)).state;

  const loadOwner = async (key: ApiKey.ApiKey): Promise<User.User> => {
    const { state: user } = await cache.loadCached(User, PLATFORM, key.owner_id);
    if (!User.isActive(user)) throw new Refusal('key_owner_inactive', 'The owner of this API key is suspended or does not exist');
    return user;
  };

  const identify = async (key: ApiKey.ApiKey): Promise<Principal> => {
    const user = await loadOwner(key);
    const limits = { ...(key.read_only ? { read_only: true as const } : {}), ...(key.role ? { max_role: key.role } : {}) };
    if (key.kind === 'platform') return { ...User.principalOf(user), ...limits, key_id: key.id };
    const { state: tenant } = await cache.loadCached(Tenant, key.tenant_id!, key.tenant_id!);
    if (Tenant.isClosed(tenant)) throw unauthorized('The API key is not valid');
    if (!tenant.members[user.id]) throw new Refusal('key_owner_inactive', 'The owner of this API key is no longer a member of the tenant');
    if (tenant.is_suspended && key.kind === 'tenant') throw tenantSuspended();
    if (key.role && !lesserRole(tenant.members[user.id]!.role, key.role))
      throw new Refusal('key_owner_inactive', `The owner of this API key may no longer act as ${key.role}`);
    return key.kind === 'tenant'
      ? { kind: 'user', user_id: user.id, key_id: key.id, bound_to: key.tenant_id, super_admin: false, ...limits }
      : {
          kind: 'runner',
          agent_id: key.agent_id!,
          tenant_id: key.tenant_id!,
          key_id: key.id,
          ...(key.read_only ? { read_only: true } : {}),
          ...(tenant.is_suspended ? { is_suspended: true } : {}),
        };
  };

  return {
    loadKey,
    findKey: (text) => {
      const id = verifiedKeys.get(text);
      if (id) return loadKey(id);
      const publicId = publicIdOf(text);
      return publicId ? verify(text, publicId) : undefined;
    },
    principalOf: async (key) => {
      if (key.status !== 'active') throw unauthorized('The API key is not valid');
      if (key.expires_at !== null && Date.parse(key.expires_at) <= now())
        throw new Refusal('key_expired', `The API key expired at ${key.expires_at}`);
      const principal = await identify(key);
      onKeyUsed(key, principal);
      return principal;
    },
  };
};
