import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { actionButton, formLink } from '../action.ts';
import { page } from '../page.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { panel } from '../parts/problem-panel.ts';
import { type Column, tableOf } from '../parts/table.ts';
import { tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { platformPath, type Visit, withQuery } from '../visit.ts';

const { strong, td, tr } = tags;

type Account = ReplyOf<Rows['listAllowedAccounts']>[number];

const COLUMNS: readonly Column[] = [['E-mail address'], ['Since', 'number'], ['Actions', 'number']];

const rowOf =
  (visit: Visit) =>
  ({ id, email, created_at }: Account) =>
    tr(
      { 'data-kind': 'account', 'data-id': id },
      td({ class: 'main-cell' }, strong(null, email)),
      td({ class: 'number' }, ago(created_at)),
      td(
        { class: 'number' },
        actionButton(visit, visit.rows.disallowAccount, { id }, 'Remove', {
          look: 'small',
          returnTo: visit.path,
          confirm: `${email} can no longer sign in, unless it is the address of a member of a tenant.`,
        }),
      ),
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
      heading('Accounts', 'E-mail addresses that may sign in at the OpenID issuer although they are no member of a tenant.', add),
      panel(accounts, (found) => (found.length === 0 ? nothing : tableOf('Accounts', COLUMNS, found.map(rowOf(visit))))),
      pager(accounts, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
