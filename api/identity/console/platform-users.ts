import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { searchField } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { platformPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { a, div, span } = tags;

type User = ReplyOf<Rows['listUsers']>[number];

/** Renders the actions on a user. Super-admins cannot change their own account. */
const actionsFor = ({ id, is_suspended, is_super_admin }: User, visit: Visit): readonly Child[] => {
  if (visit.me?.user?.id === id) return [];
  const change = (label: string, fields: Readonly<Record<string, string>>) =>
    formLink(visit, visit.rows.updateUser, { user_id: id, ...fields }, label, { returnTo: visit.url });
  return [
    change(is_suspended ? 'Resume' : 'Suspend', { is_suspended: String(!is_suspended) }),
    change(is_super_admin ? 'Revoke super-admin' : 'Make super-admin', { is_super_admin: String(!is_super_admin) }),
  ];
};

const tenantsOf = ({ tenant_count, primary_tenant }: User): Child =>
  primary_tenant === null
    ? span({ class: 'quiet' }, 'none')
    : span(
        null,
        a({ href: platformPath(`/tenants/${primary_tenant.id}`) }, primary_tenant.name),
        tenant_count > 1 ? span({ class: 'quiet' }, ` and ${tenant_count - 1} more`) : null,
      );

const userTable = (visit: Visit, users: readonly User[]): Child =>
  dataTable<User>(
    {
      ...{ title: 'Users', kind: 'user', nameTitle: 'User', id: ({ id }) => id, name: ({ name, email }) => name ?? email },
      beside: ({ id }) => (visit.me?.user?.id === id ? span({ class: 'quiet' }, ' you') : null),
      details: ({ name, email }) => (name === null ? null : email),
      columns: [
        {
          ...{ title: 'State', look: 'state' },
          cell: ({ is_suspended, is_super_admin }) => [
            badge(is_suspended ? 'suspended' : 'active'),
            is_super_admin ? span({ class: 'badge calm' }, 'super-admin') : null,
          ],
        },
        { title: 'Tenants', cell: tenantsOf },
        { title: 'Last seen', look: 'number', cell: ({ last_login_at }) => ago(last_login_at) },
        { title: 'Since', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
      menu: (user) => actionsFor(user, visit),
    },
    users,
  );

export const platformUsersPage = page({
  path: '/console/platform/users',
  permit: 'platform',
  nav: 'Users',
  polls: true,
  asks: ({ ask, rows, query }) => {
    const [q, cursor] = [query.get('q'), query.get('cursor')];
    return { users: ask(rows.listUsers, { ...(q && { q }), ...(cursor && { cursor }) }) };
  },
  title: () => 'Users',
  trail: () => [['Platform', platformPath()]],
  view: ({ users }, visit) => {
    const q = visit.query.get('q') ?? '';
    const nothing = emptyState(
      { icon: 'search', title: 'No user matches', why: 'Nobody has this text in their name or e-mail address.' },
      a({ class: 'button', href: visit.path }, 'Clear the search'),
    );
    return [
      heading('Users', 'Everybody who is a member of a tenant, or was one.'),
      div({ class: 'toolbar' }, searchField(visit.path, { name: 'q', value: q, placeholder: 'Search by name or e-mail' })),
      panel(users, (found) => (found.length === 0 ? nothing : userTable(visit, found))),
      pager(users, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
