import { z } from 'zod';
import type { AgentEvent } from '../domain/agent.ts';
import { Id25 } from '../domain/id.ts';
import * as Tenant from '../domain/tenant.ts';
import { add, insert, type Projection } from './projection.ts';
import type { Table } from './tables.ts';

export const AdminTenantRead = z
  .object({
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
    status: z.enum(['active', 'suspended', 'closing', 'closed']),
  })
  .meta({ id: 'AdminTenantRead' });

export const AdminTenantCreated = AdminTenantRead.extend({ owner_key: z.string() }).meta({ id: 'AdminTenantCreated' });

export const table: Table = {
  name: 'tenants',
  key: ['id'],
  stream: 'tenant',
  columns: { id: 'text', name: 'text', slug: 'text', status: 'text', created_at: 'timestamptz' },
  counters: ['member_count', 'agent_count'],
  docs: { doc: AdminTenantRead },
  indexes: [{ columns: ['created_at', 'id'] }],
};

/** Tenants as the platform's operators see them, with how many members and agents each has. */
export const tenants: Projection<Tenant.TenantEvent | AgentEvent> = {
  name: 'tenants',
  version: 1,
  categories: ['tenant', 'agent'],
  tables: [table],
  on: {
    TenantCreated: (event) => {
      const { members: _, plan_status: __, ...row } = Tenant.evolve(Tenant.initial, event);
      return insert('tenants', { ...row, member_count: 0, agent_count: 0 });
    },
    MemberAdded: ({ id }) => add('tenants', { id }, { member_count: 1 }),
    AgentCreated: ({ tenant }) => add('tenants', { id: tenant }, { agent_count: 1 }),
    AgentDeleted: ({ tenant }) => add('tenants', { id: tenant }, { agent_count: -1 }),
    AgentUpdated: 'ignore',
    AgentActivated: 'ignore',
    AgentDeactivated: 'ignore',
    AgentSkillAuthoringChanged: 'ignore',
    AgentAdminOnlyChanged: 'ignore',
    AgentModelChainReordered: 'ignore',
    AgentSlugReleased: 'ignore',
  },
};
