import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { agentTab, agentTrail } from '../../console/agent-frame.ts';
import { page } from '../../console/page.ts';
import { choice, type Difference, differenceTable, memberName, type Names } from '../../console/parts/access-parts.ts';
import { type Access, chainOf, type Label, type Step, type Way, waysTo } from '../../console/parts/explain.ts';
import { card } from '../../console/parts/facts.ts';
import { icon } from '../../console/parts/icon.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { mayManageAccess, ownPage } from './access.ts';

const { a, button, details, div, form, input, label, li, ol, p, span, strong, summary, table, caption, thead, tbody, tr, th, td, ul, h3 } =
  tags;

type Effective = ReplyOf<Rows['readEffectivePermissions']>;
type Permission = Effective['permissions'][number];

const PEOPLE = 200;
const ROLE_OPTIONS = [
  ['', 'as it is'],
  ['VIEWER', 'VIEWER'],
  ['MANAGER', 'MANAGER'],
  ['OWNER', 'OWNER'],
  ['none', 'revoke'],
] as const;
const GRANT_OPTIONS = [
  ['', 'as it is'],
  ['VIEWER', 'VIEWER'],
  ['EDITOR', 'EDITOR'],
  ['none', 'revoke'],
] as const;

/** What a page about one member and one agent needs. */
type Explained = {
  readonly visit: Visit;
  readonly access: Access;
  readonly grid: Readonly<Record<string, readonly string[]>>;
  readonly isAdminOnly: boolean;
};

const stepOf = ({ name, value, gives }: Step) =>
  li({ class: gives ? 'gives' : 'refuses' }, icon(gives ? 'check' : 'x'), span(null, `${name}: `, strong(null, value)));

/** The role that gives a permission, such as `MANAGER`. */
const givenRole = (steps: readonly Step[]): string => steps.find(({ gives, name }) => gives && name !== 'Grid')?.value ?? 'A role';

const decidedBy = ({ decided_by }: Permission, role: string, at: (rest: string) => string): Child => {
  if (decided_by === null) return span({ class: 'quiet' }, 'No event gave it.');
  const { event_id, actor_name, actor_email } = decided_by;
  const who = actor_name ?? actor_email ?? 'the platform';
  return span(null, a({ href: at(`/events/${event_id}`) }, `${role}, given by ${who}`), ', ', ago(decided_by.at));
};

const formOfWay = ({ change }: Way, { visit, access }: Explained): Child => {
  const { rows, params } = visit;
  const path = { tenant_id: params.tenant_id!, agent_id: access.agent_id };
  const look = { look: 'small', onAgent: () => true } as const;
  if (change === null || !mayManageAccess(visit)) return null;
  if ('role' in change)
    return formLink(visit, rows.assignAgentRole, { ...path, user_id: access.user_id, role: change.role }, 'Do it', look);
  if ('grant' in change)
    return formLink(visit, rows.grantAgentAccess, { ...path, user_id: access.user_id, role: change.grant }, 'Do it', look);
  const member = { tenant_id: path.tenant_id, user_id: access.user_id, role: change.tenant_role };
  return formLink(visit, rows.changeMemberRole, member, 'Do it', look);
};

type Answered = { readonly permission: Permission; readonly steps: readonly Step[]; readonly ways: readonly Way[] };

/** Returns a key that is equal for permissions whose answers are shown as one. */
const keyOf = ({ permission: { allowed, decided_by, label }, steps, ways }: Answered): string =>
  JSON.stringify([allowed, decided_by?.event_id, steps, ways]).replaceAll(JSON.stringify(`“${label}”`).slice(1, -1), '*');

const answered = (permission: Permission, { access, grid, isAdminOnly }: Explained): Answered => {
  const one = permission.label as Label;
  const ways = permission.allowed ? [] : waysTo(access, one, { grid, isAdminOnly });
  return { permission, steps: chainOf(access, one, grid), ways };
};

/** Returns the text of a change that gives the first of these permissions, with the labels of all of them. */
const wayText = ({ text }: Way, labels: readonly string[]): string =>
  text.replace(`“${labels[0]}”`, labels.map((one) => `“${one}”`).join(', '));

