import { DEFAULT_ROLE_PERMISSIONS } from '../../domain/agents/role-permissions.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { type AuditOf, allFields, withPrefix } from '../audit-record.ts';
import { sellerAudit } from '../billing/seller.audit.ts';
import type { Row } from '../projection.ts';

const withoutReason = ({ reason: _, ...fields }: { readonly reason: string | null }): Row => fields;

export const tenantAudit = {
  TenantCreated: {
    summary: 'created the tenant {resource}',
    activity: 'create',
    first: true,
    fields: ({ generation: _, ...fields }) => {
      const { allow_superadmin_access, default_skill_visibility_scope, external_mail_enabled, is_suspended, paid } = Tenant.initial;
      const defaults = { allow_superadmin_access, default_skill_visibility_scope, external_mail_enabled, is_suspended, paid };
      return { ...defaults, closed: false, ...withPrefix('role_permissions', DEFAULT_ROLE_PERMISSIONS), ...fields };
    },
  },
  TenantUpdated: { summary: 'changed {fields} of the tenant {resource}', activity: 'update', fields: withoutReason },
  TenantPlanChanged: { summary: 'changed the plan of the tenant {resource}', activity: 'update', fields: withoutReason },
  TenantPlanStatusChanged: {
    summary: 'changed the plan status of the tenant {resource} to {plan_status}',
    activity: 'update',
    fields: allFields,
  },
  TenantSettingsChanged: { summary: 'changed {fields} of the tenant {resource}', activity: 'update', fields: allFields },
  TenantSuspended: {
    summary: 'suspended the tenant {resource}',
    activity: 'update',
    severity: 'medium',
    fields: () => ({ is_suspended: true }),
  },
  TenantResumed: { summary: 'resumed the tenant {resource}', activity: 'update', fields: () => ({ is_suspended: false }) },
  TenantClosing: {
    summary: 'scheduled the tenant {resource} to be closed at {closes_at}',
    activity: 'update',
    severity: 'medium',
    fields: withoutReason,
  },
  TenantReopened: { summary: 'reopened the tenant {resource}', activity: 'update', fields: () => ({ closes_at: null }) },
  TenantClosed: { summary: 'closed the tenant {resource}', activity: 'delete', severity: 'medium', fields: () => ({ closed: true }) },
  MemberAdded: {
    summary: 'added {person} as {role}',
    activity: 'add_user',
    severity: 'low',
    about: 'member',
    first: true,
    fields: ({ role }) => ({ role }),
  },
  MemberRoleChanged: {
    summary: 'changed the role of {person} to {role}',
    activity: 'assign_privileges',
    severity: 'low',
    about: 'member',
    fields: ({ role }) => ({ role }),
  },
  MemberRemoved: {
    summary: 'removed {person} from the members',
    activity: 'remove_user',
    severity: 'low',
    about: 'member',
    fields: () => ({ role: null }),
  },
  MemberInvitationIssued: { summary: 'invited {person}', activity: 'create', severity: 'low', about: 'member' },
  MemberInvitationAccepted: { summary: 'accepted the invitation of {person}', activity: 'create', severity: 'low', about: 'member' },
  AgentRolePermissionsChanged: {
    summary: 'changed what the roles on agents allow',
    activity: 'update',
    severity: 'low',
    fields: ({ roles }) => withPrefix('role_permissions', roles),
  },
  SuperAdminAccessOpened: {
    summary: 'opened super-admin access to the tenant {resource} until {until}',
    activity: 'assign_privileges',
    privilege: 'super_admin',
    severity: 'high',
  },
  PaymentEventRecorded: sellerAudit.PaymentEventRecorded,
  TenantErasureStarted: { summary: 'started to erase the tenant {resource}: {reason}', activity: 'delete', severity: 'medium' },
  TenantDataKeyDestroyed: { summary: 'destroyed the data key of the tenant {resource}', activity: 'delete', severity: 'medium' },
  TenantEventsCounted: { summary: 'counted events of the tenant {resource}, which is being erased', activity: 'read' },
  TenantErased: { summary: 'recorded what was erased of the tenant {resource}', activity: 'delete', severity: 'medium' },
  TenantErasureCompleted: { summary: 'removed the rows, files and messages of the erased tenant {resource}', activity: 'delete' },
} satisfies AuditOf<Tenant.TenantEvent>;
