import type { SubscriptionReport } from '../../domain/billing/subscription.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Invitation, Member } from '../../domain/tenants/tenant-member.ts';
import { TenantRead } from '../../projections/tenants/tenant.ts';
import { type HistorySubject, historyOperationsOf } from '../http/resource-history.ts';

const TenantFields = TenantRead.omit({ plan: true });

/**
 * The data that the history of a tenant shows: its settings, its plan, the roles of its members, its invitations
 * (without the digests of their tokens), the permissions of agent roles, its subscriptions at the payment provider, and
 * the times until which super-admins may read it.
 */
export const tenantHistory = {
  aggregate: Tenant,
  path: '/tenant/:tenant_id',
  permit: 'tenant:read',
  noun: 'tenant',
  fieldsOf: (tenant) => ({ ...TenantFields.parse(tenant), closes_at: tenant.closes_at }),
  entryMaps: {
    members: { of: ({ members }) => members, show: ({ role }: Member) => role },
    invitations: {
      of: ({ invitations }) => invitations,
      show: ({ expires_at, key_id }: Invitation) => ({ expires_at, accepted: key_id !== null }),
    },
    role_permissions: { of: ({ role_permissions }) => role_permissions, show: (labels) => labels },
    subscriptions: {
      of: ({ subscriptions }) => subscriptions,
      show: ({ status, price_id }: SubscriptionReport) => ({ status, price_id }),
    },
    super_admin_access: { of: ({ super_admin_access }) => super_admin_access, show: (until) => until },
  },
} as const satisfies HistorySubject<Tenant.Tenant, Tenant.TenantEvent>;

export const tenantHistoryOperations = historyOperationsOf('Tenant', tenantHistory);
