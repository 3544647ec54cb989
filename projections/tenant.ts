import { z } from 'zod';
import type { AgentEvent } from '../domain/agent.ts';
import type { Recorded } from '../domain/event.ts';
import { Id25 } from '../domain/id.ts';
import * as Tenant from '../domain/tenant.ts';
import { add, insert, type Projection, patch, type Row } from './projection.ts';
import type { Table } from './tables.ts';

const fields = {
  id: Id25,
  plan_id: Id25,
  name: z.string(),
  slug: z.string(),
  billing_email: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  member_count: z.int(),
  agent_count: z.int(),
  allow_superadmin_access: z.boolean(),
  default_skill_visibility_scope: z.enum(['private_only', 'tenant_allowed']),
  external_mail_enabled: z.boolean(),
  is_suspended: z.boolean(),
  paid: z.boolean(),
};

export const AdminTenantRead = z
  .object({ ...fields, status: z.enum(['active', 'suspended', 'closing', 'closed']) })
  .meta({ id: 'AdminTenantRead' });

const statusOf = ({ closed, closing, is_suspended }: { closed: boolean; closing: boolean; is_suspended: boolean }) =>
  closed ? 'closed' : closing ? 'closing' : is_suspended ? 'suspended' : 'active';

/** The row's document: its status follows from what happened to it. */
const AdminTenantRow = z
  .object({ ...fields, closing: z.boolean(), closed: z.boolean() })
  .transform(({ closing, closed, ...row }) => ({ ...row, status: statusOf({ closing, closed, is_suspended: row.is_suspended }) }))
  .pipe(AdminTenantRead);

export const AdminTenantCreated = AdminTenantRead.extend({ owner_key: z.string() }).meta({ id: 'AdminTenantCreated' });

export const table: Table = {
  name: 'tenants',
  key: ['id'],
  stream: 'tenant',
  columns: {
    id: 'text',
    name: 'text',
    slug: 'text',
    is_suspended: 'boolean',
    closing: 'boolean',
    closed: 'boolean',
    created_at: 'timestamptz',
  },
  counters: ['member_count', 'agent_count'],
  docs: { doc: AdminTenantRow },
  indexes: [{ columns: ['created_at', 'id'] }],
};

const AdminTenantFields = z.object(fields);

const born = (event: Recorded<Extract<Tenant.TenantEvent, { type: 'TenantCreated' }>>) => ({
  ...Tenant.evolve(Tenant.initial, event),
  member_count: 0,
  agent_count: 0,
});

type Counted = Extract<AgentEvent, { type: 'AgentCreated' | 'AgentDeleted' }>;

const changed =
  (fields: Row) =>
  ({ id, at }: { id: string; at: string }) =>
    patch('tenants', { id }, { ...fields, updated_at: at });

/** Tenants as the platform's operators see them, with how many members and agents each has. */
export const tenants: Projection<Tenant.TenantEvent | Counted> = {
  name: 'tenants',
  version: 1,
  categories: ['tenant', 'agent'],
  tables: [table],
  on: {
    TenantCreated: (event) => insert('tenants', { ...AdminTenantFields.parse(born(event)), closing: false, closed: false }),
    TenantUpdated: (event) => {
      const { reason: _, ...fields } = event.data;
      return changed(fields)(event);
    },
    TenantPlanChanged: (event) => changed({ plan_id: event.data.plan_id })(event),
    TenantSettingsChanged: (event) => changed(event.data)(event),
    TenantSuspended: changed({ is_suspended: true }),
    TenantResumed: changed({ is_suspended: false }),
    TenantClosing: changed({ closing: true }),
    TenantReopened: changed({ closing: false }),
    TenantClosed: changed({ closed: true }),
    MemberAdded: ({ id, at }) => [add('tenants', { id }, { member_count: 1 }), patch('tenants', { id }, { updated_at: at })],
    MemberRoleChanged: changed({}),
    MemberRemoved: ({ id, at }) => [add('tenants', { id }, { member_count: -1 }), patch('tenants', { id }, { updated_at: at })],
    AgentRolePermissionsChanged: changed({}),
    SuperAdminAccessOpened: changed({}),
    AgentCreated: ({ tenant }) => add('tenants', { id: tenant }, { agent_count: 1 }),
    AgentDeleted: ({ tenant }) => add('tenants', { id: tenant }, { agent_count: -1 }),
  },
};
