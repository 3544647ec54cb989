import { type Mutant, mutantSeenBy } from './guard.ts';

/**
 * Changed copies of the code (mutants). Each copy lacks one check (guard) of invitations. The name of a mutant says
 * what is possible without the check.
 */
export const INVITATION_GUARDS: readonly Mutant[] = [
  mutantSeenBy(
    'tenants/invitation.api.test.ts',
    'invitations: an ADMIN can invite an OWNER',
    'domain/tenants/invitation.ts',
    'if (!mayInvite(callerRole, memberOf(tenant, user_id).role)) throw',
    'if (!memberOf(tenant, user_id)) throw',
  ),
  mutantSeenBy(
    'tenants/invitation.api.test.ts',
    'invitations: the key from that of an ADMIN becomes an OWNER key',
    'domain/tenants/invitation.ts',
    "const max_role = callerRole === 'OWNER' ? null : 'ADMIN';",
    'const max_role = null;',
  ),
  mutantSeenBy(
    'tenants/invitation.api.test.ts',
    'invitations: that of a suspended issuer is accepted',
    'commands/tenants/invitation.ts',
    'if (!User.isActive(issuer)) throw unknown;',
    '',
  ),
  mutantSeenBy(
    'tenants/invitation.api.test.ts',
    'invitations: one outlives the rights of its issuer',
    'domain/tenants/invitation.ts',
    ' || !isStillAllowed(tenant, invitation, user_id))',
    ')',
  ),
  mutantSeenBy(
    'tenants/invitation.api.test.ts',
    'invitations: one stays valid when the member becomes OWNER',
    'domain/tenants/tenant.ts',
    "if (data.role !== 'OWNER') return { members };",
    'if (members) return { members };',
  ),
  mutantSeenBy(
    'tenants/invitation.api.test.ts',
    'invitations: one outlives the membership',
    'domain/tenants/tenant.ts',
    '        invitations: withoutEntry(tenant.invitations, data.user_id, transient),\n',
    '',
  ),
  {
    name: 'invitations: any token that names a member is accepted',
    by: 'tenants/invitation.api.test.ts',
    edits: [['domain/tenants/invitation.ts', 'isSameDigest(invitations[user_id]?.digest ?? NO_DIGEST, digest) && ', "digest !== '' && "]],
  },
  mutantSeenBy(
    'tenants/invitation.api.test.ts',
    'invitations: one is accepted twice',
    'commands/tenants/invitation.ts',
    "if (key.status !== 'absent') throw",
    'if (false) throw',
  ),
  mutantSeenBy(
    'tenants/invitation.api.test.ts',
    'invitations: they never end',
    'domain/tenants/invitation.ts',
    'invitation.expires_at <= at',
    'false',
  ),
];
