import * as ApiKey from '../../domain/identity/api-key.ts';
import { publicIdOf } from '../../domain/identity/api-key-format.ts';
import * as User from '../../domain/identity/user.ts';
import type { Ctx } from '../context.ts';
import { apiKeyIdOf, issueKey, type KeyContext } from './api-key.ts';
import { registerUser } from './user.ts';

/** The e-mail address of the super-admin that the first start creates. Nobody can receive mail there. */
export const ADMIN_EMAIL = 'admin@annals.localhost';
export const ADMIN_NAME = 'Administrator';

/**
 * Creates a platform key for an operator who has no other key. Its owner is the super-admin that the first start
 * creates; if this user is suspended or no longer a super-admin, this is undone first. `reason` is stored with these
 * changes.
 */
export const createSuperAdminKey = async (ctx: KeyContext, name: string, reason: string) => {
  const admin = await registerUser(ctx, ADMIN_EMAIL, ADMIN_NAME);
  await ctx.transact(User, admin.id, User.change({ is_suspended: false, is_super_admin: true, reason }, false));
  return issueKey(ctx, { kind: 'platform', tenant_id: null, agent_id: null, owner_id: admin.id }, { name, expires_at: null });
};

/**
 * Returns the reason why this text is not a valid API key of a super-admin at the time `at` (RFC 3339 UTC); null if it
 * is valid.
 */
export const faultOfAdminKey = async (ctx: Pick<Ctx, 'load' | 'uniqueId' | 'digest' | 'at'>, text: string): Promise<string | null> => {
  const publicId = publicIdOf(text);
  const { state: key } = await ctx.load(ApiKey, apiKeyIdOf(ctx, publicId ?? ''));
  if (!ApiKey.matches(key, ctx.digest(text))) return 'the platform does not know it';
  if (key.status === 'revoked') return 'it was revoked';
  if (key.expires_at !== null && key.expires_at <= ctx.at()) return `it expired at ${key.expires_at}`;
  if (key.kind !== 'platform') return 'it is not a key of the platform';
  const { state: owner } = await ctx.load(User, key.owner_id);
  return User.isActive(owner) && owner.is_super_admin ? null : 'its owner is suspended or is no super-admin';
};
