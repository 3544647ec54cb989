import { z } from 'zod';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { isAboutAccount } from '../../domain/credentials/token-error.ts';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import { type Change, insertDerived, type Projection, patch, type Row } from '../projection.ts';
import type { Table } from '../table.ts';

export const LinkedIdentityRead = z
  .object({
    id: idOf('linked identity'),
    provider: z.string().meta({ description: 'The service: the id of a provider, or `db:postgres:` and a host', examples: ['github'] }),
    label: z.string().meta({ description: 'What people see in lists', examples: ['GitHub'] }),
    agent_id: idOf('agent').nullable().meta({ description: 'The agent to which it belongs; null if it belongs to the tenant' }),
    connected: z.boolean().meta({ description: 'Whether its secret can be used. If not, connect the account again', examples: [true] }),
    scopes: z.array(z.string()).meta({ description: 'What the provider allows with its tokens', examples: [['repo']] }),
    created_at: Timestamp,
    updated_at: Timestamp,
    expires_at: Timestamp.nullable().meta({
      description: 'When its access token expires; the platform renews it before, if it can. Null if it does not expire',
      examples: [null],
    }),
    error: z
      .string()
      .nullable()
      .meta({
        description: 'Why its tokens could not be renewed: if `connected`, the platform tries again; otherwise, connect it again',
        examples: [null],
      }),
  })
  .meta({ id: 'LinkedIdentityRead' });

/**
 * `due_at` is when the platform must act at the provider: to renew the tokens or, if the identity was unlinked, to
 * revoke them.
 */
export const table = {
  name: 'identities',
  key: ['tenant_id', 'id'],
  stream: LinkedIdentity.category,
  softDelete: 'unlinked',
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    provider: 'text',
    unlinked: 'boolean',
    is_database: 'boolean',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    due_at: 'timestamptz',
  },
  docs: { doc: LinkedIdentityRead },
  indexes: [{ columns: ['tenant_id', 'created_at', 'id'] }, { columns: ['due_at'], withoutNull: 'due_at' }],
  isReadByChanges: true,
} as const satisfies Table;

type EventOf<Type> = Recorded<Extract<LinkedIdentity.LinkedIdentityEvent, { type: Type }>>;

/**
 * Returns the change for an identity that is linked or gets another secret. If the identity was linked before, its
 * `created_at` stays.
 */
const linked = (event: EventOf<'DatabaseCredentialStored' | 'IdentityLinked'>): Change => {
  const identity = LinkedIdentity.evolve(LinkedIdentity.initial, event);
  const { refreshable, database, ...row } = omit(identity, 'status', 'sealed', 'access_revision');
  const key = { tenant_id: row.tenant_id, id: row.id };
  const complete = ({ old }: Readonly<Record<string, Row | null>>): Row => ({
    created_at: old && old.unlinked !== true ? old.created_at : row.created_at,
  });
  const due_at = LinkedIdentity.refreshAt({ expires_at: row.expires_at, refreshable }, event.at);
  const fields = { ...row, is_database: database !== null, unlinked: false, due_at };
  return insertDerived('identities', fields, { reads: { old: { table: 'identities', key } }, complete });
};

const changed = ({ tenant, id, at }: Recorded, fields: Row): Change =>
  patch('identities', { tenant_id: tenant, id }, { ...fields, updated_at: at });

/** The linked identities of tenants and agents, without their secrets. */
export const linkedIdentities = {
  name: 'linked_identities',
  version: 2,
  categories: [LinkedIdentity.category],
  tables: [table],
  on: {
    DatabaseCredentialStored: linked,
    IdentityLinked: linked,
    IdentityTokensRefreshed: (event) => {
      const { scopes, expires_at } = event.data;
      return changed(event, { scopes, expires_at, connected: true, error: null, due_at: LinkedIdentity.refreshAt(event.data, event.at) });
    },
    IdentityResealed: (event) => changed(event, {}),
    IdentityRefreshRefused: (event) =>
      changed(event, isAboutAccount(event.data.error) ? { ...event.data, connected: false, due_at: null } : event.data),
    IdentityRefreshFailed: ({ tenant, id, data }) => patch('identities', { tenant_id: tenant, id }, data),
    IdentityUnlinked: (event) => [
      changed(event, { unlinked: true, connected: false, due_at: null }),
      // Only tokens can be revoked, at their provider; a database password cannot.
      patch('identities', { tenant_id: event.tenant, id: event.id }, { due_at: event.at }, { ifEqual: { is_database: false } }),
    ],
    IdentityTokensRevoked: (event) => changed(event, { due_at: null }),
  },
} as const satisfies Projection<LinkedIdentity.LinkedIdentityEvent>;
