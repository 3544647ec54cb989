import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { AllowedAccountEvent } from '../../domain/identity/allowed-account.ts';
import { insert, type Projection, remove } from '../projection.ts';
import type { Table } from '../table.ts';

export const AllowedAccountRead = z
  .object({ id: idOf('allowed account'), email: z.string().meta({ examples: ['ada@example.com'] }), created_at: Timestamp })
  .meta({ id: 'AllowedAccountRead' });

export const table = {
  name: 'allowed_accounts',
  key: ['id'],
  stream: 'account',
  columns: { id: 'text', email: 'text', created_at: 'timestamptz' },
  docs: { doc: AllowedAccountRead },
  indexes: [{ columns: ['created_at', 'id'] }, { columns: ['email', 'id'] }],
} as const satisfies Table;

/** The e-mail addresses that may sign in. */
export const allowedAccounts = {
  name: 'allowed_accounts',
  version: 1,
  categories: ['account'],
  tables: [table],
  on: {
    AccountAllowed: ({ id, at, data }) => insert('allowed_accounts', { id, email: data.email, created_at: at }),
    AccountDisallowed: ({ id }) => remove('allowed_accounts', { id }),
  },
} as const satisfies Projection<AllowedAccountEvent>;
