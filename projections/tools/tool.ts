import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import type * as Connector from '../../domain/tools/connector.ts';
import * as Tool from '../../domain/tools/tool.ts';
import { insert, type Key, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';

export const ToolRead = z
  .object({
    id: idOf('tool'),
    tenant_id: idOf('tenant'),
    name: z.string().meta({ description: 'The unique name by which agents call the tool', examples: ['send_message'] }),
    display_name: z.string().meta({ description: 'The name that people see', examples: ['Send a message'] }),
    description: z.string().meta({ description: 'What the tool does, in short', examples: ['Sends a message to a channel'] }),
    description_long: z.string().meta({ description: 'What the tool does, in full', examples: ['Sends a message to a channel.'] }),
    input_schema: z
      .record(z.string(), z.unknown())
      .meta({ description: "The JSON Schema of the tool's configuration", examples: [{ type: 'object' }] }),
    connector: z
      .string()
      .nullable()
      .meta({ description: 'The connector that provides the tool; null if the tenant has registered it', examples: ['mailer'] }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'ToolRead' });

export const table = {
  name: 'tools',
  key: ['tenant_id', 'id'],
  stream: 'tool',
  softDelete: 'deleted',
  search: ['display_name', 'name'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    name: 'text',
    display_name: 'text',
    connector: 'text',
    deleted: 'boolean',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  docs: { doc: ToolRead },
  indexes: [{ columns: ['tenant_id', 'created_at', 'id'] }],
} as const satisfies Table;

const keyOf = (tenant: string, id: string): Key => ({ tenant_id: tenant, id });

/**
 * The tools of tenants. A tool of a connector has a row as soon as its id is reserved; the sync of the connector makes
 * it visible.
 */
export const tools = {
  name: 'tools',
  version: 2,
  categories: ['tool', 'connector'],
  tables: [table],
  on: {
    ToolRegistered: (event) => {
      const row = omit(Tool.evolve(Tool.initial, event), 'status');
      return insert('tools', { ...row, deleted: false });
    },
    ToolReserved: (event) => {
      const row = omit(Tool.evolve(Tool.initial, event), 'status');
      return insert('tools', { ...row, deleted: true });
    },
    ToolUpdated: ({ tenant, id, at, data }) => patch('tools', keyOf(tenant, id), { ...data, updated_at: at }),
    ToolRemoved: ({ tenant, id, at }) => patch('tools', keyOf(tenant, id), { deleted: true, updated_at: at }),
    ConnectorToolsSynced: ({ tenant, at, data: { added, changed, removed } }) => [
      ...added.map(({ id, ...fields }) => patch('tools', keyOf(tenant, id), { ...fields, deleted: false, created_at: at, updated_at: at })),
      ...changed.map(({ id, ...fields }) => patch('tools', keyOf(tenant, id), { ...fields, updated_at: at })),
      ...removed.map(({ id }) => patch('tools', keyOf(tenant, id), { deleted: true, updated_at: at })),
    ],
  },
} as const satisfies Projection<Tool.ToolEvent | Connector.ConnectorEvent>;
