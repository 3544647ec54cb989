import { defineList } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { AllowedAccountRead, table } from './allowed-account.ts';

export const ALLOWED_ACCOUNT_SORTS = sortFields(table, AllowedAccountRead);

const accountList = defineList({ table }, (db) => db.selectFrom('allowed_accounts.allowed_accounts as account'));

/** Returns a page of the e-mail addresses that may sign in, as AllowedAccountRead. */
export const allowedAccountPage = (reads: Reads, window: PageWindow): Promise<Page> => reads.page(accountList, {}, window);
