import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { actionButton, formLink } from '../action.ts';
import { historyLink } from '../history-link.ts';
import { page } from '../page.ts';
import { memberName } from '../parts/access-parts.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, caption, div, p, span, strong, table, tbody, td, th, thead, tr } = tags;

type Member = ReplyOf<Rows['listMembers']>[number];

const LAST_OWNER = 'The only OWNER: make another member OWNER first';

/**
 * Renders the actions on a member. Only an OWNER may change another OWNER, and the last OWNER of a tenant cannot be
 * changed.
 */
export const actionsFor = (member: Member, owners: number, visit: Visit): Child => {
  const { rows, params, tenant } = visit;
  const isOwner = member.role === 'OWNER';
  if (!tenant?.permissions.includes('tenant:members:write') || (isOwner && tenant.role !== 'OWNER')) return null;
  if (isOwner && owners === 1) return span({ class: 'quiet' }, LAST_OWNER);
  const path = { tenant_id: params.tenant_id!, user_id: member.user_id };
  const returnTo = visit.path;
  return div(
    { class: 'actions' },
    formLink(visit, rows.changeMemberRole, { ...path, role: member.role }, 'Change role', { look: 'small', returnTo }),
    formLink(visit, rows.issueInvitation, path, 'Invite', { look: 'small', returnTo }),
    actionButton(visit, rows.removeMember, path, 'Remove', {
      look: 'danger',
      returnTo,
      confirm: `${memberName(member)} loses every role and grant in this tenant.`,
    }),
  );
};

const rowOf = (member: Member, owners: number, visit: Visit) =>
  tr(
    { 'data-kind': 'member', 'data-id': member.user_id, id: `member-${member.user_id}` },
    td(
      { class: 'main-cell' },
      div(
        { class: 'clip' },
        visit.may('tenant:audit:read')
          ? a({ href: tenantPath(visit.params.tenant_id!, `/members/${member.user_id}`) }, strong(null, memberName(member)))
          : strong(null, memberName(member)),
      ),
      div({ class: 'quiet clip' }, member.email),
    ),
    td(null, span({ class: 'badge calm' }, member.role)),
    td({ class: 'number wide-only' }, ago(member.created_at)),
    td(null, div({ class: 'actions' }, actionsFor(member, owners, visit), historyLink(visit, member.user_id, 'small'))),
  );

const memberTable = (members: readonly Member[], visit: Visit): Child => {
  const owners = members.filter(({ role }) => role === 'OWNER').length;
  return div(
    { class: 'table-box' },
    table(
      { class: 'list' },
      caption({ class: 'hidden' }, 'Members'),
      thead(
        null,
        tr(
          null,
          th({ scope: 'col' }, 'Member'),
          th({ scope: 'col' }, 'Role'),
          th({ scope: 'col', class: 'number wide-only' }, 'Since'),
          th({ scope: 'col' }, span({ class: 'hidden' }, 'Actions')),
        ),
      ),
      tbody(null, ...members.map((member) => rowOf(member, owners, visit))),
    ),
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
