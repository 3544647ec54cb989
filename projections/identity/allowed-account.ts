import { z } from 'zod';
import { Id25 } from '../../domain/id.ts';
import type { AllowedAccountEvent } from '../../domain/identity/allowed-account.ts';
import { insert, type Projection, remove } from '../projection.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields, type Table } from '../table.ts';

export const AllowedAccountRead = z.object({ id: Id25, email: z.string(), created_at: z.string() }).meta({ id: 'AllowedAccountRead' });

export const table: Table = {
  name: 'allowed_accounts',
  key: ['id'],
  stream: 'account',
  columns: { id: 'text', email: 'text', created_at: 'timestamptz' },
  docs: { doc: AllowedAccountRead },
  indexes: [{ columns: ['created_at', 'id'] }, { columns: ['email', 'id'] }],
};

/** The e-mail addresses that may sign in. */
export const allowedAccounts: Projection<AllowedAccountEvent> = {
  name: 'allowed_accounts',
  version: 1,
  categories: ['account'],
  tables: [table],
  on: {
    AccountAllowed: ({ id, at, data }) => insert('allowed_accounts', { id, email: data.email, created_at: at }),
    AccountDisallowed: ({ id }) => remove('allowed_accounts', { id }),
  },
};

export const ALLOWED_ACCOUNT_SORTS = sortFields(table, AllowedAccountRead);

/** Returns a page of the e-mail addresses that may sign in, as AllowedAccountRead. */
export const allowedAccountPage = (reads: Reads, window: PageWindow): Promise<Page> =>
  reads.page({ from: { projection: allowedAccounts.name, table }, where: [], ...window });
