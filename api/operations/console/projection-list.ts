import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { counted } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { heading } from '../../console/parts/heading.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { DRIFT, lagText, PROJECTIONS, type Projection, projectionPath, rateText } from './rebuilds.ts';

const { a, code, details, div, summary } = tags;

const projectionTable = (found: readonly Projection[]): Child =>
  dataTable<Projection>(
    {
      ...{ title: 'Projections', kind: 'projection', nameTitle: 'Projection', id: ({ name }) => name, name: ({ name }) => name },
      href: ({ name }) => projectionPath(name),
      details: ({ version, writer, last_error, drift }) => [
        `version ${version}, ${writer ? `written by ${writer}` : 'no process writes it'}`,
        last_error === null ? null : div(null, last_error),
        drift && drift.differing > 0 ? div(null, `${counted(drift.differing, 'row')} with drift in the last sample`) : null,
      ],
      columns: [
        { title: 'State', look: 'state', cell: ({ state }) => badge(state) },
        { title: 'Behind', look: 'number', cell: lagText },
        { title: 'Rate', look: 'number', cell: ({ events_per_second }) => rateText(events_per_second) },
        {
          ...{ title: 'Position', look: 'number' },
          cell: ({ position, head }) => [
            code(null, position ?? '—'),
            position === head ? null : div({ class: 'quiet' }, ' of ', code(null, head ?? '—')),
          ],
        },
        { title: 'Parked', look: 'number', cell: ({ parked }) => (parked === 0 ? '0' : badge('parked', String(parked))) },
      ],
      attributes: ({ position }) => ({ 'data-position': position }),
    },
    found,
  );

/** From this time on, in seconds, a projection counts as behind the log. */
const BEHIND_SECONDS = 2;

/** Whether a projection needs nothing: a process writes it, and it keeps up, without a rebuild and without known drift. */
const isUpToDate = ({ state, writer, lag_seconds, parked, drift, last_error }: Projection): boolean =>
  state === 'live' &&
  writer !== null &&
  lag_seconds < BEHIND_SECONDS &&
  parked === 0 &&
  (drift?.differing ?? 0) === 0 &&
  last_error === null;

/** Renders the projections that need attention, and folds those that are up to date into one line. */
const projectionLists = (found: readonly Projection[]): Child => {
  const [rest, behind] = [found.filter(isUpToDate), found.filter((one) => !isUpToDate(one))];
  const head = rest[0]?.head;
  const verb = rest.length === 1 ? 'is' : 'are';
  return div(
    { class: 'stack wide-gap' },
    behind.length === 0 ? null : projectionTable(behind),
    rest.length === 0
      ? null
      : details(
          { class: 'card', open: behind.length === 0 },
          summary(null, `${counted(rest.length, 'projection')} ${verb} up to date`, head ? [' at ', code(null, head)] : null),
          projectionTable(rest),
        ),
  );
};

/**
 * The page with all projections: how far each has read the log, which worker writes it, and which events it could not
 * apply.
 */
export const projectionListPage = page({
  path: PROJECTIONS,
  permit: 'platform',
  nav: 'Projections',
  polls: true,
  asks: ({ ask, rows }) => ({ projections: ask(rows.listProjections, {}) }),
  title: () => 'Projections',
  view: ({ projections }) => [
    heading('Projections', 'The read models, which are made from the log.', a({ class: 'button', href: DRIFT }, 'Check for drift')),
    panel(projections, (found) =>
      found.length > 0
        ? projectionLists(found)
        : emptyState(
            { icon: 'database', title: 'No projection has reported yet', why: 'A worker reports them when it starts.' },
            code(null, 'annals work'),
          ),
    ),
  ],
});
