import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { omit } from '../../domain/omit.ts';
import { TENANT_ROLES } from '../../domain/tenants/tenant-role.ts';
import { insert, type Projection, patch, remove } from '../projection.ts';
import type { Table } from '../table.ts';

export const ApiKeyRead = z
  .object({
    id: idOf('API key'),
    name: z.string().meta({ examples: ['CI'] }),
    owner_id: idOf('user').meta({ description: 'The user for whom the key acts' }),
    created_at: Timestamp,
    last_used_at: Timestamp.nullable().meta({ description: 'When the key was last used; updated at most once an hour' }),
    expires_at: z
      .string()
      .nullable()
      .meta({ description: 'When the key stops working; null if it never does', examples: [null] }),
    read_only: z.boolean().meta({ description: 'Whether the key may only read' }),
    role: z
      .enum(TENANT_ROLES)
      .nullable()
      .meta({ description: 'The role to which the key is limited; null if it has that of its owner', examples: [null] }),
  })
  .meta({ id: 'ApiKeyRead' });

export const ApiKeyCreated = ApiKeyRead.extend({
  key: z.string().meta({
    description: 'The text of the key. Only this response contains it',
    examples: ['ann_Vq3xT9bK_0h2jQ7mN4pR8sW1yZ5cF6gL3dX9kB2vMn4RtYu'],
  }),
}).meta({ id: 'ApiKeyCreated' });

export const table = {
  name: 'apikeys',
  key: ['id'],
  stream: 'apikey',
  columns: {
    id: 'text',
    kind: 'text',
    tenant_id: 'text',
    agent_id: 'text',
    owner_id: 'text',
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
    { columns: ['tenant_id', 'owner_id', 'created_at', 'id'] },
    { columns: ['agent_id', 'created_at', 'id'] },
    { columns: ['kind', 'created_at', 'id'] },
  ],
} as const satisfies Table;

/** All API keys, including runner keys, without their secrets and digests. */
export const apikeys = {
  name: 'apikeys',
  version: 4,
  categories: ['apikey'],
  tables: [table],
  on: {
    ApiKeyCreated: (event) => {
      const row = omit(ApiKey.evolve(ApiKey.initial, event), 'status', 'digest');
      return insert('apikeys', row);
    },
    ApiKeyRenamed: ({ id, data }) => patch('apikeys', { id }, { name: data.name }),
    ApiKeyUsed: ({ id, at }) => patch('apikeys', { id }, { last_used_at: at }),
    ApiKeyRevoked: ({ id }) => remove('apikeys', { id }),
  },
} as const satisfies Projection<ApiKey.ApiKeyEvent>;
