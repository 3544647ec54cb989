import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import type { Child } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { platformPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

type Account = ReplyOf<Rows['listAllowedAccounts']>[number];

const accountTable = (visit: Visit, accounts: readonly Account[]): Child =>
  dataTable<Account>(
    {
      ...{ title: 'Accounts', kind: 'account', nameTitle: 'E-mail address', id: ({ id }) => id, name: ({ email }) => email },
      columns: [{ title: 'Since', look: 'number', cell: ({ created_at }) => ago(created_at) }],
      menu: ({ id }) => [formLink(visit, visit.rows.disallowAccount, { id }, 'Remove', { look: 'danger', returnTo: visit.path })],
    },
    accounts,
  );

/** The page with the e-mail addresses that are allowed to sign in although they belong to no member of a tenant. */
export const platformAccountsPage = page({
  path: '/console/platform/allowed-accounts',
  permit: 'platform',
  nav: 'Accounts',
  polls: true,
  asks: ({ ask, rows, query }) => {
    const cursor = query.get('cursor');
    return { accounts: ask(rows.listAllowedAccounts, cursor ? { cursor } : {}) };
  },
  title: () => 'Accounts',
  trail: () => [['Platform', platformPath()]],
  view: ({ accounts }, visit) => {
    const add = formLink(visit, visit.rows.allowAccount, {}, 'Allow an address', { icon: 'plus', look: 'primary', next: visit.path });
    const nothing = emptyState(
      { icon: 'key-round', title: 'No addresses', why: 'Only members of tenants can sign in at the issuer.' },
      add,
    );
    return [
      heading('Accounts', 'E-mail addresses that may sign in at the OpenID issuer although they are not members of a tenant.', add),
      panel(accounts, (found) => (found.length === 0 ? nothing : accountTable(visit, found))),
      pager(accounts, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
