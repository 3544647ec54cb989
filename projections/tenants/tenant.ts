import { z } from 'zod';
import type { AgentEvent } from '../../domain/agents/agent.ts';
import { PLATFORM, type Recorded } from '../../domain/event.ts';
import { Id25 } from '../../domain/id.ts';
import type { ApiKeyEvent } from '../../domain/identity/api-key.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { PlanRead } from '../billing/plan.ts';
import { add, insert, type Projection, patch, type Row } from '../projection.ts';
import type { Table } from '../table.ts';

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

/**
 * The JSON document that is stored with a row of `tenants`. Its `status` is derived from the columns `closed`,
 * `closing` and `is_suspended`.
 */
const AdminTenantRow = z
  .object({ ...fields, closing: z.boolean(), closed: z.boolean() })
  .transform(({ closing, closed, ...row }) => ({ ...row, status: statusOf({ closing, closed, is_suspended: row.is_suspended }) }))
  .pipe(AdminTenantRead);

const Period = z.object({ start: z.string(), end: z.string() });
const Amount = z.int();

/** The schemas of the usage and the tasks of a tenant in the last 30 days. */
const summaries = {
  usage_summary_30d: z.object({ requests: Amount, input_tokens: Amount, output_tokens: Amount, cost_usd: z.number(), period: Period }),
  task_summary_30d: z.object({ total: Amount, running: Amount, completed: Amount, failed: Amount, cancelled: Amount }),
};

const plan_status = z.enum(['trialing', 'active', 'past_due', 'canceled']);

export const AdminTenantDetailRead = AdminTenantRead.extend({
  plan: PlanRead,
  plan_status,
  ...summaries,
  last_active_at: z.string().nullable(),
}).meta({ id: 'AdminTenantDetailRead' });

/** A tenant as its members see it. */
export const TenantRead = AdminTenantRead.omit({ member_count: true, agent_count: true })
  .extend({ plan: PlanRead, plan_status })
  .meta({ id: 'TenantRead' });

export const AdminTenantCreated = AdminTenantRead.extend({ owner_key: z.string() }).meta({ id: 'AdminTenantCreated' });

export const table = {
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
    closes_at: 'timestamptz',
    created_at: 'timestamptz',
  },
  counters: ['member_count', 'agent_count'],
  docs: { doc: AdminTenantRow },
  indexes: [{ columns: ['created_at', 'id'] }, { columns: ['closes_at', 'id'] }],
} as const satisfies Table;

/**
 * When an API key of each tenant was last used. This is a separate table, because the use of an API key must not change
 * the tenant's revision.
 */
export const activity = {
  name: 'activity',
  key: ['tenant_id'],
  columns: { tenant_id: 'text' },
  docs: { doc: z.object({ tenant_id: z.string(), last_active_at: z.string().nullable() }) },
} as const satisfies Table;

const AdminTenantFields = z.object(fields);

const created = (event: Recorded<Extract<Tenant.TenantEvent, { type: 'TenantCreated' }>>) => ({
  ...Tenant.evolve(Tenant.initial, event),
  member_count: 0,
  agent_count: 0,
});

type ForeignEvent =
  | Extract<AgentEvent, { type: 'AgentCreated' | 'AgentDeleted' | 'AgentRestored' }>
  | Extract<ApiKeyEvent, { type: 'ApiKeyUsed' }>;

const patchTenant =
  (fields: Row) =>
  ({ id, at }: { id: string; at: string }) =>
    patch('tenants', { id }, { ...fields, updated_at: at });

/** Tenants as operators see them, with the number of their members and agents. */
export const tenants = {
  name: 'tenants',
  version: 2,
  categories: ['tenant', 'agent', 'apikey'],
  tables: [table, activity],
  on: {
    TenantCreated: (event) => [
      insert('tenants', { ...AdminTenantFields.parse(created(event)), closing: false, closed: false, closes_at: null }),
      insert('activity', { tenant_id: event.id, last_active_at: null }),
    ],
    TenantUpdated: (event) => {
      const { reason: _, ...fields } = event.data;
      return patchTenant(fields)(event);
    },
    TenantPlanChanged: (event) => patchTenant({ plan_id: event.data.plan_id })(event),
    TenantSettingsChanged: (event) => patchTenant(event.data)(event),
    TenantSuspended: patchTenant({ is_suspended: true }),
    TenantResumed: patchTenant({ is_suspended: false }),
    TenantClosing: (event) => patchTenant({ closing: true, closes_at: event.data.closes_at })(event),
    TenantReopened: patchTenant({ closing: false, closes_at: null }),
    TenantClosed: patchTenant({ closed: true, closes_at: null }),
    MemberAdded: ({ id, at }) => [add('tenants', { id }, { member_count: 1 }), patch('tenants', { id }, { updated_at: at })],
    MemberRoleChanged: patchTenant({}),
    MemberRemoved: ({ id, at }) => [add('tenants', { id }, { member_count: -1 }), patch('tenants', { id }, { updated_at: at })],
    MemberInvitationIssued: patchTenant({}),
    MemberInvitationAccepted: patchTenant({}),
    AgentRolePermissionsChanged: patchTenant({}),
    SuperAdminAccessOpened: patchTenant({}),
    ApiKeyUsed: ({ meta, at }) => (meta.tenant === PLATFORM ? [] : patch('activity', { tenant_id: meta.tenant }, { last_active_at: at })),
    AgentCreated: ({ tenant }) => add('tenants', { id: tenant }, { agent_count: 1 }),
    AgentRestored: ({ tenant, data }) => (data.of_revision === null ? add('tenants', { id: tenant }, { agent_count: 1 }) : []),
    AgentDeleted: ({ tenant }) => add('tenants', { id: tenant }, { agent_count: -1 }),
  },
} as const satisfies Projection<Tenant.TenantEvent | ForeignEvent>;