const answerOf = (group: readonly Answered[], explained: Explained) => {
  const { isAdminOnly, visit } = explained;
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const { permission, steps, ways } = group[0]!;
  const labels = group.map((one) => one.permission.label);
  return li(
    {
      'data-kind': 'answer',
      'data-id': group.map((one) => one.permission.id).join(' '),
      'data-allowed': String(permission.allowed),
      'data-labels': labels.join('|'),
    },
    div(
      { class: 'row' },
      span(
        null,
        strong(null, span({ class: permission.allowed ? 'gained' : 'lost' }, permission.allowed ? 'Yes' : 'No')),
        ` to ${labels.join(', ')}`,
      ),
      span({ class: 'quiet' }, decidedBy(permission, givenRole(steps), at)),
    ),
    ol({ class: 'chain' }, ...steps.map(stepOf)),
    isAdminOnly && !permission.allowed ? p({ class: 'quiet' }, 'The agent is open to administrators only, whatever the grid says.') : null,
    ways.length === 0
      ? null
      : details(
          null,
          summary(null, 'Nearest ways to a yes'),
          ul(null, ...ways.map((way) => li(null, span(null, wayText(way, labels)), formOfWay(way, explained)))),
        ),
  );
};

const explainer = (visit: Visit, users: Names, labels: readonly string[]): Child => {
  const { query } = visit;
  return form(
    { method: 'get', action: visit.path },
    div(
      { class: 'filter-fields' },
      choice('user_id', 'Member', query.get('user_id'), [['', 'choose'], ...users]),
      choice('label', 'Permission', query.get('label'), [['', 'all'], ...labels.map((one) => [one, one] as const)]),
      div(
        null,
        label({ for: 'field-as_of' }, 'At the time or position'),
        input({ id: 'field-as_of', name: 'as_of', value: query.get('as_of') ?? '', placeholder: 'now', autocomplete: 'off' }),
      ),
    ),
    div({ class: 'actions' }, button({ class: 'primary' }, 'Explain')),
  );
};

const accessTable = (cells: readonly Access[], users: Names, visit: Visit): Child =>
  div(
    { class: 'table-box' },
    table(
      { class: 'list' },
      caption({ class: 'hidden' }, 'Members and what they may do with the agent'),
      thead(null, tr(null, ...['Member', 'In the tenant', 'Role', 'Grant', 'Permissions'].map((name) => th({ scope: 'col' }, name)))),
      tbody(
        null,
        ...cells.map(({ user_id, tenant_role, role, grant, labels, agent_id }) =>
          tr(
            { 'data-kind': 'access', 'data-id': `${user_id} ${agent_id}`, 'data-labels': labels.join('|') },
            td(null, a({ class: 'row-link', href: `${visit.path}?user_id=${user_id}` }, users.get(user_id) ?? user_id)),
            td(null, tenant_role),
            td(null, role ?? span({ class: 'quiet' }, '—')),
            td(null, grant ?? span({ class: 'quiet' }, '—')),
            td({ class: 'wrap' }, labels.length === 0 ? span({ class: 'quiet' }, 'none') : labels.join(', ')),
          ),
        ),
      ),
    ),
  );

const PREVIEWED = ['role', 'grant'] as const;

const previewOf = (visit: Visit): Promise<Answer<readonly Difference[]>> | null => {
  const { query, params } = visit;
  const chosen = PREVIEWED.flatMap((name) =>
    query.get(name) ? [[name, query.get(name) === 'none' ? null : query.get(name)] as const] : [],
  );
  const user_id = query.get('user_id');
  if (!user_id || chosen.length === 0 || !mayManageAccess(visit)) return null;
  const items = [{ user_id, agent_id: params.agent_id!, ...Object.fromEntries(chosen) }];
  return visit.ask(visit.rows.previewAccess, { tenant_id: params.tenant_id!, items }, ownPage(visit));
};

const saveOf = (visit: Visit): readonly Child[] => {
  const { rows, params, query } = visit;
  const path = { tenant_id: params.tenant_id!, agent_id: params.agent_id!, user_id: query.get('user_id')! };
  const [role, grant] = PREVIEWED.map((name) => query.get(name));
  const link = { look: 'primary', onAgent: () => true, returnTo: visit.path } as const;
  return [
    role === 'none' ? formLink(visit, rows.revokeAgentRole, path, 'Revoke the role', link) : null,
    role && role !== 'none' ? formLink(visit, rows.assignAgentRole, { ...path, role }, 'Give the role', link) : null,
    grant === 'none' ? formLink(visit, rows.revokeAgentAccess, path, 'Revoke the grant', link) : null,
    grant && grant !== 'none' ? formLink(visit, rows.grantAgentAccess, { ...path, role: grant }, 'Grant the access', link) : null,
  ];
};

