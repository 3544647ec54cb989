import type { SkillVisibilityScope } from '../agents/agent.ts';
import { DEFAULT_ROLE_PERMISSIONS, type RolePermissions } from '../agents/role-permissions.ts';
import { changedFields } from '../aggregate.ts';
import type { PlanStatus, SubscriptionReport, Subscriptions } from '../billing/subscription.ts';
import { type Recorded, sortKey } from '../event.ts';
import { type ById, type Transient, withEntry, withoutEntry } from '../immutable-record.ts';
import { omit } from '../omit.ts';
import { conflict, Refusal, slugTaken } from '../refusal.ts';
import type { ExternalLink } from './external-link.ts';
import { type Erasure, evolveErasure, type TenantErasureEvent } from './tenant-erasure.ts';
import type { Invitation, Member } from './tenant-member.ts';
import type { TenantRole } from './tenant-role.ts';

export const category = 'tenant';

export type TenantStatus = 'absent' | 'active' | 'suspended' | 'closing' | 'closed';

export type TenantEvent =
  | TenantErasureEvent
  | { type: 'TenantCreated'; data: { name: string; slug: string; plan_id: string; billing_email: string | null; generation: number } }
  | {
      type: 'TenantUpdated';
      data: Partial<Pick<Tenant, 'name' | 'billing_email' | 'external_mail_enabled' | 'paid'>> & { reason: string | null };
    }
  | { type: 'TenantPlanChanged'; data: { plan_id: string; reason: string | null } }
  | { type: 'TenantPlanStatusChanged'; data: { plan_status: PlanStatus } }
  | { type: 'PaymentEventRecorded'; data: SubscriptionReport }
  | { type: 'TenantSettingsChanged'; data: Partial<TenantSettings> }
  | { type: 'TenantSuspended'; data: { reason: string } }
  | { type: 'TenantResumed'; data: { reason: string } }
  | { type: 'TenantClosing'; data: { reason: string; closes_at: string } }
  | { type: 'TenantReopened'; data: { reason: string } }
  | { type: 'TenantClosed'; data: object }
  | { type: 'MemberAdded'; data: { user_id: string; role: TenantRole } }
  | { type: 'MemberRoleChanged'; data: { user_id: string; role: TenantRole } }
  | { type: 'MemberRemoved'; data: { user_id: string } }
  | { type: 'MemberInvitationIssued'; data: { user_id: string; digest: string; expires_at: string; max_role?: 'ADMIN' | null } }
  | { type: 'MemberInvitationAccepted'; data: { user_id: string; key_id: string } }
  | { type: 'AgentRolePermissionsChanged'; data: { roles: Partial<RolePermissions> } }
  | { type: 'SuperAdminAccessOpened'; data: { user_id: string; reason: string; until: string } };

/** Members of the tenant may change these themselves. */
export type TenantSettings = Pick<
  Tenant,
  'name' | 'billing_email' | 'allow_superadmin_access' | 'default_skill_visibility_scope' | 'external_mail_enabled' | 'external_links'
>;

export type Tenant = {
  status: TenantStatus;
  id: string;
  name: string;
  slug: string;
  plan_id: string;
  billing_email: string | null;
  plan_status: PlanStatus;
  subscriptions: Subscriptions;
  allow_superadmin_access: boolean;
  default_skill_visibility_scope: SkillVisibilityScope;
  external_mail_enabled: boolean;
  external_links: readonly ExternalLink[];
  is_suspended: boolean;
  paid: boolean;
  /** Whether the platform has switched off external mail, so that the tenant cannot switch it on. */
  is_mail_blocked_by_platform: boolean;
  closes_at: string | null;
  members: ById<Member>;
  /** The latest ones, by user id. */
  invitations: ById<Invitation>;
  role_permissions: RolePermissions;
  /** Break-glass access (read access for super-admins): user ids, and when it ends (RFC 3339 UTC). */
  super_admin_access: ById<string>;
  /** How far the erasure has come; null if none has started. */
  erasure: Erasure | null;
  created_at: string;
  updated_at: string;
};

