import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { type ApiKeyEvent, category as keyCategory } from '../../domain/identity/api-key.ts';
import * as User from '../../domain/identity/user.ts';
import { omit } from '../../domain/omit.ts';
import type { TenantEvent } from '../../domain/tenants/tenant.ts';
import { insert, type Projection, patch, remove } from '../projection.ts';
import type { Table } from '../table.ts';

/** The fields that identify a user to people. */
export const userIdentity = {
  id: idOf('user'),
  email: z.string().meta({ examples: ['ada@example.com'] }),
  name: z
    .string()
    .nullable()
    .meta({ examples: ['Ada Lovelace'] }),
};

const fields = {
  ...userIdentity,
  is_super_admin: z.boolean().meta({ description: 'Whether the user operates the platform' }),
  is_suspended: z.boolean().meta({ description: 'Whether the user and their keys are refused' }),
  created_at: Timestamp,
  last_login_at: Timestamp.nullable().meta({ description: 'When the user last signed in or used a key; updated at most once an hour' }),
};

const AdminUserPrimaryTenant = z
  .object({
    id: idOf('tenant'),
    name: z.string().meta({ examples: ['Acme'] }),
    role: z.string().meta({ description: 'The role of the user in the tenant', examples: ['OWNER'] }),
  })
  .meta({ id: 'AdminUserPrimaryTenant' });

export const AdminUserRow = z
  .object({
    ...fields,
    tenant_count: z.int().meta({ description: 'In how many tenants the user is a member', examples: [1] }),
    primary_tenant: AdminUserPrimaryTenant.nullable().meta({ description: 'The tenant that the user joined first' }),
  })
  .meta({ id: 'AdminUserRow' });

export const table = {
  name: 'users',
  key: ['id'],
  stream: 'user',
  search: ['email', 'name'],
  columns: {
    id: 'text',
    email: 'text',
    name: 'text',
    is_super_admin: 'boolean',
    is_suspended: 'boolean',
    created_at: 'timestamptz',
    last_login_at: 'timestamptz',
  },
  docs: { doc: z.object(fields) },
  indexes: [{ columns: ['created_at', 'id'] }, { columns: ['email', 'id'] }],
} as const satisfies Table;

export const memberships = {
  name: 'memberships',
  key: ['user_id', 'tenant_id'],
  columns: { user_id: 'text', tenant_id: 'text', since: 'timestamptz' },
  docs: { doc: z.object({ user_id: z.string(), tenant_id: z.string(), role: z.string(), since: z.string() }) },
  indexes: [{ columns: ['user_id', 'since', 'tenant_id'] }],
} as const satisfies Table;

type MembershipEvent = Extract<TenantEvent, { type: 'MemberAdded' | 'MemberRoleChanged' | 'MemberRemoved' }>;

/** Users and their memberships in tenants. */
export const users = {
  name: 'users',
  version: 5,
  categories: [keyCategory, User.category, 'tenant'],
  tables: [table, memberships],
  on: {
    UserRegistered: (event) => {
      const row = omit(User.evolve(User.initial, event), 'status', 'favorites');
      return insert('users', row);
    },
    UserSeen: ({ id, at }) => patch('users', { id }, { last_login_at: at }),
    ApiKeyUsed: ({ actor, at }) => (actor.kind === 'user' ? patch('users', { id: actor.id }, { last_login_at: at }) : []),
    UserSuspended: ({ id }) => patch('users', { id }, { is_suspended: true }),
    UserResumed: ({ id }) => patch('users', { id }, { is_suspended: false }),
    SuperAdminGranted: ({ id }) => patch('users', { id }, { is_super_admin: true }),
    SuperAdminRevoked: ({ id }) => patch('users', { id }, { is_super_admin: false }),
    AgentFavorited: 'ignore',
    AgentUnfavorited: 'ignore',
    MemberAdded: ({ id, at, data }) => insert('memberships', { ...data, tenant_id: id, since: at }),
    MemberRoleChanged: ({ id, data }) => patch('memberships', { user_id: data.user_id, tenant_id: id }, { role: data.role }),
    MemberRemoved: ({ id, data }) => remove('memberships', { user_id: data.user_id, tenant_id: id }),
  },
} as const satisfies Projection<User.UserEvent | MembershipEvent | Extract<ApiKeyEvent, { type: 'ApiKeyUsed' }>>;
