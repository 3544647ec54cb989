import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { historyLink } from '../../console/history-link.ts';
import { NOT_ASKED, page } from '../../console/page.ts';
import { memberName } from '../../console/parts/access-parts.ts';
import { countText } from '../../console/parts/count-text.ts';
import { type DataColumn, dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { valuesIn } from '../../console/parts/filter-form.ts';
import { filterTabs, searchField } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { TENANT_ROLES } from '../member.ts';

const { a, div, p, span } = tags;

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

type Activity = ReplyOf<Rows['listMemberActivity']>[number];

type Role = Member['role'];

const unknown = (): Child => span({ class: 'quiet' }, '—');

const agentsOf = ({ role, user_id }: Member, activity: ReadonlyMap<string, Activity>): Child => {
  if (role === 'OWNER' || role === 'ADMIN') return 'all';
  const found = activity.get(user_id);
  return found ? countText(found.agent_count) : unknown();
};

type Shown = { readonly owners: number; readonly activity: ReadonlyMap<string, Activity> | null };

const memberTable = (members: readonly Member[], visit: Visit, { owners, activity }: Shown): Child =>
  dataTable<Member>(
    {
      ...{ title: 'Members', kind: 'member', nameTitle: 'Member', id: ({ user_id }) => user_id, name: memberName },
      href: ({ user_id }) => (visit.may('tenant:audit:read') ? tenantPath(visit.params.tenant_id!, `/members/${user_id}`) : null),
      details: ({ name, email }) => (name === null ? null : email),
      columns: [
        { title: 'Role', look: 'state', cell: ({ role }) => span({ class: 'badge calm' }, role) },
        ...(activity === null
          ? []
          : ([
              { title: 'Agents', look: 'number', cell: (member) => agentsOf(member, activity) },
              { title: 'Key last used', look: 'number', cell: ({ user_id }) => ago(activity.get(user_id)?.last_seen_at ?? null) },
            ] as const satisfies readonly DataColumn<Member>[])),
        { title: 'Since', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
      menu: (member) => [...actionsFor(member, owners, visit), historyLink(visit, member.user_id)],
      attributes: ({ user_id }) => ({ id: `member-${user_id}` }),
    },
    members,
  );

type Counts = Readonly<Record<Role, Answer<readonly Member[]>>>;

const totalOf = (answer: Answer<readonly Member[]>): number => Number(answer.headers.get('total-count') ?? 0);

const countOf = (counts: Counts, role: Role): number => totalOf(counts[role]);

const tabsOf = (visit: Visit, counts: Counts): Child => {
  const tab = (value: Role | null, label: string, count: number) => ({
    value,
    label: [label, span({ class: 'quiet', 'data-count': String(count) }, ` ${countText(count)}`)],
    href: withQuery(visit, { role: value, cursor: null }),
  });
  const all = TENANT_ROLES.reduce((sum, role) => sum + countOf(counts, role), 0);
  return filterTabs('Filter by role', visit.query.get('role'), [
    tab(null, 'All', all),
    ...TENANT_ROLES.map((role) => tab(role, role, countOf(counts, role))),
  ]);
};

const nothing = (visit: Visit): Child =>
  visit.query.get('q') || visit.query.get('role')
    ? emptyState(
        { icon: 'search', title: 'No member matches', why: 'Nothing matches the filters of this page.' },
        a({ class: 'button', href: withQuery(visit, { q: null, role: null, cursor: null }) }, 'Clear the filters'),
      )
    : emptyState({ icon: 'users', title: 'No members', why: 'At this time the tenant had none.' });

/** The page with the members of the tenant, their roles and their invitations. */
export const membersPage = page({
  path: '/console/t/:tenant_id/members',
  permit: 'tenant:read',
  nav: 'Members',
  categories: ['tenant', 'agent', 'user'],
  asks: ({ ask, rows, params, query, may, asOf }) => {
    const tenant_id = params.tenant_id!;
    // Members of the past cannot be searched.
    const search = valuesIn(query, asOf === null ? ['q'] : []) as { readonly q?: string };
    const members = ask(rows.listMembers, {
      tenant_id,
      ...{ ...search, ...valuesIn(query, ['role', 'cursor']) },
    });
    const idsOf = (found: readonly Member[]) => found.map(({ user_id }) => user_id).join(',');
    const ofRole = (role: Role) => ask(rows.listMembers, { tenant_id, role, limit: 1, ...search });
    const OWNER = ofRole('OWNER');
    return {
      members,
      activity:
        may('tenant:audit:read') && asOf === null
          ? members.then((found) =>
              found.ok && found.value.length > 0 ? ask(rows.listMemberActivity, { tenant_id, user_id: idsOf(found.value) }) : null,
            )
          : NOT_ASKED,
      // Whether an OWNER is the last one does not depend on the search.
      owners: search.q ? ask(rows.listMembers, { tenant_id, role: 'OWNER', limit: 1 }) : OWNER,
      ...{ OWNER, ADMIN: ofRole('ADMIN'), MEMBER: ofRole('MEMBER'), AUDITOR: ofRole('AUDITOR') },
    };
  },
  title: () => 'Members',
  view: ({ members, activity, owners, ...counts }, visit) => {
    const add = formLink(visit, visit.rows.inviteMember, { tenant_id: visit.params.tenant_id! }, 'Invite a member', {
      icon: 'plus',
      look: 'primary',
      returnTo: visit.path,
    });
    const numbers = activity?.ok ? new Map(activity.value.map((one) => [one.user_id, one])) : null;
    const shown = { owners: totalOf(owners), activity: numbers };
    const kept = valuesIn(visit.query, ['role']);
    return [
      heading('Members', 'People of this tenant, and what they may do in it.', add),
      div(
        { class: 'toolbar' },
        tabsOf(visit, counts),
        visit.asOf === null
          ? searchField(visit.path, { name: 'q', value: visit.query.get('q') ?? '', placeholder: 'Search by name or e-mail' }, kept)
          : null,
      ),
      visit.asOf !== null && visit.query.get('q')
        ? p({ class: 'note', 'data-unfiltered': '' }, icon('info'), 'Members of the past cannot be searched: the list shows all.')
        : null,
      panel(members, (found) => (found.length > 0 ? memberTable(found, visit, shown) : nothing(visit))),
      pager(members, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
      visit.may('tenant:members:write')
        ? p({ class: 'quiet below' }, 'Before a role changes, the page Access says who gains and loses what.')
        : null,
    ];
  },
});