export const initial: Tenant = {
  status: 'absent',
  id: '',
  name: '',
  slug: '',
  plan_id: '',
  billing_email: null,
  plan_status: 'trialing',
  subscriptions: {},
  allow_superadmin_access: true,
  default_skill_visibility_scope: 'private_only',
  external_mail_enabled: false,
  external_links: [],
  is_suspended: false,
  paid: false,
  is_mail_blocked_by_platform: false,
  closes_at: null,
  members: {},
  invitations: {},
  role_permissions: DEFAULT_ROLE_PERMISSIONS,
  super_admin_access: {},
  erasure: null,
  created_at: '',
  updated_at: '',
};

const applyEvent = (tenant: Tenant, event: Recorded<TenantEvent>, transient?: Transient): Partial<Tenant> => {
  const { type, data, id, at, event_id, position, actor } = event;
  switch (type) {
    case 'TenantErasureStarted':
    case 'TenantDataKeyDestroyed':
    case 'TenantEventsCounted':
    case 'TenantErased':
    case 'TenantErasureCompleted':
      return { erasure: evolveErasure(tenant.erasure, event as Recorded<TenantErasureEvent>) };
    case 'TenantCreated': {
      const fields = omit(data, 'generation');
      return { ...fields, status: 'active', id, created_at: at };
    }
    case 'TenantUpdated': {
      const fields = omit(data, 'reason');
      return {
        ...fields,
        ...(data.external_mail_enabled === undefined ? {} : { is_mail_blocked_by_platform: !data.external_mail_enabled }),
      };
    }
    case 'TenantPlanChanged':
      return { plan_id: data.plan_id };
    case 'TenantPlanStatusChanged':
      return { plan_status: data.plan_status };
    case 'PaymentEventRecorded':
      return { subscriptions: withEntry(tenant.subscriptions, data.subscription_id, data, transient) };
    case 'TenantSettingsChanged':
      // When the tenant disallows access by super-admins, all present access ends, and does not come back when the
      // tenant allows access again.
      return data.allow_superadmin_access === false ? { ...data, super_admin_access: {} } : data;
    case 'TenantSuspended':
      return { status: tenant.status === 'active' ? 'suspended' : tenant.status, is_suspended: true };
    case 'TenantResumed':
      return { status: tenant.status === 'suspended' ? 'active' : tenant.status, is_suspended: false };
    case 'TenantClosing':
      return { status: 'closing', closes_at: data.closes_at };
    case 'TenantReopened':
      return { status: tenant.is_suspended ? 'suspended' : 'active', closes_at: null };
    case 'TenantClosed':
      return { status: 'closed', closes_at: null };
    case 'MemberAdded': {
      const member = { role: data.role, created_at: at, since: sortKey(position), by: { event_id, type, at } };
      return { members: withEntry(tenant.members, data.user_id, member, transient) };
    }
    case 'MemberRoleChanged': {
      const member = { ...tenant.members[data.user_id]!, role: data.role, by: { event_id, type, at } };
      const members = withEntry(tenant.members, data.user_id, member, transient);
      if (data.role !== 'OWNER') return { members };
      // A change of the role removes the member's invitation: its issuer knows the token, and may not have the right to
      // invite a member with the new role.
      return { members, invitations: withoutEntry(tenant.invitations, data.user_id, transient) };
    }
    case 'MemberRemoved':
      return {
        members: withoutEntry(tenant.members, data.user_id, transient),
        invitations: withoutEntry(tenant.invitations, data.user_id, transient),
      };
    case 'MemberInvitationIssued': {
      const { user_id, max_role = 'ADMIN', ...fields } = data;
      const invitation = { ...fields, max_role, issuer_id: actor.id, key_id: null };
      return { invitations: withEntry(tenant.invitations, user_id, invitation, transient) };
    }
    case 'MemberInvitationAccepted': {
      const invitation = { ...tenant.invitations[data.user_id]!, key_id: data.key_id };
      return { invitations: withEntry(tenant.invitations, data.user_id, invitation, transient) };
    }
    case 'AgentRolePermissionsChanged':
      return { role_permissions: { ...tenant.role_permissions, ...data.roles } };
    case 'SuperAdminAccessOpened':
      return { super_admin_access: withEntry(tenant.super_admin_access, data.user_id, data.until, transient) };
  }
};

export const evolve = (tenant: Tenant, event: Recorded<TenantEvent>, transient?: Transient): Tenant => ({
  ...tenant,
  ...applyEvent(tenant, event, transient),
  updated_at: event.at,
});

