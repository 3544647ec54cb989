import { z } from 'zod';
import { Id25 } from '../../domain/id.ts';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import { insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';

export const RunnerCredentialRead = z
  .object({
    id: Id25,
    agent_id: Id25,
    created_at: z.string(),
    expires_at: z.string(),
    revoked_at: z.string().nullable(),
  })
  .meta({ id: 'RunnerCredentialRead' });

/** What the runner gets, once. */
export const RunnerCredentialIssued = z
  .object({
    id: Id25,
    url: z.string(),
    jwt: z.string(),
    seed: z.string(),
    subject: z.string(),
    stream: z.string(),
    consumer: z.string(),
    expires_at: z.string(),
  })
  .meta({ id: 'RunnerCredential' });

export const table: Table = {
  name: 'runner_credentials',
  key: ['id'],
  stream: RunnerCredential.category,
  columns: { id: 'text', tenant_id: 'text', agent_id: 'text', created_at: 'timestamptz', expires_at: 'timestamptz' },
  docs: { doc: RunnerCredentialRead },
  indexes: [{ columns: ['tenant_id', 'agent_id', 'created_at', 'id'] }],
};

/** The broker credentials that runners were given, without anything to use them by. */
export const runnerCredentials: Projection<RunnerCredential.RunnerCredentialEvent> = {
  name: 'runner_credentials',
  version: 1,
  categories: [RunnerCredential.category],
  tables: [table],
  on: {
    RunnerCredentialIssued: ({ id, tenant, at, data: { agent_id, expires_at } }) =>
      insert('runner_credentials', { id, tenant_id: tenant, agent_id, created_at: at, expires_at, revoked_at: null }),
    RunnerCredentialRevoked: ({ id, at }) => patch('runner_credentials', { id }, { revoked_at: at }),
  },
};
