import { DEFAULT_GRID } from '../../agents/default-grid.ts';
import type { Names } from './access-parts.ts';
import type { Access } from './explain.ts';
import { type Child, tags } from './tags.ts';

const { a, caption, div, span, table, tbody, td, th, thead, tr } = tags;

type Matrix = { readonly users: Names; readonly agents: Names; readonly at: (rest: string) => string };

const isAdmin = ({ tenant_role }: Access): boolean => tenant_role === 'OWNER' || tenant_role === 'ADMIN';

const roleIn = (access: Access): string => {
  const { tenant_role, role, grant } = access;
  const given = [role, grant && `grant ${grant}`].filter((one) => one).join(', ');
  return isAdmin(access) ? tenant_role : given || (tenant_role === 'AUDITOR' ? tenant_role : 'no role');
};

/** Returns what the roles of a member allow by default, as labels. The tenant may have changed the permissions of a role. */
const defaultLabels = (access: Access): readonly string[] => {
  const { tenant_role, role, grant } = access;
  if (isAdmin(access)) return DEFAULT_GRID.labels;
  const roles = [role, grant && DEFAULT_GRID.roleOfGrant[grant]].filter((one) => one !== null);
  return [...new Set([...(tenant_role === 'AUDITOR' ? ['View'] : []), ...roles.flatMap((one) => DEFAULT_GRID.roles[one])])];
};

/** Says how many permissions a member has beyond those of the default grid, and how many fewer; null if neither. */
const beyondDefault = (access: Access): string | null => {
  const expected = defaultLabels(access);
  const more = access.labels.filter((label) => !expected.includes(label)).length;
  const fewer = expected.filter((label) => !(access.labels as readonly string[]).includes(label)).length;
  return [more > 0 ? `+${more}` : '', fewer > 0 ? `−${fewer}` : ''].filter((one) => one).join(' ') || null;
};

const cellOf = (access: Access | undefined, agent: string, { at }: Matrix): Child => {
  if (!access) return td({ class: 'cell', 'data-label': agent });
  const { user_id, agent_id, labels } = access;
  const other = beyondDefault(access);
  const text = labels.length === 0 ? '–' : roleIn(access);
  return td(
    {
      'data-kind': 'access',
      'data-id': `${user_id} ${agent_id}`,
      'data-labels': labels.join('|'),
      class: 'cell',
      'data-label': agent,
    },
    a(
      { href: at(`/agents/${agent_id}/access?user_id=${user_id}`), title: labels.join(', ') || 'no permission' },
      span({ class: labels.length === 0 ? 'quiet' : null }, text),
      labels.length === 0 ? span({ class: 'hidden' }, 'no permission') : null,
      other !== null && labels.length > 0 ? span({ class: 'badge calm' }, other) : null,
    ),
  );
};

/** OWNERs and ADMINs may do everything with all agents, so their cells are merged. */
const mergedCell = ({ user_id, tenant_role, agent_id }: Access, columns: number, { at }: Matrix): Child =>
  td(
    { 'data-kind': 'access-all', 'data-id': user_id, class: 'cell merged', colspan: columns },
    a(
      { href: at(`/agents/${agent_id}/access?user_id=${user_id}`), title: DEFAULT_GRID.labels.join(', ') },
      span(null, `${tenant_role}: all agents`),
    ),
  );

const ORDER: readonly string[] = ['OWNER', 'ADMIN', 'MEMBER', 'AUDITOR'];

/**
 * Renders what each member may do with each agent: a cell is a role, and leads to the reasons. Where the table has less
 * than 880 px, each member has a list of agents.
 */
export const accessMatrix = (cells: readonly Access[], matrix: Matrix): Child => {
  const { users, agents, at } = matrix;
  const nameOf = (id: string): string => agents.get(id) ?? 'an agent';
  const columns = [...new Set(cells.map(({ agent_id }) => agent_id))];
  const people = [...Map.groupBy(cells, ({ user_id }) => user_id)].toSorted(
    ([one, [first]], [other, [second]]) =>
      ORDER.indexOf(first!.tenant_role) - ORDER.indexOf(second!.tenant_role) ||
      (users.get(one) ?? '').localeCompare(users.get(other) ?? ''),
  );
  const rowOf = ([id, own]: (typeof people)[number]): Child => {
    const byAgent = new Map(own.map((cell) => [cell.agent_id, cell]));
    const isAll = own.every((cell) => isAdmin(cell) && cell.labels.length === DEFAULT_GRID.labels.length);
    return tr(
      null,
      th({ scope: 'row' }, div(null, users.get(id) ?? 'a person'), span({ class: 'quiet' }, own[0]!.tenant_role)),
      ...(isAll
        ? [mergedCell(own[0]!, columns.length, matrix)]
        : columns.map((agent) => cellOf(byAgent.get(agent), nameOf(agent), matrix))),
    );
  };
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
          ...columns.map((id) => th({ scope: 'col' }, a({ href: at(`/agents/${id}/access`) }, nameOf(id)))),
        ),
      ),
      tbody(null, ...people.map(rowOf)),
    ),
  );
};
