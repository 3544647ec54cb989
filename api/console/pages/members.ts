import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { historyLink } from '../history-link.ts';
import { page } from '../page.ts';
import { memberName } from '../parts/access-parts.ts';
import { dataTable } from '../parts/data-table.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { p, span } = tags;

type Member = ReplyOf<Rows['listMembers']>[number];

const LAST_OWNER = 'The only OWNER: make another member OWNER first';

/**
 * Renders the actions on a member. Only an OWNER may change another OWNER, and the last OWNER of a tenant cannot be
 * changed.
 */
export const actionsFor = (member: Member, owners: number, visit: Visit): readonly Child[] => {
  const { rows, params, tenant } = visit;
  const isOwner = member.role === 'OWNER';
  if (!tenant?.permissions.includes('tenant:members:write') || (isOwner && tenant.role !== 'OWNER')) return [];
  if (isOwner && owners === 1) return [span({ class: 'quiet' }, LAST_OWNER)];
  const path = { tenant_id: params.tenant_id!, user_id: member.user_id };
  const returnTo = visit.path;
  return [
    formLink(visit, rows.changeMemberRole, { ...path, role: member.role }, 'Change role', { returnTo }),
    formLink(visit, rows.issueInvitation, path, 'New invitation link', { returnTo }),
    formLink(visit, rows.removeMember, path, 'Remove', { look: 'danger', returnTo }),
  ];
};

const memberTable = (members: readonly Member[], visit: Visit): Child => {
  const owners = members.filter(({ role }) => role === 'OWNER').length;
  return dataTable<Member>(
    {
      ...{ title: 'Members', kind: 'member', nameTitle: 'Member', id: ({ user_id }) => user_id, name: memberName },
      href: ({ user_id }) => (visit.may('tenant:audit:read') ? tenantPath(visit.params.tenant_id!, `/members/${user_id}`) : null),
      details: ({ name, email }) => (name === null ? null : email),
      columns: [
        { title: 'Role', look: 'state', cell: ({ role }) => span({ class: 'badge calm' }, role) },
        { title: 'Since', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
      menu: (member) => [...actionsFor(member, owners, visit), historyLink(visit, member.user_id)],
      attributes: ({ user_id }) => ({ id: `member-${user_id}` }),
    },
    members,
  );
};

/** The page with the members of the tenant, their roles and their invitations. */
export const membersPage = page({
  path: '/console/t/:tenant_id/members',
  permit: 'tenant:read',
  nav: 'Members',
  categories: ['tenant'],
  asks: ({ ask, rows, params, query }) => {
    const [as_of, cursor] = [query.get('as_of') ?? undefined, query.get('cursor')];
    return { members: ask(rows.listMembers, { tenant_id: params.tenant_id!, as_of, limit: 200, ...(cursor === null ? {} : { cursor }) }) };
  },
  title: () => 'Members',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ members }, visit) => {
    const add = formLink(visit, visit.rows.inviteMember, { tenant_id: visit.params.tenant_id! }, 'Add a member', {
      icon: 'plus',
      look: 'primary',
      returnTo: visit.path,
    });
    const list = () => {
      if (!members.ok) return problemPanel(members.problem);
      if (members.value.length > 0) return memberTable(members.value, visit);
      return emptyState({ icon: 'users', title: 'No members', why: 'At this time the tenant had none.' });
    };
    return [
      heading('Members', 'People of this tenant. An invitation is a token with which a member gets their first API key.', add),
      list(),
      pager(members, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
      visit.may('tenant:members:write')
        ? p({ class: 'quiet below' }, 'Before a role changes, the page Access says who gains and loses what.')
        : null,
    ];
  },
});
