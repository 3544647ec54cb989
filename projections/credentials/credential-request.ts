import { z } from 'zod';
import * as CredentialRequest from '../../domain/credentials/credential-request.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';

export const CredentialRequestRead = z
  .object({
    id: idOf('credential request'),
    tenant_id: idOf('tenant'),
    agent_id: idOf('agent', 'The agent whose runner asks'),
    skill_id: idOf('skill', 'The skill that needs the value'),
    config_key: z
      .string()
      .meta({ description: 'The field of the configuration of the skill that gets the value', examples: ['api_token'] }),
    prompt: z.string().meta({ description: 'What is needed, and where to find it', examples: ['A token of the issue tracker'] }),
    status: z.enum(CredentialRequest.REQUEST_STATUSES).meta({ description: 'Whether the request can be answered' }),
    created_at: Timestamp,
    updated_at: Timestamp,
    expires_at: Timestamp.meta({ description: 'When the request expires' }),
  })
  .meta({ id: 'CredentialRequestRead' });

export const table = {
  name: 'requests',
  key: ['tenant_id', 'id'],
  stream: CredentialRequest.category,
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    expires_at: 'timestamptz',
  },
  docs: { doc: CredentialRequestRead },
  indexes: [{ columns: ['agent_id', 'created_at', 'id'] }],
} as const satisfies Table;

/**
 * The credential requests of runners. The status is `open` until the request is fulfilled, even after it has expired.
 */
export const credentialRequests = {
  name: 'credential_requests',
  version: 1,
  categories: [CredentialRequest.category],
  tables: [table],
  on: {
    CredentialRequested: (event) => insert('requests', CredentialRequest.evolve(CredentialRequest.initial, event)),
    CredentialSubmitted: ({ tenant, id, at }) => patch('requests', { tenant_id: tenant, id }, { status: 'fulfilled', updated_at: at }),
  },
} as const satisfies Projection<CredentialRequest.CredentialRequestEvent>;
