import { z } from 'zod';
import { PLATFORM } from '../../domain/event.ts';
import { displayText } from '../../domain/fields.ts';
import * as User from '../../domain/identity/user.ts';
import type { Ctx, Input, UsesSecrets } from '../context.ts';

export const AdminUserUpdate = z
  .strictObject({
    is_suspended: z.boolean().nullish().meta({ description: 'Whether the user and their keys are refused' }),
    is_super_admin: z.boolean().nullish().meta({ description: 'Whether the user operates the platform' }),
    reason: displayText(1, 1024).nullish().meta({ description: 'Why; the audit log shows it' }),
  })
  .meta({ id: 'AdminUserUpdate', examples: [{ is_suspended: true, reason: 'Left the company' }] });

/** Returns the id that a user with this e-mail address has, or will get. */
export const userIdOf = (ctx: UsesSecrets<'uniqueId'>, email: string): string =>
  ctx.secrets.uniqueId('user', email.toLowerCase(), 0, PLATFORM);

/** Registers the user if there is none. */
export const registerUser = (ctx: Pick<Ctx, 'transact'> & UsesSecrets<'uniqueId'>, email: string, name: string | null = null) =>
  ctx.transact(User, userIdOf(ctx, email), User.register(email.toLowerCase(), name), { expectNew: true, ignoreExpectedRevision: true });

/** Changes a user as a super-admin. @throws Refusal not_found, conflict if super-admins would suspend themselves or take away their own access */
export const updateUser = (
  ctx: Ctx,
  { user_id, is_suspended, is_super_admin, reason = null }: Input<typeof AdminUserUpdate, 'user_id'>,
) => {
  const isSelf = ctx.principal.kind === 'user' && ctx.principal.user_id === user_id;
  const changes = { is_suspended: is_suspended ?? undefined, is_super_admin: is_super_admin ?? undefined, reason };
  return ctx.transact(User, user_id, User.change(changes, isSelf));
};
