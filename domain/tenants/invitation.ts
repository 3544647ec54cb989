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

/**
 * Builds the token of an invitation: `inv_<tenant id>_<user id>_<secret><checksum>`. `secret` has 32 base62 characters.
 */
export const buildToken = ({ tenant_id, user_id }: Invitee, secret: string): string =>
  withChecksum(`inv_${tenant_id}_${user_id}_${secret}`);

/**
 * Returns the tenant and the member that are named in a token; null if the form or the checksum of the token is wrong.
 * So a token with a typing error is refused without reading the log.
 */
export const inviteeOf = (token: string): Invitee | null => {
  const match = TOKEN.exec(token);
  return match && hasChecksum(token) ? { tenant_id: match[1]!, user_id: match[2]! } : null;
};

/**
 * Returns whether a member with the role `issuerRole` may invite a member with the role `role`. The issuer sees the
 * token, and could use it to act as the invited member; so nobody may invite a member who has more rights than the
 * issuer.
 */
const mayInvite = (issuerRole: TenantRole | undefined, role: TenantRole): boolean =>
  issuerRole === 'OWNER' || (issuerRole !== undefined && ISSUERS.includes(issuerRole) && role !== 'OWNER');

/**
 * Issues an invitation to a member. It replaces an earlier one of the same member. `digest` is the digest of its token,
 * and `expires_at` is RFC 3339 UTC. The issuer knows the token and could use it. Therefore, the API key of the invited
 * member is limited to the role of the issuer, even if the member becomes OWNER later (see `maxRoleOf`).
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

/** Returns whether this is the digest of the member's latest invitation. The comparison takes constant time. */
export const isInvitation = ({ invitations }: Tenant, user_id: string, digest: string): boolean =>
  isSameDigest(invitations[user_id]?.digest ?? NO_DIGEST, digest) && invitations[user_id] !== undefined;

const isStillAllowed = ({ members }: Tenant, { issuer_id }: Invitation, user_id: string): boolean => {
  const member = members[user_id];
  return member !== undefined && mayInvite(members[issuer_id]?.role, member.role);
};

/** The same text for each token that is not the latest of its member, so that it does not reveal who is a member. */
export const NOT_VALID = 'The invitation is not valid: ask for another one';

/**
 * Returns why an existing invitation can no longer be accepted at the time `at` (RFC 3339 UTC); null if it can be. It is
 * withdrawn if its issuer may not issue such an invitation any more.
 */
export const whyNot = (tenant: Tenant, user_id: string, at: string): 'withdrawn' | 'expired' | null => {
  const invitation = tenant.invitations[user_id];
  if (!invitation || !isStillAllowed(tenant, invitation, user_id)) return 'withdrawn';
  return invitation.expires_at <= at ? 'expired' : null;
};

/**
 * Returns the highest role for the API key that the member's invitation gives. Null (no limit) if the issuer was OWNER
 * when the invitation was issued and still is; otherwise ADMIN. The member must have an invitation.
 */
export const maxRoleOf = ({ members, invitations }: Tenant, user_id: string): 'ADMIN' | null => {
  const { max_role, issuer_id } = invitations[user_id]!;
  return max_role === null && members[issuer_id]?.role === 'OWNER' ? null : 'ADMIN';
};

/**
 * Accepts an invitation at the time `at` (RFC 3339 UTC). `key_id` is the id of the API key that the member gets. If the
 * same invitation was accepted before, returns no events: the API key then exists.
 * @throws Refusal unauthorized if the invitation was replaced or withdrawn or has expired, tenant_suspended if the
 * tenant is suspended
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
