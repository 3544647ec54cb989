import { PLATFORM } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import * as SignInLink from '../../domain/identity/sign-in-link.ts';
import * as User from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Ctx, Loaded } from '../context.ts';
import { ADMIN_EMAIL } from './admin-key.ts';
import type { KeyContext } from './api-key.ts';
import { userIdOf } from './user.ts';

export const LINK_TTL_MINUTES = 10;
/** 43 base62 characters have about as many possible values as 256 random bits. */
const CODE_CHARACTERS = 43;

const noEvents = () => [];

const issueLink = async (ctx: KeyContext, user_id: string): Promise<string> => {
  const random = ctx.secrets.random(CODE_CHARACTERS);
  const id = ctx.secrets.uniqueId('signinlink', random);
  const code = `${id}.${random}`;
  const expires_at = new Date(Date.parse(ctx.at()) + LINK_TTL_MINUTES * 60_000).toISOString();
  await ctx.transact(SignInLink, id, SignInLink.issue({ user_id, digest: ctx.secrets.digest(code), expires_at }), { expectNew: true });
  return code;
};

/** Returns the code. By default, for the super-admin that the first start creates. @throws Refusal not_found without an active user */
export const issueSignInLink = async (ctx: KeyContext, email: string = ADMIN_EMAIL): Promise<string> => {
  const { id, state: user } = await ctx.transact(User, userIdOf(ctx, email), noEvents, { tenant: PLATFORM });
  if (!User.isActive(user)) throw new Refusal('not_found', `No active user has the e-mail address ${email}`);
  return issueLink(ctx, id);
};

type SuperAdminLink = { readonly code: string; readonly email: string };

/**
 * Issues a link for the super-admin of the first start or, if inactive, the first active of `candidates` (users who have been super-admins;
 * read only if needed).
 * @throws Refusal not_found if no super-admin is active
 */
export const issueSuperAdminLink = async (ctx: KeyContext, candidates: () => Promise<readonly string[]>): Promise<SuperAdminLink> => {
  const activeEmail = async (id: string): Promise<string | null> => {
    const { state: user } = await ctx.transact(User, id, noEvents, { tenant: PLATFORM });
    return User.isActive(user) && user.is_super_admin ? user.email : null;
  };
  const own = userIdOf(ctx, ADMIN_EMAIL);
  const ownEmail = await activeEmail(own);
  if (ownEmail !== null) return { code: await issueLink(ctx, own), email: ownEmail };
  for (const id of await candidates()) {
    const email = await activeEmail(id);
    if (email !== null) return { code: await issueLink(ctx, id), email };
  }
  throw new Refusal('not_found', 'No super-admin is active: annals keys create --super-admin resumes the one of the first start');
};

/**
 * Uses the link, which then cannot be used again.
 * @throws Refusal unauthorized if the code is wrong, or if the link has expired or was used before
 */
export const spendSignInLink = (ctx: Ctx, code: string, ip: string | null): Promise<Loaded<SignInLink.SignInLink>> => {
  const [id = ''] = code.split('.');
  const use = SignInLink.use(ctx.secrets.digest(code), { ip, at: ctx.at() });
  return ctx.transact(SignInLink, isId25(id) ? id : ctx.secrets.uniqueId('signinlink', code), use);
};
