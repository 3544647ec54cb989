import { allowedAccounts, table } from './allowed-account.ts';
import type { Page, PageQuery, Reads } from './reads.ts';

/** A page of AllowedAccountRead. */
export const allowedAccountPage = (reads: Reads, window: Pick<PageQuery, 'sort' | 'limit' | 'cursor'>): Promise<Page> =>
  reads.page({ from: { projection: allowedAccounts.name, table }, where: [], ...window });
