import { hasChecksum, withChecksum } from '../checksum.ts';
import { isSameDigest, NO_DIGEST } from '../digest.ts';
import { Refusal } from '../refusal.ts';
import { memberOf } from './member.ts';
import { assertExists, type Tenant, type TenantEvent } from './tenant.ts';
import type { Invitation } from './tenant-member.ts';
import type { TenantRole } from './tenant-role.ts';

export const INVITATION_LIFETIME_HOURS = 72;

const TOKEN = /^inv_(c[a-z0-9]{24})_(c[a-z0-9]{24})_[0-9A-Za-z]{38}$/;
const ISSUERS: readonly TenantRole[] = ['OWNER', 'ADMIN'];

export type Invitee = { readonly tenant_id: string; readonly user_id: string };

/** `inv_<tenant id>_<user id>_<secret><checksum>`; `secret` has 32 base62 characters. */
export const buildToken = ({ tenant_id, user_id }: Invitee, secret: string): string =>
  withChecksum(`inv_${tenant_id}_${user_id}_${secret}`);

/** Null if the form or the checksum is wrong: a token with a typing error is refused without reading the log. */
export const inviteeOf = (token: string): Invitee | null => {
  const match = TOKEN.exec(token);
  return match && hasChecksum(token) ? { tenant_id: match[1]!, user_id: match[2]! } : null;
};

/** The issuer sees the token, and could use it: the invited member must not have more rights than the issuer. */
const mayInvite = (issuerRole: TenantRole | undefined, role: TenantRole): boolean =>
  issuerRole === 'OWNER' || (issuerRole !== undefined && ISSUERS.includes(issuerRole) && role !== 'OWNER');

/**
 * Replaces the member's earlier invitation. `digest` of the token; `expires_at` is RFC 3339 UTC. The issuer could use the token: the
 * invited member's API key is limited to the issuer's role, even if the member becomes OWNER later (see `maxRoleOf`).
 * @throws Refusal not_found if there is no such member, forbidden if the member has more rights than the issuer
 */
export const issue =
  (user_id: string, callerRole: TenantRole, invitation: { digest: string; expires_at: string }) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    if (!mayInvite(callerRole, memberOf(tenant, user_id).role)) throw new Refusal('forbidden', 'Only an OWNER may invite an OWNER');
    const max_role = callerRole === 'OWNER' ? null : 'ADMIN';
    return [{ type: 'MemberInvitationIssued', data: { user_id, ...invitation, max_role } }];
  };

/** Whether the digest is that of the member's latest invitation. Takes constant time. */
export const isInvitation = ({ invitations }: Tenant, user_id: string, digest: string): boolean =>
  isSameDigest(invitations[user_id]?.digest ?? NO_DIGEST, digest) && invitations[user_id] !== undefined;

const isStillAllowed = ({ members }: Tenant, { issuer_id }: Invitation, user_id: string): boolean => {
  const member = members[user_id];
  return member !== undefined && mayInvite(members[issuer_id]?.role, member.role);
};

/** For each token that is not the latest of its member, so that it does not reveal who is a member. */
export const NOT_VALID = 'The invitation is not valid: ask for another one';

/** Why it can no longer be accepted at `at` (RFC 3339 UTC). Withdrawn: its issuer may not issue such an invitation any more. */
export const whyNot = (tenant: Tenant, user_id: string, at: string): 'withdrawn' | 'expired' | null => {
  const invitation = tenant.invitations[user_id];
  if (!invitation || !isStillAllowed(tenant, invitation, user_id)) return 'withdrawn';
  return invitation.expires_at <= at ? 'expired' : null;
};

/**
 * Returns the maximum role for the API key of the member's invitation, which must exist. Null (no limit) if the issuer was OWNER then and
 * still is; otherwise ADMIN.
 */
export const maxRoleOf = ({ members, invitations }: Tenant, user_id: string): 'ADMIN' | null => {
  const { max_role, issuer_id } = invitations[user_id]!;
  return max_role === null && members[issuer_id]?.role === 'OWNER' ? null : 'ADMIN';
};

/**
 * `at` is RFC 3339 UTC; `key_id`: the API key that the member gets. No events if this invitation was accepted before.
 * @throws Refusal unauthorized if it was replaced or withdrawn or has expired, tenant_suspended
 */
export const accept =
  (user_id: string, digest: string, key_id: string, at: string) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    const reason = whyNot(tenant, user_id, at);
    if (!isInvitation(tenant, user_id, digest) || reason === 'withdrawn') throw new Refusal('unauthorized', NOT_VALID);
    if (tenant.is_suspended) throw new Refusal('tenant_suspended', 'The tenant is suspended');
    const invitation = tenant.invitations[user_id]!;
    if (reason === 'expired') throw new Refusal('unauthorized', `The invitation expired at ${invitation.expires_at}: ask for another one`);
    return invitation.key_id === null ? [{ type: 'MemberInvitationAccepted', data: { user_id, key_id } }] : [];
  };
