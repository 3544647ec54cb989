import { z } from 'zod';
import type { AgentEvent } from '../../domain/agents/agent.ts';
import { SKILL_VISIBILITY_SCOPES } from '../../domain/agents/new-agent.ts';
import { PLATFORM, type Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { ApiKeyEvent } from '../../domain/identity/api-key.ts';
import { omit } from '../../domain/omit.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { PlanRead } from '../billing/plan.ts';
import { add, insert, type Projection, patch, type Row, remove } from '../projection.ts';
import type { Table } from '../table.ts';

const fields = {
  id: idOf('tenant'),
  plan_id: idOf('plan'),
  name: z.string().meta({ examples: ['Acme'] }),
  slug: z.string().meta({ description: 'The unique name, for programs; it never changes', examples: ['acme'] }),
  billing_email: z
    .string()
    .nullable()
    .meta({ description: 'Where invoices go', examples: ['billing@example.com'] }),
  created_at: Timestamp,
  updated_at: Timestamp,
  member_count: z.int().meta({ description: 'The number of members', examples: [3] }),
  agent_count: z.int().meta({ description: 'The number of agents', examples: [7] }),
  allow_superadmin_access: z
    .boolean()
    .meta({ description: 'Whether super-admins may open the tenant for reading, with a reason and for a limited time', examples: [true] }),
  default_skill_visibility_scope: z.enum(SKILL_VISIBILITY_SCOPES).meta({ description: 'The `skill_visibility_scope` of new agents' }),
  external_mail_enabled: z.boolean().meta({ description: 'Whether agents may exchange mail with addresses outside the tenant' }),
  is_suspended: z.boolean().meta({ description: 'Whether members and keys of the tenant are refused' }),
  paid: z.boolean().meta({ description: 'Whether the tenant pays; informational' }),
};

export const AdminTenantRead = z
  .object({
    ...fields,
    status: z
      .enum(['active', 'suspended', 'closing', 'closed'])
      .meta({ description: '`closing`: closed, but can be reopened for 30 days' }),
  })
  .meta({ id: 'AdminTenantRead' });

const statusOf = ({ closed, closing, is_suspended }: { closed: boolean; closing: boolean; is_suspended: boolean }) =>
  closed ? 'closed' : closing ? 'closing' : is_suspended ? 'suspended' : 'active';

/**
 * The document of a row of `tenants`. Its `status` is derived from the columns `closed`, `closing` and `is_suspended`.
 */
const AdminTenantRow = z
  .object({ ...fields, closing: z.boolean(), closed: z.boolean() })
  .transform(({ closing, closed, ...row }) => ({ ...row, status: statusOf({ closing, closed, is_suspended: row.is_suspended }) }))
  .pipe(AdminTenantRead);

const Period = z.object({
  start: Timestamp.meta({ description: 'The start, included', examples: ['2026-02-12T09:26:53.589Z'] }),
  end: Timestamp.meta({ description: 'The end, not included' }),
});
const Amount = z.int();

/** The schemas of the usage, the tasks and the deliveries of a tenant in the last 30 days. */
const summaries = {
  usage_summary_30d: z
    .object({
      requests: Amount.meta({ description: 'Requests to language models' }),
      input_tokens: Amount.meta({ description: 'Tokens that were sent' }),
      output_tokens: Amount.meta({ description: 'Tokens that were received' }),
      cost_usd: z.number().meta({ description: 'The cost in US dollars' }),
      period: Period.meta({ description: 'The period' }),
    })
    .meta({ description: 'The use of language models in the last 30 days (UTC), today included' }),
  task_summary_30d: z
    .object({
      total: Amount.meta({ description: 'All, with those that have expired' }),
      running: Amount.meta({ description: 'Those that run or wait' }),
      completed: Amount.meta({ description: 'Those that were completed' }),
      failed: Amount.meta({ description: 'Those that failed' }),
      cancelled: Amount.meta({ description: 'Those that were cancelled' }),
    })
    .meta({ description: 'The sessions that started in the last 30 days (UTC), today included' }),
  delivery_summary_30d: z
    .object({
      accepted: Amount.meta({ description: 'Those that were accepted and not given up; at most 100,000 are counted' }),
      dead: Amount.meta({ description: 'Those that were given up; at most 100,000 are counted' }),
    })
    .meta({ description: 'The deliveries that were received in the last 30 days (UTC), today included' }),
};

const plan_status = z
  .enum(['trialing', 'active', 'past_due', 'canceled'])
  .meta({ description: 'The state of the subscription; `canceled` has the limits of the default plan' });

export const AdminTenantDetailRead = AdminTenantRead.extend({
  plan: PlanRead.meta({ description: 'The plan of the tenant' }),
  plan_status,
  ...summaries,
  last_active_at: Timestamp.nullable().meta({ description: 'When an API key of the tenant was last used' }),
}).meta({ id: 'AdminTenantDetailRead' });

export const TenantRead = AdminTenantRead.omit({ member_count: true, agent_count: true })
  .extend({
    plan: PlanRead.meta({ description: 'The plan of the tenant' }),
    plan_status,
    external_links: z
      .array(
        z.object({
          label: z.string().meta({ description: 'The text of the link', examples: ['Trace'] }),
          url: z.string().meta({
            description: 'The URL, with placeholders such as `{trace_id}`',
            examples: ['https://traces.example.com/trace/{trace_id}'],
          }),
        }),
      )
      .meta({ description: 'Links to other systems that the console shows' }),
  })
  .meta({ id: 'TenantRead' });

export const AdminTenantCreated = AdminTenantRead.extend({
  owner_key: z.string().meta({
    description: 'An API key of the owner in the tenant. Only this response contains it',
    examples: ['ann_Vq3xT9bK_0h2jQ7mN4pR8sW1yZ5cF6gL3dX9kB2vMn4RtYu'],
  }),
}).meta({ id: 'AdminTenantCreated' });

export const table = {
  name: 'tenants',
  key: ['id'],
  stream: 'tenant',
  search: ['name', 'slug', 'id'],
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
 * The time at which an API key of each tenant was last used. This is a separate table, because the use of an API key
 * must not change the tenant's revision.
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
  | Extract<AgentEvent, { type: 'AgentCreated' | 'AgentCloned' | 'AgentDeleted' | 'AgentRestored' }>
  | Extract<ApiKeyEvent, { type: 'ApiKeyUsed' }>;

const patchTenant =
  (fields: Row) =>
  ({ id, at }: { id: string; at: string }) =>
    patch('tenants', { id }, { ...fields, updated_at: at });

/** Tenants as operators see them, with the number of their members and agents. */
export const tenants = {
  name: 'tenants',
  version: 3,
  categories: ['tenant', 'agent', 'apikey'],
  tables: [table, activity],
  on: {
    TenantCreated: (event) => [
      insert('tenants', { ...AdminTenantFields.parse(created(event)), closing: false, closed: false, closes_at: null }),
      insert('activity', { tenant_id: event.id, last_active_at: null }),
    ],
    TenantUpdated: (event) => {
      const fields = omit(event.data, 'reason');
      return patchTenant(fields)(event);
    },
    TenantPlanChanged: (event) => patchTenant({ plan_id: event.data.plan_id })(event),
    TenantPlanStatusChanged: patchTenant({}),
    PaymentEventRecorded: patchTenant({}),
    TenantSettingsChanged: (event) => {
      // No list shows the links, so only the tenant's own stream contains them.
      const fields = omit(event.data, 'external_links');
      return patchTenant(fields)(event);
    },
    TenantSuspended: patchTenant({ is_suspended: true }),
    TenantResumed: patchTenant({ is_suspended: false }),
    TenantClosing: (event) => patchTenant({ closing: true, closes_at: event.data.closes_at })(event),
    TenantReopened: patchTenant({ closing: false, closes_at: null }),
    TenantClosed: patchTenant({ closed: true, closes_at: null }),
    TenantErasureStarted: patchTenant({}),
    TenantDataKeyDestroyed: patchTenant({}),
    TenantEventsCounted: patchTenant({}),
    TenantErased: ({ id }) => [remove('tenants', { id }), remove('activity', { tenant_id: id })],
    TenantErasureCompleted: () => [],
    MemberAdded: ({ id, at }) => [add('tenants', { id }, { member_count: 1 }), patch('tenants', { id }, { updated_at: at })],
    MemberRoleChanged: patchTenant({}),
    MemberRemoved: ({ id, at }) => [add('tenants', { id }, { member_count: -1 }), patch('tenants', { id }, { updated_at: at })],
    MemberInvitationIssued: patchTenant({}),
    MemberInvitationAccepted: patchTenant({}),
    AgentRolePermissionsChanged: patchTenant({}),
    SuperAdminAccessOpened: patchTenant({}),
    ApiKeyUsed: ({ meta, at }) => (meta.tenant === PLATFORM ? [] : patch('activity', { tenant_id: meta.tenant }, { last_active_at: at })),
    AgentCreated: ({ tenant }) => add('tenants', { id: tenant }, { agent_count: 1 }),
    AgentCloned: ({ tenant }) => add('tenants', { id: tenant }, { agent_count: 1 }),
    AgentRestored: ({ tenant, data }) => (data.of_revision === null ? add('tenants', { id: tenant }, { agent_count: 1 }) : []),
    AgentDeleted: ({ tenant }) => add('tenants', { id: tenant }, { agent_count: -1 }),
  },
} as const satisfies Projection<Tenant.TenantEvent | ForeignEvent>;
