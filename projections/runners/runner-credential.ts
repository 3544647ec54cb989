import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import { insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';

export const RunnerCredentialRead = z
  .object({
    id: idOf('runner credential'),
    agent_id: idOf('agent'),
    created_at: Timestamp,
    expires_at: Timestamp.meta({ description: 'When the broker closes its connections' }),
    revoked_at: Timestamp.nullable().meta({ description: 'When it was revoked' }),
  })
  .meta({ id: 'RunnerCredentialRead' });

/** The response to the creation of a credential. No other response contains the JWT and the private seed. */
export const RunnerCredentialIssued = z
  .object({
    id: idOf('runner credential'),
    url: z
      .string()
      .meta({ description: 'The URL of the broker; several are separated by commas', examples: ['nats://nats.example.com:4222'] }),
    jwt: z.string().meta({
      description: 'The JWT with which the runner connects',
      examples: ['eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.eyJqdGkiOiJ4In0.c2lnbmF0dXJl'],
    }),
    seed: z.string().meta({
      description: 'The private seed that signs the challenge of the broker. Only this response contains it',
      examples: ['SUAGMJH5XLGZKQQWAWKRZJIGMOU4HPFUYLXJMXOO5NLFEO2OOQJ5LPRDPM'],
    }),
    subject: z.string().meta({
      description: 'The subject of the messages to the agent',
      examples: ['agents.cujzde8gxd6ncf10epf91dhod.czdoc9is0j8ht9lgmxg9edn58.inbound'],
    }),
    stream: z.string().meta({ description: 'The JetStream stream of the messages', examples: ['AGENTS'] }),
    consumer: z.string().meta({
      description: 'The durable consumer to pull from; it exists already, so bind to it and do not create or look it up',
      examples: ['runner-czdoc9is0j8ht9lgmxg9edn58'],
    }),
    inbox_prefix: z.string().meta({
      description: 'The prefix of the inboxes in which replies may be received; set it in the NATS client',
      examples: ['_INBOX_cjqwx4hh5344tfjgvq4k7bn7x'],
    }),
    expires_at: Timestamp.meta({ description: 'When the broker closes the connection' }),
    renew_at: Timestamp.meta({
      description: 'From then on, get a new credential, connect with it, and pull and acknowledge through the new connection',
    }),
  })
  .meta({ id: 'RunnerCredential' });

export const table = {
  name: 'runner_credentials',
  key: ['id'],
  stream: RunnerCredential.category,
  columns: { id: 'text', tenant_id: 'text', agent_id: 'text', created_at: 'timestamptz', expires_at: 'timestamptz', public_key: 'text' },
  docs: { doc: RunnerCredentialRead },
  indexes: [{ columns: ['tenant_id', 'agent_id', 'created_at', 'id'] }],
} as const satisfies Table;

/** The NATS credentials that were issued to runners, without their JWTs and private seeds. */
export const runnerCredentials = {
  name: 'runner_credentials',
  version: 2,
  categories: [RunnerCredential.category],
  tables: [table],
  on: {
    RunnerCredentialIssued: ({ id, tenant, at, data: { agent_id, expires_at, public_key } }) =>
      insert('runner_credentials', { id, tenant_id: tenant, agent_id, created_at: at, expires_at, public_key, revoked_at: null }),
    RunnerCredentialRevoked: ({ id, at }) => patch('runner_credentials', { id }, { revoked_at: at }),
  },
} as const satisfies Projection<RunnerCredential.RunnerCredentialEvent>;