const whatIf = (
  visit: Visit,
  preview: Answer<readonly Difference[]> | undefined,
  { users, agents }: Record<'users' | 'agents', Names>,
): Child => {
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const { query } = visit;
  return card(
    'What if',
    form(
      { method: 'get', action: visit.path },
      div(
        { class: 'filter-fields' },
        choice('user_id', 'Member', query.get('user_id'), [['', 'choose'], ...users]),
        choice('role', 'Role on the agent', query.get('role'), ROLE_OPTIONS),
        choice('grant', 'Grant', query.get('grant'), GRANT_OPTIONS),
      ),
      div({ class: 'actions' }, button(null, 'Show who gains and loses what')),
    ),
    preview === undefined ? p({ class: 'quiet' }, 'Nothing is changed by asking.') : h3(null, 'After the change'),
    preview ? panel(preview, (found) => differenceTable(found, users, agents, at)) : null,
    preview?.ok ? div({ class: 'actions' }, ...saveOf(visit)) : null,
  );
};

const answers = (explained: Explained, effective: Effective): Child => {
  const wanted = explained.visit.query.get('label');
  const shown = effective.permissions.filter(({ label: one }) => !wanted || one === wanted);
  const groups = Map.groupBy(
    shown.map((permission) => answered(permission, explained)),
    keyOf,
  );
  return ul({ class: 'answers' }, ...[...groups.values()].map((group) => answerOf(group, explained)));
};

/**
 * The page that shows the access of the members to one agent. For one member, it also shows the reasons, and the effect
 * of a change.
 */
export const agentAccessPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/access',
  permit: 'tenant:audit:read',
  nav: 'Agents',
  categories: ['tenant', 'agent'],
  asks: (visit) => {
    const { ask, rows, params, query } = visit;
    const as_of = query.get('as_of') || undefined;
    const path = { tenant_id: params.tenant_id!, agent_id: params.agent_id! };
    const user_id = query.get('user_id');
    const preview = previewOf(visit);
    return {
      agent: ask(rows.getAgent, { ...path, as_of }),
      may: ask(rows.readEffectivePermissions, path),
      access: ask(rows.listEffectiveAccess, { ...path, as_of, limit: PEOPLE }),
      members: ask(rows.listMembers, { tenant_id: path.tenant_id, as_of, limit: PEOPLE }),
      grid: ask(rows.readRolePermissions, { tenant_id: path.tenant_id, as_of }),
      ...(user_id ? { effective: ask(rows.readEffectivePermissions, { ...path, user_id, as_of }) } : {}),
      ...(preview ? { preview } : {}),
    };
  },
  title: () => 'Access',
  trail: agentTrail('Access'),
  view: ({ agent, may, access, members, grid, effective, preview }, visit) => {
    const users: Names = new Map(members.ok ? members.value.map((member) => [member.user_id, memberName(member)]) : []);
    const roles = grid.ok ? grid.value.roles : {};
    const user_id = visit.query.get('user_id');
    const mine = access.ok ? access.value.find((cell) => cell.user_id === user_id) : undefined;
    const explained = mine && { visit, access: mine, grid: roles, isAdminOnly: agent.ok && agent.value.is_admin_only };
    const nobody = p({ class: 'quiet' }, 'This user was not a member of the tenant, so they could do nothing with the agent.');
    return agentTab(visit, 'Access', { agent, may }, ({ id, name }) => [
      div(
        { class: 'stack wide-gap' },
        card(
          'Why',
          explainer(visit, users, roles.OWNER ?? []),
          effective ? panel(effective, (found) => (explained ? answers(explained, found) : nobody)) : null,
        ),
        mayManageAccess(visit) ? whatIf(visit, preview, { users, agents: new Map([[id, name]]) }) : null,
        panel(access, (cells) => accessTable(cells, users, visit)),
      ),
    ]);
  },
});
