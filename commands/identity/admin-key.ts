import * as ApiKey from '../../domain/identity/api-key.ts';
import { publicIdOf } from '../../domain/identity/api-key-format.ts';
import * as User from '../../domain/identity/user.ts';
import type { Ctx, UsesSecrets } from '../context.ts';
import { apiKeyIdOf, issueKey, type KeyContext } from './api-key.ts';
import { registerUser } from './user.ts';

/** The super-admin that the first start creates. The address cannot receive mail. */
export const ADMIN_EMAIL = 'admin@annals.localhost';
export const ADMIN_NAME = 'Administrator';

/**
 * Creates a key for an operator who has none. The owner is the super-admin of the first start, who is made active and a super-admin again
 * if needed. `reason` is stored.
 */
export const createSuperAdminKey = async (ctx: KeyContext, name: string, reason: string) => {
  const admin = await registerUser(ctx, ADMIN_EMAIL, ADMIN_NAME);
  await ctx.transact(User, admin.id, User.change({ is_suspended: false, is_super_admin: true, reason }, false));
  return issueKey(ctx, { kind: 'platform', tenant_id: null, agent_id: null, owner_id: admin.id }, { name, expires_at: null });
};

/** Why the text is not a valid API key of a super-admin at `at` (RFC 3339 UTC). */
export const faultOfAdminKey = async (
  ctx: Pick<Ctx, 'load' | 'at'> & UsesSecrets<'uniqueId' | 'digest'>,
  text: string,
): Promise<string | null> => {
  const publicId = publicIdOf(text);
  const { state: key } = await ctx.load(ApiKey, apiKeyIdOf(ctx, publicId ?? ''));
  if (!ApiKey.matches(key, ctx.secrets.digest(text))) return 'the platform does not know it';
  if (key.status === 'revoked') return 'it was revoked';
  if (key.expires_at !== null && key.expires_at <= ctx.at()) return `it expired at ${key.expires_at}`;
  if (key.kind !== 'platform') return 'it is not a key of the platform';
  const { state: owner } = await ctx.load(User, key.owner_id);
  return User.isActive(owner) && owner.is_super_admin ? null : 'its owner is suspended or is not a super-admin';
};
