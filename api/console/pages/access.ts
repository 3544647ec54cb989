import type { Answer } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { gridCard, gridInQuery } from '../grid-editor.ts';
import { page } from '../page.ts';
import { choice, type Difference, differenceTable, memberName, type Names } from '../parts/access-parts.ts';
import { emptyState } from '../parts/empty-state.ts';
import type { Access } from '../parts/explain.ts';
import { card } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { panel, problemPanel } from '../parts/problem-panel.ts';
import { type Child, tags } from '../parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, button, caption, div, form, p, span, strong, table, tbody, td, th, thead, tr, h3 } = tags;

const CELLS = 200;
const TENANT_ROLES = ['ADMIN', 'MEMBER', 'AUDITOR', 'OWNER'] as const;

const roleIn = ({ tenant_role, role, grant }: Access): string => {
  if (tenant_role === 'OWNER' || tenant_role === 'ADMIN') return tenant_role;
  return [role, grant && `grant ${grant}`].filter((one) => one).join(', ') || (tenant_role === 'AUDITOR' ? tenant_role : '');
};

const toneOf = (labels: number, all: number): string => (labels === 0 ? 'calm' : labels === all ? 'good' : 'busy');

const cellOf = (access: Access | undefined, { all, at }: { all: number; at: (rest: string) => string }) => {
  if (!access) return td(null);
  const { user_id, agent_id, labels } = access;
  const said = labels.length === 0 ? 'no access' : `${labels.length} of ${all}`;
  return td(
    { 'data-kind': 'access', 'data-id': `${user_id} ${agent_id}`, 'data-labels': labels.join('|'), class: 'cell' },
    a(
      { href: at(`/agents/${agent_id}/access?user_id=${user_id}`), title: labels.join(', ') || 'no permission' },
      span({ class: `badge ${toneOf(labels.length, all)}` }, said),
      span({ class: 'quiet' }, roleIn(access)),
    ),
  );
};

const ORDER: readonly string[] = ['OWNER', 'ADMIN', 'MEMBER', 'AUDITOR'];

type Matrix = { readonly users: Names; readonly agents: Names; readonly all: number; readonly at: (rest: string) => string };

const matrixOf = (cells: readonly Access[], { users, agents, all, at }: Matrix): Child => {
  const found = new Map(cells.map((cell) => [`${cell.user_id} ${cell.agent_id}`, cell]));
  const columns = [...new Set(cells.map(({ agent_id }) => agent_id))];
  const people = [...new Map(cells.map((cell) => [cell.user_id, cell.tenant_role])).entries()].sort(
    ([one, role], [other, otherRole]) =>
      ORDER.indexOf(role) - ORDER.indexOf(otherRole) || (users.get(one) ?? '').localeCompare(users.get(other) ?? ''),
  );
  return div(
    { class: 'table-box' },
    table(
      { class: 'list matrix' },
      caption({ class: 'hidden' }, 'What each member may do with each agent'),
      thead(
        null,
        tr(
          null,
          th({ scope: 'col' }, 'Member'),
          ...columns.map((id) => th({ scope: 'col' }, a({ href: at(`/agents/${id}/access`) }, agents.get(id) ?? id))),
        ),
      ),
      tbody(
        null,
        ...people.map(([id, role]) =>
          tr(
            null,
            th({ scope: 'row' }, div(null, users.get(id) ?? id), span({ class: 'quiet' }, role)),
            ...columns.map((agent) => cellOf(found.get(`${id} ${agent}`), { all, at })),
          ),
        ),
      ),
    ),
  );
};

const TENANT_OPTIONS = [['', 'choose'], ...TENANT_ROLES.map((one) => [one, one] as const), ['none', 'remove from the tenant']] as const;

/**
 * Renders the form of a preview, and its result. It shows which users would gain or lose which permissions if a
 * member's role in the tenant changed.
 */
const whatIf = (visit: Visit, users: Names, preview: Answer<readonly Difference[]> | undefined, agents: Names): Child => {
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const { query } = visit;
  return card(
    'What if',
    form(
      { method: 'get', action: visit.path },
      div(
        { class: 'filter-fields' },
        choice('user_id', 'Member', query.get('user_id'), [['', 'choose'], ...users]),
        choice('tenant_role', 'Role in the tenant', query.get('tenant_role'), TENANT_OPTIONS),
      ),
      div({ class: 'actions' }, button({ class: 'primary' }, 'Show who gains and loses what')),
    ),
    preview ? h3(null, 'After the change') : null,
    preview ? panel(preview, (found) => differenceTable(found, users, agents, at)) : p({ class: 'quiet' }, 'Nothing is changed by asking.'),
    preview?.ok ? div({ class: 'actions' }, saveOf(visit)) : null,
  );
};

