import { z } from 'zod';
import { AllowedAccountCreate, allowAccount, disallowAccount } from '../../commands/identity/allowed-account.ts';
import { ALLOWED_ACCOUNT_SORTS, allowedAccountPage } from '../../projections/identity/allowed-account.queries.ts';
import { AllowedAccountRead, allowedAccounts } from '../../projections/identity/allowed-account.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

const ACCOUNTS = '/admin/allowed-accounts';

export const allowedAccountOperations = {
  listAllowedAccounts: operation({
    method: 'get',
    path: ACCOUNTS,
    summary: 'List the e-mail addresses that may sign in',
    permit: 'platform',
    query: listQuery({}, ALLOWED_ACCOUNT_SORTS),
    reply: z.array(AllowedAccountRead),
    projection: allowedAccounts.name,
    run: (ctx, window) => allowedAccountPage(ctx.reads, windowOf(window, ALLOWED_ACCOUNT_SORTS)),
  }),
  allowAccount: operation({
    method: 'post',
    path: ACCOUNTS,
    summary: 'Allow an e-mail address to sign in',
    permit: 'platform',
    body: AllowedAccountCreate,
    reply: AllowedAccountRead,
    status: 201,
    location: `${ACCOUNTS}/:id`,
    run: allowAccount,
  }),
  disallowAccount: operation({
    method: 'delete',
    path: `${ACCOUNTS}/:id`,
    summary: 'Stop an e-mail address from signing in',
    permit: 'platform',
    run: disallowAccount,
  }),
};
