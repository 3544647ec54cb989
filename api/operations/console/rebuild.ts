import type { Rows } from '../../areas.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { countText } from '../../console/parts/count-text.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { filterTabs } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { changeTable } from '../../console/parts/history.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { type Visit, withQuery } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { decisionButtons } from './projection.ts';
import { comparisonText, operatorName, PROJECTIONS, projectionPath, type Rebuild, rebuildProgress } from './rebuilds.ts';

const { aside, code, div, p, span, strong } = tags;

type RowDifference = ReplyOf<Rows['listRowDifferences']>[number];

const hasDifferences = ({ state, comparison }: Rebuild): boolean => state === 'ready' && (comparison?.differing ?? 0) > 0;

const factsOf = ({ version, events, requested_at, requested_by, ended_at, decided_by, reason }: Rebuild) =>
  facts({
    Version: String(version),
    Events: events === null ? null : countText(events),
    Requested: ago(requested_at),
    'Requested by': operatorName(requested_by),
    Ended: ended_at === null ? 'not yet' : ago(ended_at),
    'Decided by': decided_by === null ? null : operatorName(decided_by),
    Reason: reason,
  });

/** Renders one link for each column in which the sampled rows differ. It shows only the differences in this column. */
const columnFilter = ({ comparison }: Rebuild, visit: Visit): Child => {
  const columns = [...new Set(comparison?.shown.flatMap((row) => row.columns))].toSorted();
  const option = (column: string | null, label: string) => ({ value: column, label, href: withQuery(visit, { column }) });
  return filterTabs('Filter by column', visit.query.get('column'), [
    option(null, 'All columns'),
    ...columns.map((one) => option(one, one)),
  ]);
};

const changesOf = (row: readonly RowDifference[]) =>
  row.map(({ column, live, rebuilt }) => ({ pointer: column ?? 'the whole row', from: live, to: rebuilt }));

const rowView = (row: readonly RowDifference[]): Child => {
  const [{ table, key, last_event_id }] = row as [RowDifference];
  return div(
    { 'data-kind': 'row-difference' },
    p(null, strong(null, table), ' ', code(null, JSON.stringify(key))),
    changeTable({ changes: changesOf(row) }),
    p({ class: 'quiet' }, 'Last changed by the event ', last_event_id === null ? 'that is no longer in the log' : shortId(last_event_id)),
  );
};

const differencesCard = (rebuild: Rebuild, differences: Answer<readonly RowDifference[]>, visit: Visit): Child =>
  card(
    'Rows that differ',
    div(
      { class: 'stack' },
      p({ class: 'quiet' }, '− is the live value, + the rebuilt one. At most 20 rows are shown; choose a column to see others.'),
      columnFilter(rebuild, visit),
      panel(differences, (found) => {
        const rows = [...Map.groupBy(found, ({ table, key }) => JSON.stringify([table, key])).values()];
        return rows.length === 0
          ? emptyState({ icon: 'check', title: 'No row differs now', why: 'The rows have become equal, or none differs in this column.' })
          : div({ class: 'stack' }, ...rows.map(rowView));
      }),
    ),
  );

/**
 * The page of a rebuild: its progress, how its rows differ from the live rows, and which operator promoted or aborted
 * it.
 */
export const rebuildPage = page({
  path: `${PROJECTIONS}/:name/rebuilds/:rebuild`,
  permit: 'platform',
  nav: 'Projections',
  polls: true,
  asks: ({ ask, rows, params, query }) => {
    const path = { name: params.name!, rebuild: params.rebuild! };
    const rebuild = ask(rows.readRebuild, path);
    const column = query.get('column');
    const differences = rebuild.then((found) =>
      found.ok && hasDifferences(found.value) ? ask(rows.listRowDifferences, { ...path, ...(column ? { column } : {}) }) : null,
    );
    return { rebuild, differences };
  },
  title: (_, { params }) => `Rebuild ${params.rebuild}`,
  trail: ({ params }) => [
    ['Projections', PROJECTIONS],
    [params.name!, projectionPath(params.name!)],
  ],
  view: ({ rebuild, differences }, visit) => {
    if (!rebuild.ok) return [heading('Rebuild', null), problemPanel(rebuild.problem)];
    const { value } = rebuild;
    return [
      div(
        { 'data-kind': 'rebuild', 'data-id': value.id },
        heading(span(null, `Rebuild ${value.id} of ${value.projection} `, badge(value.state)), null, ...decisionButtons(visit, value)),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            card('Comparison', rebuildProgress(value) ?? p(null, comparisonText(value))),
            differences ? differencesCard(value, differences, visit) : null,
          ),
          aside({ class: 'detail-side', 'aria-label': 'Facts' }, card('Facts', factsOf(value))),
        ),
      ),
    ];
  },
});
