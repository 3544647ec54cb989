import { z } from 'zod';
import { Id25 } from '../../domain/id.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { TENANT_ROLES } from '../../domain/tenants/tenant.ts';
import { insert, type Projection, patch, remove } from '../projection.ts';
import type { Table } from '../table.ts';

export const ApiKeyRead = z
  .object({
    id: Id25,
    name: z.string(),
    created_at: z.string(),
    last_used_at: z.string().nullable(),
    expires_at: z.string().nullable(),
    read_only: z.boolean(),
    role: z.enum(TENANT_ROLES).nullable(),
  })
  .meta({ id: 'ApiKeyRead' });

export const ApiKeyCreated = ApiKeyRead.extend({ key: z.string() }).meta({ id: 'ApiKeyCreated' });

export const table = {
  name: 'apikeys',
  key: ['id'],
  stream: 'apikey',
  columns: {
    id: 'text',
    kind: 'text',
    tenant_id: 'text',
    agent_id: 'text',
    name: 'text',
    created_at: 'timestamptz',
    last_used_at: 'timestamptz',
    expires_at: 'timestamptz',
    read_only: 'boolean',
    role: 'text',
  },
  docs: { doc: ApiKeyRead },
  indexes: [
    { columns: ['tenant_id', 'kind', 'created_at', 'id'] },
    { columns: ['agent_id', 'created_at', 'id'] },
    { columns: ['kind', 'created_at', 'id'] },
  ],
} as const satisfies Table;

/** All API keys, including runner keys, without their secrets and digests. */
export const apikeys = {
  name: 'apikeys',
  version: 3,
  categories: ['apikey'],
  tables: [table],
  on: {
    ApiKeyCreated: (event) => {
      const { status: _, digest: __, owner_id: ___, ...row } = ApiKey.evolve(ApiKey.initial, event);
      return insert('apikeys', row);
    },
    ApiKeyUsed: ({ id, at }) => patch('apikeys', { id }, { last_used_at: at }),
    ApiKeyRevoked: ({ id }) => remove('apikeys', { id }),
  },
} as const satisfies Projection<ApiKey.ApiKeyEvent>;
