import type { Aggregate } from '../../domain/aggregate.ts';
import { type DomainEvent, PLATFORM } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { publicIdOf } from '../../domain/identity/api-key-format.ts';
import * as SignIn from '../../domain/identity/sign-in.ts';
import * as User from '../../domain/identity/user.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Loaded } from '../context.ts';
import { type Claims, checkAdmitted, type IsMember, resolveSignedInUser } from './sign-in.ts';

/** What authentication stands on; `load` answers from memory where it can. */
export type AuthDeps = {
  peek: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Loaded<S> | undefined;
  load: <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string) => Promise<Loaded<S>>;
  uniqueId: (kind: string, tenant: string, key: string) => string;
  digest: (text: string) => string;
  /** The ids of keys that were good here before, by their text. */
  proven: { readonly get: (text: string) => string | undefined; readonly set: (text: string, id: string) => void };
  /** Told of each use of a key; it notes one an hour. */
  used: (key: ApiKey.ApiKey) => void;
  /** Told of each request of a user who came without a key; it notes one an hour. */
  seen: (user: User.User) => void;
  /** What a token of the configured issuer says; null where none is configured. @throws Refusal unauthorized, unavailable */
  verify: ((token: string) => Promise<Claims>) | null;
  isMember: IsMember;
  /** A context in which the platform itself acts. */
  context: () => Ctx;
  now: () => number;
};

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;
/** As long as a public id, another for every key, and none. */
const anonymous = (key: string): string => `?${key.slice(-7)}`;
const unauthorized = (detail = 'send Authorization: Bearer <API key>') => new Refusal('unauthorized', detail);

/** Somebody who came without a key: they may do what they may, wherever they are a member. */
export const asUser = ({ id, is_super_admin }: User.User): Principal & { kind: 'user' } => ({
  kind: 'user',
  user_id: id,
  key_id: null,
  bound_to: null,
  super_admin: is_super_admin,
});

/** Finds out who asks: by an API key, by a token of the issuer, or by the cookie of a browser that signed in. */
export const authenticator = ({ peek, load, uniqueId, digest, proven, used, seen, verify, isMember, context, now }: AuthDeps) => {
  const read = async <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string): Promise<S> =>
    (peek(aggregate, tenant, id) ?? (await load(aggregate, tenant, id))).state;

  const owner = async (key: ApiKey.ApiKey): Promise<User.User> => {
    const user = await read(User, PLATFORM, key.owner_id);
    if (!User.isActive(user)) throw new Refusal('key_owner_inactive', 'who made this key is not active any more');
    return user;
  };

  const principalOf = async (key: ApiKey.ApiKey): Promise<Principal> => {
    const user = await owner(key);
    if (key.kind === 'platform') return { ...asUser(user), key_id: key.id };
    const tenant = await read(Tenant, key.tenant_id!, key.tenant_id!);
    if (Tenant.isClosed(tenant)) throw unauthorized('the API key is not known');
    if (!tenant.members[user.id]) throw new Refusal('key_owner_inactive', 'who made this key is not a member any more');
    if (tenant.is_suspended) throw new Refusal('tenant_suspended', 'the tenant is suspended');
    return key.kind === 'tenant'
      ? { kind: 'user', user_id: user.id, key_id: key.id, bound_to: key.tenant_id, super_admin: false }
      : { kind: 'runner', agent_id: key.agent_id!, tenant_id: key.tenant_id!, key_id: key.id };
  };

  /** What is no key costs one look into the log, whether its public id is known or not, so that the time tells nobody which are. */
  const proved = async (text: string, publicId: string): Promise<ApiKey.ApiKey> => {
    const claimed = digest(text);
    const [id, none] = [publicId, anonymous(text)].map((name) => uniqueId('apikey', PLATFORM, name)) as [string, string];
    const known = peek(ApiKey, PLATFORM, id)?.state;
    const isKnown = ApiKey.matches(known ?? ApiKey.initial, claimed);
    const key = isKnown ? known! : (await load(ApiKey, PLATFORM, known ? none : id)).state;
    if (!ApiKey.matches(key, claimed)) throw unauthorized('the API key is not known');
    return key;
  };

  const admitted = async (key: ApiKey.ApiKey): Promise<Principal> => {
    if (key.status !== 'active') throw unauthorized('the API key is not known');
    if (key.expires_at !== null && Date.parse(key.expires_at) <= now())
      throw new Refusal('key_expired', `the API key expired at ${key.expires_at}`);
    const principal = await principalOf(key);
    used(key);
    return principal;
  };

  const byToken = async (claims: Claims): Promise<Principal> => {
    const { state } = await resolveSignedInUser(context(), claims, isMember);
    seen(state);
    return asUser(state);
  };

  return {
    /** By the Authorization header. @throws Refusal unauthorized, key_expired, key_owner_inactive, forbidden, unavailable */
    byHeader: async (authorization: string | undefined): Promise<Principal> => {
      const text = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
      const id = text && proven.get(text);
      if (id) return admitted(await read(ApiKey, PLATFORM, id));
      const publicId = text ? publicIdOf(text) : null;
      if (text && publicId) {
        const key = await proved(text, publicId);
        proven.set(text, key.id);
        return admitted(key);
      }
      if (text && verify && TOKEN.test(text)) return byToken(await verify(text));
      throw unauthorized();
    },
    /** By the cookie of a sign-in. @throws Refusal unauthorized, forbidden, unavailable */
    byCookie: async (cookie: string): Promise<Principal & { sign_in_id: string }> => {
      const [id = ''] = cookie.split('.');
      const signIn = isId25(id) ? await read(SignIn, PLATFORM, id) : SignIn.initial;
      if (!SignIn.isValidFor(signIn, digest(cookie), now())) throw unauthorized('sign in again: /auth/login');
      const user = await read(User, PLATFORM, signIn.user_id);
      await checkAdmitted(context(), user, isMember);
      seen(user);
      return { ...asUser(user), sign_in_id: id };
    },
  };
};
