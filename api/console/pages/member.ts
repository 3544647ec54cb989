import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { page } from '../page.ts';
import { memberName } from '../parts/access-parts.ts';
import { auditEntry } from '../parts/audit-entry.ts';
import { badge } from '../parts/badge.ts';
import { counted } from '../parts/count-text.ts';
import { card, facts } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { panel, problemPanel } from '../parts/problem-panel.ts';
import { rowMenu } from '../parts/row-menu.ts';
import { shortId } from '../parts/short-id.ts';
import { type Child, tags } from '../parts/tags.ts';
import { exact } from '../parts/time.ts';
import { tenantPath, type Visit } from '../visit.ts';
import { sentencePaths } from './audit.ts';
import { actionsFor } from './members.ts';

const { a, aside, div, li, ol, p, span, strong, ul } = tags;

type Detail = ReplyOf<Rows['readMember']>;
type Access = Detail['access'][number];
type Given = Detail['role_given'];

const RECENT = 10;

/** Says who gave a role, and when, with a link to the event. */
const givenBy = (visit: Visit, given: Given | null): Child => {
  if (given === null) return null;
  const { event_id, actor_name, actor_email, at } = given;
  const who = actor_name ?? actor_email;
  const event = a({ href: tenantPath(visit.params.tenant_id!, `/events/${event_id}`) }, exact(at));
  return span({ class: 'quiet' }, who ? `by ${who}, ` : 'by the platform, ', event);
};

const accessLine = (visit: Visit, { user_id }: Detail, { agent_id, agent_name, role, grant, role_given, grant_given }: Access) =>
  li(
    { 'data-kind': 'member-access', 'data-id': agent_id },
    div(
      { class: 'grow' },
      a(
        { class: 'row-link', href: tenantPath(visit.params.tenant_id!, `/agents/${agent_id}/access?user_id=${user_id}`) },
        strong(null, agent_name),
      ),
      role && div(null, `${role} `, givenBy(visit, role_given)),
      grant && div(null, `grant ${grant} `, givenBy(visit, grant_given)),
    ),
  );

const ALL_AGENTS = 'OWNERs and ADMINs may do everything with all agents, also without a role on them.';

const accessCard = (visit: Visit, member: Detail) => {
  const { role, access, access_count } = member;
  const others = access_count - access.length;
  return card(
    'Access to agents',
    role === 'OWNER' || role === 'ADMIN' ? p({ class: 'quiet' }, ALL_AGENTS) : null,
    role === 'AUDITOR' ? p({ class: 'quiet' }, 'AUDITORs can view all agents.') : null,
    access.length === 0
      ? p({ class: 'quiet' }, 'No role or grant on an agent.')
      : ul({ class: 'lines' }, ...access.map((one) => accessLine(visit, member, one))),
    others === 0 ? null : p({ class: 'quiet' }, `And ${counted(others, 'other agent')}.`),
  );
};

const auditLink = (visit: Visit, filter: 'about' | 'user_id', text: string): Child =>
  a({ class: 'button', href: tenantPath(visit.params.tenant_id!, `/audit?${filter}=${visit.params.user_id!}`) }, text);

/** The page of a member: what they may do with which agents, who gave it to them, and what happened to them. */
export const memberPage = page({
  path: '/console/t/:tenant_id/members/:user_id',
  permit: 'tenant:audit:read',
  nav: 'Members',
  categories: ['tenant', 'agent', 'user'],
  asks: (visit) => {
    const { ask, rows, params, query } = visit;
    const path = { tenant_id: params.tenant_id!, user_id: params.user_id! };
    const as_of = query.get('as_of') ?? undefined;
    return {
      member: ask(rows.readMember, { ...path, as_of }),
      members: ask(rows.listMembers, { tenant_id: path.tenant_id, as_of, limit: 200 }),
      history: ask(rows.listAuditLogs, { tenant_id: path.tenant_id, about: path.user_id, limit: RECENT }),
    };
  },
  title: ({ member }) => (member.ok ? memberName(member.value) : 'Member'),
  trail: ({ params, tenant }) => [
    [tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)],
    ['Members', tenantPath(params.tenant_id!, '/members')],
  ],
  view: ({ member, members, history }, visit) => {
    if (!member.ok) return [heading('Member', null), problemPanel(member.problem)];
    const { value } = member;
    const pathTo = sentencePaths(visit, new Set(members.ok ? members.value.map(({ user_id }) => user_id) : []));
    const owners = members.ok ? members.value.filter(({ role }) => role === 'OWNER').length : 0;
    return [
      div(
        { 'data-kind': 'member', 'data-id': value.user_id },
        heading(
          span(null, memberName(value), ' ', badge('active', value.role)),
          span(null, 'Role given ', givenBy(visit, value.role_given)),
          rowMenu('menu-member', memberName(value), actionsFor(value, owners, visit)),
        ),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            accessCard(visit, value),
            card(
              'What happened to them',
              panel(history, (entries) =>
                ol({ class: 'history' }, ...entries.map((entry) => auditEntry(entry, { isOpen: false, more: [], pathTo }))),
              ),
              div({ class: 'actions below' }, auditLink(visit, 'about', 'All of it'), auditLink(visit, 'user_id', 'What they did')),
            ),
          ),
          aside(
            { class: 'detail-side', 'aria-label': 'Facts' },
            card('Facts', facts({ 'E-mail': value.email, 'Member since': exact(value.created_at), Id: shortId(value.user_id) })),
          ),
        ),
      ),
    ];
  },
});
