import { PLATFORM } from '../../domain/event.ts';
import * as SignIn from '../../domain/identity/sign-in.ts';
import * as User from '../../domain/identity/user.ts';
import { notFound, Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';
import { isAllowedAccount } from './allowed-account.ts';
import type { IsMember } from './membership.ts';
import { registerUser, userIdOf } from './user.ts';

/** What a token issuer states. The e-mail address is verified. */
export type Claims = { readonly email: string; readonly name: string | null };

export const SIGN_IN_TTL_SECONDS = 12 * 3_600;

const addressNotAllowed = () => new Refusal('forbidden', 'This address may not sign in: ask an administrator');

/** Super-admins, users whose e-mail address is allowed, and members of a tenant have access. */
const hasAccess = async (ctx: Ctx, { id, email, is_super_admin }: User.User, isMember: IsMember): Promise<boolean> =>
  is_super_admin || (await isAllowedAccount(ctx, email)) || (await isMember(id));

/** @throws Refusal forbidden if the user is suspended or has no access */
export const assertMaySignIn = async (ctx: Ctx, user: User.User, isMember: IsMember): Promise<void> => {
  if (!User.isActive(user)) throw new Refusal('forbidden', 'This user is suspended');
  if (!(await hasAccess(ctx, user, isMember))) throw addressNotAllowed();
};

/**
 * Finds the user with a verified e-mail address; registers the user if the address may sign in.
 * @throws Refusal forbidden if the user may not sign in
 */
export const resolveSignedInUser = async (ctx: Ctx, { email, name }: Claims, isMember: IsMember): Promise<Loaded<User.User>> => {
  const known = await ctx.load(User, userIdOf(ctx, email));
  if (known.state.status === 'registered') {
    await assertMaySignIn(ctx, known.state, isMember);
    return known;
  }
  if (!(await isAllowedAccount(ctx, email))) throw addressNotAllowed();
  return registerUser(ctx, email, name);
};

/** Records at most once an hour that the user was seen. */
export const recordSeen = (ctx: Ctx, user_id: string): Promise<Loaded<User.User>> =>
  ctx.transact(User, user_id, User.recordLogin(ctx.at()));

/** Each sign-in has a different `state`; for OIDC, that of the OAuth flow. `key`: the API key with which the browser signs in. */
export type SignInBy = {
  readonly by: SignIn.SignInWay;
  readonly state: string;
  readonly key?: { readonly id: string; readonly expires_at: string | null };
};

/**
 * Returns the session cookie. The id is derived from `state`, so each works only once. A session by an API key ends with the key.
 * @throws Refusal unauthorized if this `state` was used before
 */
export const signIn = async (ctx: Ctx, user_id: string, how: SignInBy): Promise<Loaded<SignIn.SignIn & { cookie: string }>> => {
  const { by, state, key } = how;
  const id = ctx.secrets.uniqueId('signin', state, 0, PLATFORM);
  const cookie = `${id}.${ctx.secrets.random(32)}`;
  const latest = new Date(Date.parse(ctx.at()) + SIGN_IN_TTL_SECONDS * 1_000).toISOString();
  const expires_at = key?.expires_at && key.expires_at < latest ? key.expires_at : latest;
  const fields = { user_id, digest: ctx.secrets.digest(cookie), expires_at, by, key_id: key?.id ?? null };
  const created = await ctx.transact(SignIn, id, SignIn.start(fields), { expectNew: true, ignoreExpectedRevision: true });
  await recordSeen(ctx, user_id);
  return { ...created, state: { ...created.state, cookie } };
};

/** All sign-ins of a user or, with `key_id`, only those by this API key. */
export type SignInOwner = { readonly user_id: string; readonly key_id?: string | undefined };

/**
 * Selects the caller's own sign-ins; for an API key of one tenant, only sign-ins with this key.
 * @throws Refusal forbidden if the caller is not a user
 */
export const signInOwner = ({ principal }: Pick<Ctx, 'principal'>): SignInOwner => {
  if (principal.kind !== 'user') throw new Refusal('forbidden', 'Only a user has sign-ins');
  const { user_id, bound_to, key_id } = principal;
  return { user_id, ...(bound_to !== null && key_id !== null && { key_id }) };
};

/** Only the caller's own. @throws Refusal forbidden, not_found if it belongs to another user or has ended */
export const endOwnSignIn = (ctx: Ctx, id: string): Promise<Loaded<SignIn.SignIn>> => {
  const { user_id, key_id } = signInOwner(ctx);
  return ctx.transact(SignIn, id, (signIn) => {
    const isOwn = signIn.user_id === user_id && (key_id === undefined || signIn.key_id === key_id);
    if (!isOwn || signIn.status !== 'active') throw notFound();
    return SignIn.end(signIn);
  });
};

export const signOut = (ctx: Ctx, id: string): Promise<Loaded<SignIn.SignIn>> => ctx.transact(SignIn, id, SignIn.end);