const saveOf = (visit: Visit): Child => {
  const { rows, params, query } = visit;
  const path = { tenant_id: params.tenant_id!, user_id: query.get('user_id')! };
  const role = query.get('tenant_role')!;
  return role === 'none'
    ? formLink(visit, rows.removeMember, path, 'Remove the member', { look: 'danger' })
    : formLink(visit, rows.changeMemberRole, { ...path, role }, 'Change the role', { look: 'primary' });
};

/** Whether the visitor may change roles on this page. Only members of the tenant may, and not on a page of the past. */
export const mayManageAccess = ({ tenant, me, query }: Visit): boolean =>
  (tenant?.permissions.includes('tenant:members:write') ?? false) && !me?.read_only && !query.has('as_of');

/**
 * Returns the headers that mark an API call as made by a page of this site. Here, this is safe even if a link of
 * another site opens the page, because a preview changes nothing.
 */
export const ownPage = ({ origin }: Pick<Visit, 'origin'>) => ({ headers: { origin, 'sec-fetch-site': 'same-origin' } });

const previewOf = (visit: Visit): Promise<Answer<readonly Difference[]>> | null => {
  const [user_id, role] = [visit.query.get('user_id'), visit.query.get('tenant_role')];
  const grid = gridInQuery(visit);
  const isOfMember = user_id && role && mayManageAccess(visit);
  if (!grid && !isOfMember) return null;
  const items = grid ? [{ grid }] : [{ user_id, tenant_role: role === 'none' ? null : role }];
  return visit.ask(visit.rows.previewAccess, { tenant_id: visit.params.tenant_id!, items } as never, ownPage(visit));
};

/** The page that shows what each member may do with each agent, and what each role allows. */
export const accessPage = page({
  path: '/console/t/:tenant_id/access',
  permit: 'tenant:audit:read',
  nav: 'Access',
  categories: ['tenant', 'agent'],
  asks: (visit) => {
    const { ask, rows, params, query } = visit;
    const tenant_id = params.tenant_id!;
    const as_of = query.get('as_of') ?? undefined;
    const cursor = query.get('cursor');
    const preview = previewOf(visit);
    return {
      access: ask(rows.listEffectiveAccess, { tenant_id, as_of, limit: CELLS, ...(cursor === null ? {} : { cursor }) }),
      members: ask(rows.listMembers, { tenant_id, as_of, limit: CELLS }),
      agents: ask(rows.listAgents, { tenant_id, as_of, limit: CELLS }),
      grid: ask(rows.readRolePermissions, { tenant_id, as_of }),
      ...(preview ? { preview } : {}),
    };
  },
  title: () => 'Access',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ access, members, agents, grid, preview }, visit) => {
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const users: Names = new Map(members.ok ? members.value.map((member) => [member.user_id, memberName(member)]) : []);
    const names: Names = new Map(agents.ok ? agents.value.map(({ id, name }) => [id, name]) : []);
    const all = grid.ok ? (grid.value.roles.OWNER?.length ?? 0) : 0;
    const matrix = () => {
      if (!access.ok) return problemPanel(access.problem);
      if (access.value.length > 0) return matrixOf(access.value, { users, agents: names, all, at });
      return emptyState(
        { icon: 'users', title: 'No agents yet', why: 'The matrix shows what each member may do with each agent.' },
        a({ class: 'button', href: at('/agents') }, 'To the agents'),
      );
    };
    return [
      heading('Access', span(null, 'What each member may do with each agent. ', strong(null, 'A cell explains why.'))),
      matrix(),
      pager(access, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next }), {
        first: 'First agents',
        next: 'More agents',
      }),
      div(
        { class: 'columns' },
        gridCard(visit, grid, { preview, users, agents: names }),
        mayManageAccess(visit) ? whatIf(visit, users, gridInQuery(visit) ? undefined : preview, names) : null,
      ),
    ];
  },
});
