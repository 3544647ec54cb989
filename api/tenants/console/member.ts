import type { Rows } from '../../areas.ts';
import { peopleNamed, sentencePaths } from '../../audit/console/audit.ts';
import { membersAmong, peopleIn } from '../../console/names.ts';
import { NOT_ASKED, page } from '../../console/page.ts';
import { memberName } from '../../console/parts/access-parts.ts';
import { auditEntry } from '../../console/parts/audit-entry.ts';
import { badge } from '../../console/parts/badge.ts';
import { counted } from '../../console/parts/count-text.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { rowMenu } from '../../console/parts/row-menu.ts';
import type { PathTo } from '../../console/parts/sentence.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, exact } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { keyMenu } from '../../identity/console/api-keys.ts';
import { keyTable } from '../../identity/console/key-table.ts';
import { sessionTable } from '../../sessions/console/session-list.ts';
import { actionsFor } from './members.ts';

const { a, aside, div, li, nav, ol, p, span, strong, ul } = tags;

type Detail = ReplyOf<Rows['readMember']>;
type Access = Detail['access'][number];
type Given = Detail['role_given'];

const RECENT = 20;

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

type Entries = ReplyOf<Rows['listAuditLogs']>;

const historyCard = (visit: Visit, entries: Entries, pathTo: PathTo): Child =>
  card(
    'What happened to them',
    entries.length === 0
      ? p({ class: 'quiet' }, 'Nothing is recorded about them.')
      : ol({ class: 'history' }, ...entries.map((entry) => auditEntry(entry, { isOpen: false, more: [], pathTo }))),
    div({ class: 'actions below' }, auditLink(visit, 'about', 'All of it'), auditLink(visit, 'user_id', 'What they did')),
  );

type Role = ReplyOf<Rows['readMember']>['role'];

const keysOf = (visit: Visit, role: Role, keys: ReplyOf<Rows['listApiKeys']>): Child =>
  keys.length === 0
    ? emptyState({ icon: 'key-round', title: 'No API keys', why: 'No key acts for this person in this tenant.' })
    : keyTable(keys, { title: 'API keys', menu: keyMenu(visit, () => role === 'OWNER') });

const sessionsOf = (visit: Visit, found: ReplyOf<Rows['listReadableSessions']>): Child =>
  found.length === 0
    ? emptyState({ icon: 'message-square', title: 'No sessions', why: 'No session that you may read is for this person.' })
    : sessionTable(found, visit);

const TABS = [
  ['access', 'Access', 'tenant:audit:read'],
  ['keys', 'Keys', 'tenant:keys:write'],
  ['sessions', 'Sessions', 'tenant:audit:read'],
  ['history', 'History', 'tenant:audit:read'],
] as const;
type Tab = (typeof TABS)[number][0];

const tabOf = ({ query, may }: Visit): Tab => TABS.find(([tab, , permit]) => tab === query.get('tab') && may(permit))?.[0] ?? 'access';

const tabsOf = (visit: Visit): Child =>
  nav(
    { 'aria-label': 'Parts of the member', class: 'tabs page-tabs' },
    ...TABS.filter(([, , permit]) => visit.may(permit)).map(([tab, label]) =>
      a(
        {
          href: withQuery(visit, { tab: tab === 'access' ? null : tab, cursor: null }),
          'aria-current': tab === tabOf(visit) ? 'page' : null,
        },
        label,
      ),
    ),
  );

/** The page of a member: what they may do with which agents, who gave it to them, and what happened to them. */
export const memberPage = page({
  path: '/console/t/:tenant_id/members/:user_id',
  permit: 'tenant:audit:read',
  nav: 'Members',
  categories: ['tenant', 'agent', 'user', 'apikey', 'session'],
  asks: (visit) => {
    const { ask, rows, params, query } = visit;
    const [tenant_id, user_id, tab, cursor] = [params.tenant_id!, params.user_id!, tabOf(visit), query.get('cursor')];
    const sent = { tenant_id, user_id, ...(cursor ? { cursor } : {}) };
    const history = tab === 'history' ? ask(rows.listAuditLogs, { tenant_id, about: user_id, limit: RECENT }) : NOT_ASKED;
    return {
      member: ask(rows.readMember, { tenant_id, user_id }),
      owners: ask(rows.listMembers, { tenant_id, role: 'OWNER', limit: 2 }),
      keys: tab === 'keys' ? ask(rows.listApiKeys, sent) : NOT_ASKED,
      sessions: tab === 'sessions' ? ask(rows.listReadableSessions, sent) : NOT_ASKED,
      // Only people who are members have a page of their own.
      people: history.then((found) => (found?.ok ? membersAmong(visit, peopleNamed(found.value)) : null)),
      history,
    };
  },
  title: ({ member }) => (member.ok ? memberName(member.value) : 'Member'),
  trail: ({ params }) => [['Members', tenantPath(params.tenant_id!, '/members')]],
  view: ({ member, owners, keys, sessions, people, history }, visit) => {
    if (!member.ok) return [heading('Member', null), problemPanel(member.problem)];
    const { value } = member;
    const pathTo = sentencePaths(visit, peopleIn(people));
    const listed = keys ?? sessions;
    return [
      div(
        { 'data-kind': 'member', 'data-id': value.user_id },
        heading(
          span(null, memberName(value), ' ', badge('active', value.role)),
          span(null, 'Role given ', givenBy(visit, value.role_given)),
          rowMenu('menu-member', memberName(value), actionsFor(value, owners.ok ? owners.value.length : 0, visit)),
        ),
        tabsOf(visit),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            tabOf(visit) === 'access' ? accessCard(visit, value) : null,
            keys && panel(keys, (found) => keysOf(visit, value.role, found)),
            sessions && panel(sessions, (found) => sessionsOf(visit, found)),
            history && panel(history, (entries) => historyCard(visit, entries, pathTo)),
            listed && pager(listed, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
          ),
          aside(
            { class: 'detail-side', 'aria-label': 'Facts' },
            card(
              'Facts',
              facts({
                'E-mail': value.email,
                'Member since': exact(value.created_at),
                'Key last used': visit.asOf === null ? ago(value.last_seen_at) : null,
                Id: shortId(value.user_id),
              }),
            ),
          ),
        ),
      ),
    ];
  },
});
