import type { Page, PageQuery, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AllowedAccountRead, allowedAccounts, table } from './allowed-account.ts';

export const ALLOWED_ACCOUNT_SORTS = sortFields(table, AllowedAccountRead);

/** A page of AllowedAccountRead. */
export const allowedAccountPage = (reads: Reads, window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>): Promise<Page> =>
  reads.page({ from: { projection: allowedAccounts.name, table }, where: [], ...window });
