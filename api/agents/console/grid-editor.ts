import type { Rows } from '../../areas.ts';
import { type Difference, differenceTable, type Names } from '../../console/parts/access-parts.ts';
import { card } from '../../console/parts/facts.ts';
import { icon } from '../../console/parts/icon.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { mayCall } from '../../console/permission.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';

const { button, caption, div, form, h3, input, label, p, span, table, tbody, td, th, thead, tr } = tags;

type Grid = ReplyOf<Rows['readRolePermissions']>;

/** The roles whose permissions can change. An OWNER of an agent always has all. */
const EDITABLE = ['VIEWER', 'MANAGER'] as const;
const ROLES = [...EDITABLE, 'OWNER'] as const;
/** The query parameter that says that the checked boxes of the grid are in the URL. */
const ASKED = 'grid';

/** Whether the visitor may change the grid on this page; never on a page that shows the past. */
const mayEdit = (visit: Visit): boolean => !visit.query.has('as_of') && mayCall(visit, visit.rows.changeRolePermissions);

/** Returns the grid that the boxes in the URL describe; null if the URL has none, or the visitor may not change it. */
export const gridInQuery = (visit: Visit): Readonly<Record<(typeof EDITABLE)[number], readonly string[]>> | null =>
  visit.query.has(ASKED) && mayEdit(visit) ? { VIEWER: visit.query.getAll('VIEWER'), MANAGER: visit.query.getAll('MANAGER') } : null;

const cellOf = (role: string, one: string, { has, isEditable }: { readonly has: boolean; readonly isEditable: boolean }) =>
  isEditable && role !== 'OWNER'
    ? td(null, label(null, input({ type: 'checkbox', name: role, value: one, checked: has }), span({ class: 'hidden' }, `${role}: ${one}`)))
    : td({ class: has ? 'yes' : 'no' }, icon(has ? 'check' : 'x'), span({ class: 'hidden' }, has ? 'yes' : 'no'));

/** Renders the form that saves the grid of the URL, unless somebody else has changed it in the meantime. */
const saveForm = (visit: Visit, grid: Answer<Grid>): Child => {
  const chosen = gridInQuery(visit);
  if (!chosen) return null;
  const hidden = (name: string, value: string) => input({ type: 'hidden', name, value });
  return form(
    { method: 'post', action: '/console/run/changeRolePermissions', 'data-form': 'changeRolePermissions' },
    hidden(':tenant_id', visit.params.tenant_id!),
    hidden('_return', visit.path),
    grid.etag ? hidden('_etag', grid.etag) : null,
    hidden('_drawn', JSON.stringify({ roles: grid.ok ? grid.value.roles : {} })),
    ...EDITABLE.flatMap((role) => chosen[role].map((one) => hidden(`/roles/${role}`, one))),
    ...(grid.ok ? (grid.value.roles.OWNER ?? []) : []).map((one) => hidden('/roles/OWNER', one)),
    button({ class: 'primary' }, 'Save this grid'),
  );
};

type Shown = { readonly preview: Answer<readonly Difference[]> | undefined; readonly users: Names; readonly agents: Names };

/**
 * Renders the permissions of each role on agents. Visitors who may change them get boxes: the page first shows who would
 * gain and lose what, and then offers to save.
 */
export const gridCard = (visit: Visit, answer: Answer<Grid>, { preview, users, agents }: Shown): Child =>
  panel(answer, ({ roles }) => {
    const chosen = gridInQuery(visit);
    const isEditable = mayEdit(visit);
    const labels = roles.OWNER ?? [];
    const has = (role: (typeof ROLES)[number], one: string): boolean =>
      (chosen && role !== 'OWNER' ? chosen[role] : (roles[role] ?? [])).includes(one);
    const grid = div(
      { class: 'table-box' },
      table(
        { class: 'list grid' },
        caption({ class: 'hidden' }, 'The permissions of each role on agents'),
        thead(null, tr(null, th({ scope: 'col' }, 'Permission'), ...ROLES.map((name) => th({ scope: 'col' }, name)))),
        tbody(
          null,
          ...labels.map((one) =>
            tr(null, th({ scope: 'row' }, one), ...ROLES.map((role) => cellOf(role, one, { has: has(role, one), isEditable }))),
          ),
        ),
      ),
    );
    const ask = div({ class: 'actions form-actions' }, button(null, 'Show who gains and loses what'));
    return card(
      'What each role may do',
      isEditable
        ? form({ method: 'get', action: visit.path, class: 'grid-form' }, input({ type: 'hidden', name: ASKED, value: 'asked' }), grid, ask)
        : grid,
      p({ class: 'quiet' }, 'A grant VIEWER is as the role VIEWER, a grant EDITOR as MANAGER.'),
      chosen && preview ? h3(null, 'After the change') : null,
      chosen && preview
        ? panel(preview, (found) => differenceTable(found, users, agents, (rest) => tenantPath(visit.params.tenant_id!, rest)))
        : null,
      chosen && preview?.ok ? div({ class: 'actions form-actions' }, saveForm(visit, answer)) : null,
    );
  });