/** A closed tenant cannot be reopened, and all access to its data is refused. */
export const isClosed = ({ status }: Tenant): boolean => status === 'closed';

/** @throws Refusal not_found if it does not exist or is closed for good */
export const assertExists = (tenant: Tenant): void => {
  if (tenant.status === 'absent' || isClosed(tenant)) throw new Refusal('not_found', 'There is no such tenant');
};

/**
 * The owner is the first member. No events if the tenant of this generation of the slug is closed for good: the caller then tries the
 * next.
 * @throws Refusal slug_taken
 */
export const create =
  (fields: { name: string; slug: string; plan_id: string; billing_email: string | null; generation: number }, owner_id: string) =>
  (tenant: Tenant): TenantEvent[] => {
    if (isClosed(tenant)) return [];
    if (tenant.status !== 'absent') throw slugTaken(`The slug ${fields.slug} is taken`);
    return [
      { type: 'TenantCreated', data: fields },
      { type: 'MemberAdded', data: { user_id: owner_id, role: 'OWNER' } },
    ];
  };

/**
 * `external_mail_enabled` is null if external mail is off and not blocked by the platform: `false` from the platform then counts as a
 * change, and blocks it.
 */
const withUnsetMail = (tenant: Tenant): object =>
  tenant.external_mail_enabled || tenant.is_mail_blocked_by_platform ? tenant : { ...tenant, external_mail_enabled: null };

/** Changes the tenant for the platform. `reason` is stored with the events. @throws Refusal not_found */
export const update =
  (
    { plan_id, ...fields }: Partial<Pick<Tenant, 'name' | 'billing_email' | 'external_mail_enabled' | 'paid' | 'plan_id'>>,
    reason: string | null,
  ) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    const changed = changedFields(withUnsetMail(tenant), fields);
    return [
      ...(Object.keys(changed).length > 0 ? [{ type: 'TenantUpdated' as const, data: { ...changed, reason } }] : []),
      ...(plan_id !== undefined && plan_id !== tenant.plan_id ? [{ type: 'TenantPlanChanged' as const, data: { plan_id, reason } }] : []),
    ];
  };

/**
 * Changes settings for the tenant itself.
 * @throws Refusal not_found, conflict if it would switch on external mail that the platform has switched off
 */
export const changeSettings =
  (fields: Partial<TenantSettings>) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    const data = changedFields(tenant, fields);
    if (data.external_mail_enabled && tenant.is_mail_blocked_by_platform)
      throw conflict('/external_mail_enabled', 'mail_blocked', 'The platform has switched off external mail for this tenant');
    return Object.keys(data).length > 0 ? [{ type: 'TenantSettingsChanged', data }] : [];
  };

export const suspend =
  (reason: string) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    return tenant.is_suspended ? [] : [{ type: 'TenantSuspended', data: { reason } }];
  };

export const resume =
  (reason: string) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    return tenant.is_suspended ? [{ type: 'TenantResumed', data: { reason } }] : [];
  };

/** Until `closes_at` (RFC 3339 UTC), the tenant can be reopened. After that, it is closed for good. */
export const close =
  (reason: string, closes_at: string) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    return tenant.status === 'closing' ? [] : [{ type: 'TenantClosing', data: { reason, closes_at } }];
  };

export const reopen =
  (reason: string) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    return tenant.status === 'closing' ? [{ type: 'TenantReopened', data: { reason } }] : [];
  };

/** Only if the tenant is closing and `at` (RFC 3339 UTC) has reached its `closes_at`. */
export const closeForGood =
  (at: string) =>
  ({ status, closes_at }: Tenant): TenantEvent[] =>
    status === 'closing' && closes_at !== null && closes_at <= at ? [{ type: 'TenantClosed', data: {} }] : [];

/** Read access until `until` (RFC 3339 UTC). @throws Refusal not_found, forbidden if the tenant does not allow access by super-admins */
export const openToSuperAdmin =
  (user_id: string, reason: string, until: string) =>
  (tenant: Tenant): TenantEvent[] => {
    assertExists(tenant);
    if (!tenant.allow_superadmin_access) throw new Refusal('forbidden', 'The tenant does not allow super-admin access');
    return [{ type: 'SuperAdminAccessOpened', data: { user_id, reason, until } }];
  };
