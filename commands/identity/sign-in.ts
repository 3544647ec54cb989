import { PLATFORM } from '../../domain/event.ts';
import * as SignIn from '../../domain/identity/sign-in.ts';
import * as User from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';
import { registerUser, userId } from '../tenants/tenant.ts';
import { isAllowedAccount } from './allowed-account.ts';

/** What an issuer says of somebody; the address is verified. */
export type Claims = { readonly email: string; readonly name: string | null };

/** Whether somebody is a member of any tenant that is not closed for good. */
export type IsMember = (user_id: string) => Promise<boolean>;

/** How long a browser stays signed in. */
export const SIGN_IN_SECONDS = 12 * 3_600;

/** Whether a registered user may be in: a super-admin, one whose address is allowed, or a member of a tenant. */
const belongs = async (ctx: Ctx, { id, email, is_super_admin }: User.User, isMember: IsMember): Promise<boolean> =>
  is_super_admin || (await isAllowedAccount(ctx, email)) || (await isMember(id));

/** @throws Refusal forbidden where the user is suspended, or has no business here any more */
export const checkAdmitted = async (ctx: Ctx, user: User.User, isMember: IsMember): Promise<void> => {
  if (!User.isActive(user)) throw new Refusal('forbidden', 'this user is suspended');
  if (!(await belongs(ctx, user, isMember))) throw new Refusal('forbidden', 'this address may not sign in: ask an administrator');
};

/** The user of a verified address, registered where an allowed one comes for the first time. @throws Refusal forbidden */
export const resolveSignedInUser = async (ctx: Ctx, { email, name }: Claims, isMember: IsMember): Promise<Loaded<User.User>> => {
  const known = await ctx.load(User, userId(ctx, email));
  if (known.state.status === 'registered') {
    await checkAdmitted(ctx, known.state, isMember);
    return known;
  }
  if (!(await isAllowedAccount(ctx, email))) throw new Refusal('forbidden', 'this address may not sign in: ask an administrator');
  return registerUser(ctx, email, name);
};

/** Notes that a user came, at most once an hour. */
export const recordSeen = (ctx: Ctx, user_id: string): Promise<Loaded<User.User>> =>
  ctx.transact(User, user_id, User.recordLogin(ctx.at()));

/** Signs a browser in; `cookie` is all that it has to keep. A state counts once. @throws Refusal unauthorized */
export const signIn = async (ctx: Ctx, user_id: string, state: string): Promise<Loaded<SignIn.SignIn & { cookie: string }>> => {
  const id = ctx.uniqueId('signin', state, 0, PLATFORM);
  const cookie = `${id}.${ctx.random(32)}`;
  const expires_at = new Date(Date.parse(ctx.at()) + SIGN_IN_SECONDS * 1_000).toISOString();
  const made = await ctx.transact(SignIn, id, SignIn.begin({ user_id, digest: ctx.digest(cookie), expires_at }), { expectNew: true });
  await recordSeen(ctx, user_id);
  return { ...made, state: { ...made.state, cookie } };
};

export const signOut = (ctx: Ctx, id: string): Promise<Loaded<SignIn.SignIn>> => ctx.transact(SignIn, id, SignIn.end);
