import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { accessMatrix } from '../../console/parts/access-matrix.ts';
import { choice, type Difference, differenceTable, memberName, type Names } from '../../console/parts/access-parts.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, Sent } from '../../http/ask.ts';
import { gridCard, gridInQuery } from './grid-editor.ts';

const { a, button, div, form, input, p, span, strong, h3 } = tags;

const CELLS = 200;
const TENANT_ROLES = ['ADMIN', 'MEMBER', 'AUDITOR', 'OWNER'] as const;

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

/** Whether the visitor may change roles on this page. Only members of the tenant may, and not on a page that shows the past. */
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
  const items = (grid ? [{ grid }] : [{ user_id, tenant_role: role === 'none' ? null : role }]) as Sent<Rows['previewAccess']>['items'];
  return visit.ask(visit.rows.previewAccess, { tenant_id: visit.params.tenant_id!, items }, ownPage(visit));
};

/** Renders the choice of one member or one agent. The matrix then shows only these. */
const selection = (visit: Visit, users: Names, agents: Names): Child => {
  const { path, query } = visit;
  const as_of = query.get('as_of');
  const isSet = query.get('person') || query.get('agent');
  return form(
    { method: 'get', action: path, class: 'toolbar selection' },
    as_of === null ? null : input({ type: 'hidden', name: 'as_of', value: as_of }),
    choice('person', 'Person', query.get('person'), [['', 'all'], ...users]),
    choice('agent', 'Agent', query.get('agent'), [['', 'all'], ...agents]),
    button(null, 'Show'),
    isSet ? a({ class: 'button', href: withQuery(visit, { person: null, agent: null }) }, 'Show all') : null,
  );
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
    const [user_id, agent_id] = [query.get('person') || undefined, query.get('agent') || undefined];
    const preview = previewOf(visit);
    return {
      access: ask(rows.listEffectiveAccess, { tenant_id, as_of, limit: CELLS, user_id, agent_id, ...(cursor === null ? {} : { cursor }) }),
      members: ask(rows.listMembers, { tenant_id, as_of, limit: CELLS }),
      agents: ask(rows.listAgents, { tenant_id, as_of, limit: CELLS }),
      grid: ask(rows.readRolePermissions, { tenant_id, as_of }),
      ...(preview ? { preview } : {}),
    };
  },
  title: () => 'Access',
  view: ({ access, members, agents, grid, preview }, visit) => {
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const users: Names = new Map(members.ok ? members.value.map((member) => [member.user_id, memberName(member)]) : []);
    const names: Names = new Map(agents.ok ? agents.value.map(({ id, name }) => [id, name]) : []);
    const matrix = () => {
      if (!access.ok) return problemPanel(access.problem);
      if (access.value.length > 0) return accessMatrix(access.value, { users, agents: names, at });
      return emptyState(
        { icon: 'users', title: 'No agents yet', why: 'The matrix shows what each member may do with each agent.' },
        a({ class: 'button', href: at('/agents') }, 'To the agents'),
      );
    };
    return [
      heading('Access', span(null, 'What each member may do with each agent. ', strong(null, 'A cell explains why.'))),
      selection(visit, users, names),
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
