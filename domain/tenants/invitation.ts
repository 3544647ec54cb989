import { hasChecksum, withChecksum } from '../checksum.ts';
import { isSameDigest, NO_DIGEST } from '../digest.ts';
import { Refusal } from '../refusal.ts';
import { memberOf } from './member.ts';
import { assertExists, type Tenant, type TenantEvent } from './tenant.ts';
import type { Invitation } from './tenant-member.ts';
import type { TenantRole } from './tenant-role.ts';

/** An invitation can be accepted for this many hours. */
export const INVITATION_LIFETIME_HOURS = 72;

const TOKEN = /^inv_(c[a-z0-9]{24})_(c[a-z0-9]{24})_[0-9A-Za-z]{38}$/;
const ISSUERS: readonly TenantRole[] = ['OWNER', 'ADMIN'];

/** The tenant and the member that an invitation is for. */
export type Invitee = { readonly tenant_id: string; readonly user_id: string };

/**
 * Builds the token of an invitation: `inv_<tenant id>_<user id>_<secret><checksum>`. `secret` has 32 base62 characters.
 */
export const buildToken = ({ tenant_id, user_id }: Invitee, secret: string): string =>
  withChecksum(`inv_${tenant_id}_${user_id}_${secret}`);

/**
 * Returns the tenant and the member that a token names; null if the form or the checksum of the token is wrong. So a
 * mistyped token is rejected without reading the log.
 */
export const inviteeOf = (token: string): Invitee | null => {
  const match = TOKEN.exec(token);
  return match && hasChecksum(token) ? { tenant_id: match[1]!, user_id: match[2]! } : null;
};

/**
 * Whether a member with the role `issuerRole` may issue an invitation for a member with the role `role`. The issuer
 * sees the token, and could use it to act as the invited member. So nobody may invite a member who has more rights.
 */
const mayInvite = (issuerRole: TenantRole | undefined, role: TenantRole): boolean =>
  issuerRole === 'OWNER' || (issuerRole !== undefined && ISSUERS.includes(issuerRole) && role !== 'OWNER');

/**
 * Issues an invitation to a member, and replaces the member's earlier invitation. `digest` is the digest of its token,
 * `expires_at` is RFC 3339 UTC. The issuer knows the token and could use it. Therefore, the API key of the invited
 * member never allows more than the present role of the issuer, even if the member becomes OWNER later.
 * @throws Refusal not_found, forbidden if the member has more rights than the issuer
 */
export const issue =
  (user_id: string, callerRole: TenantRole, invitation: { digest: string; expires_at: string }) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    if (!mayInvite(callerRole, memberOf(tenant, user_id).role)) throw new Refusal('forbidden', 'Only an OWNER may invite an OWNER');
    const max_role = callerRole === 'OWNER' ? null : 'ADMIN';
    return [{ type: 'MemberInvitationIssued', data: { user_id, ...invitation, max_role } }];
  };

/** Whether this is the digest of the member's latest invitation. The comparison takes constant time. */
export const isInvitation = ({ invitations }: Tenant, user_id: string, digest: string): boolean =>
  isSameDigest(invitations[user_id]?.digest ?? NO_DIGEST, digest) && invitations[user_id] !== undefined;

/** Whether the issuer of the invitation still has the right to invite this member. */
const isStillAllowed = ({ members }: Tenant, { issuer_id }: Invitation, user_id: string): boolean => {
  const member = members[user_id];
  return member !== undefined && mayInvite(members[issuer_id]?.role, member.role);
};

/**
 * Returns the highest role of the API key that the member's invitation gives: ADMIN, unless the issuer had the role
 * OWNER and still has it. Null means no limit. The member must have an invitation.
 */
export const maxRoleOf = ({ members, invitations }: Tenant, user_id: string): 'ADMIN' | null => {
  const { max_role, issuer_id } = invitations[user_id]!;
  return max_role === null && members[issuer_id]?.role === 'OWNER' ? null : 'ADMIN';
};

/**
 * Accepts an invitation at the time `at` (RFC 3339 UTC). `key_id` is the id of the API key that the member gets.
 * Returns no events if the same invitation was accepted before; the caller then finds that the API key exists.
 * @throws Refusal unauthorized if the invitation was replaced, withdrawn or has expired; tenant_suspended
 */
export const accept =
  (user_id: string, digest: string, key_id: string, at: string) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    const invitation = tenant.invitations[user_id];
    if (!invitation || !isSameDigest(invitation.digest, digest) || !isStillAllowed(tenant, invitation, user_id))
      throw new Refusal('unauthorized', 'The invitation is not valid: ask for another one');
    if (tenant.is_suspended) throw new Refusal('tenant_suspended', 'The tenant is suspended');
    if (invitation.expires_at <= at)
      throw new Refusal('unauthorized', `The invitation expired at ${invitation.expires_at}: ask for another one`);
    return invitation.key_id === null ? [{ type: 'MemberInvitationAccepted', data: { user_id, key_id } }] : [];
  };
