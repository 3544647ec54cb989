import type { Recorded } from './event.ts';
import { Refusal } from './refusal.ts';

export const category = 'tenant';

export const TENANT_ROLES = ['OWNER', 'ADMIN', 'MEMBER', 'AUDITOR'] as const;
export type TenantRole = (typeof TENANT_ROLES)[number];
export type TenantStatus = 'absent' | 'active' | 'suspended' | 'closing' | 'closed';
export type SkillVisibilityScope = 'private_only' | 'tenant_allowed';

export type TenantEvent =
  | { type: 'TenantCreated'; data: { name: string; slug: string; plan_id: string; billing_email: string | null; generation: number } }
  | { type: 'MemberAdded'; data: { user_id: string; role: TenantRole } };

export type Tenant = {
  status: TenantStatus;
  id: string;
  name: string;
  slug: string;
  plan_id: string;
  billing_email: string | null;
  plan_status: 'trialing' | 'active' | 'past_due' | 'canceled';
  allow_superadmin_access: boolean;
  default_skill_visibility_scope: SkillVisibilityScope;
  external_mail_enabled: boolean;
  is_suspended: boolean;
  paid: boolean;
  members: Readonly<Record<string, { role: TenantRole; created_at: string }>>;
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
  allow_superadmin_access: true,
  default_skill_visibility_scope: 'private_only',
  external_mail_enabled: false,
  is_suspended: false,
  paid: false,
  members: {},
  created_at: '',
  updated_at: '',
};

export const evolve = (tenant: Tenant, event: Recorded<TenantEvent>): Tenant => {
  const { id, at } = event;
  switch (event.type) {
    case 'TenantCreated': {
      const { generation: _, ...fields } = event.data;
      return { ...tenant, ...fields, status: 'active', id, created_at: at, updated_at: at };
    }
    case 'MemberAdded': {
      const { user_id, role } = event.data;
      return { ...tenant, updated_at: at, members: { ...tenant.members, [user_id]: { role, created_at: at } } };
    }
  }
};

/** Brings the tenant to life with its owner as first member. @throws Refusal slug_taken */
export const create =
  (fields: { name: string; slug: string; plan_id: string; billing_email: string | null; generation: number }, owner_id: string) =>
  (tenant: Tenant): TenantEvent[] => {
    if (tenant.status !== 'absent') throw new Refusal('slug_taken', `the slug ${fields.slug} is taken`);
    return [
      { type: 'TenantCreated', data: fields },
      { type: 'MemberAdded', data: { user_id: owner_id, role: 'OWNER' } },
    ];
  };
