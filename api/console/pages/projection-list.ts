import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { counted } from '../parts/count-text.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { panel } from '../parts/problem-panel.ts';
import { type Column, tableOf } from '../parts/table.ts';
import { tags } from '../parts/tags.ts';
import { DRIFT, lagText, PROJECTIONS, type Projection, projectionPath, rateText } from '../rebuilds.ts';

const { a, code, div, span, td, tr } = tags;

const COLUMNS: readonly Column[] = [
  ['Projection'],
  ['State'],
  ['Behind', 'number'],
  ['Rate', 'number wide-only'],
  ['Position', 'number wide-only'],
  ['Parked', 'number wide-only'],
];

const rowOf = (projection: Projection) => {
  const { name, version, state, position, head, writer, last_error, parked, drift } = projection;
  return tr(
    { 'data-kind': 'projection', 'data-id': name, 'data-position': position },
    td(
      { class: 'main-cell' },
      a({ class: 'row-link', href: projectionPath(name) }, span({ class: 'event' }, name)),
      div({ class: 'quiet' }, `version ${version}, ${writer ? `written by ${writer}` : 'no process writes it'}`),
      last_error === null ? null : div({ class: 'quiet' }, last_error),
      drift && drift.differing > 0 ? div({ class: 'quiet' }, `${counted(drift.differing, 'row')} with drift in the last sample`) : null,
    ),
    td({ class: 'state-cell' }, badge(state)),
    td({ class: 'number' }, lagText(projection)),
    td({ class: 'number wide-only' }, rateText(projection.events_per_second)),
    td(
      { class: 'number wide-only' },
      code(null, position ?? '—'),
      position === head ? null : div({ class: 'quiet' }, 'of ', code(null, head ?? '—')),
    ),
    td({ class: 'number wide-only' }, parked === 0 ? '0' : badge('parked', String(parked))),
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
        ? tableOf('Projections', COLUMNS, found.map(rowOf))
        : emptyState(
            { icon: 'database', title: 'No projection has reported yet', why: 'A worker reports them when it starts.' },
            code(null, 'annals work'),
          ),
    ),
  ],
});
