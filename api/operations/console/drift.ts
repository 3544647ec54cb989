import type { Rows } from '../../areas.ts';
import { page } from '../../console/page.ts';
import { counted } from '../../console/parts/count-text.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { jsonTree } from '../../console/parts/json-tree.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { exact } from '../../console/parts/time.ts';
import type { Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { DRIFT, PROJECTIONS, projectionPath } from './rebuilds.ts';

const { a, button, code, details, div, form, h3, input, p, summary } = tags;

type Report = ReplyOf<Rows['readDrift']>;
type Drifted = Report['projections'][number]['differing'][number];

/** Renders the form that starts the comparison. It starts only on request, because it reads many rows and events. */
const sampleForm = ({ query }: Visit, label: string): Child => {
  const projection = query.get('projection');
  return form(
    { method: 'get', action: DRIFT },
    input({ type: 'hidden', name: 'sample', value: '1' }),
    projection ? input({ type: 'hidden', name: 'projection', value: projection }) : null,
    button({ class: 'primary' }, icon('search'), label),
  );
};

const driftedRow = ({ key, columns, stored, folded, first_diverging_event }: Drifted): Child =>
  details(
    { 'data-kind': 'drifted-row' },
    summary(null, code(null, JSON.stringify(key)), ` differs in ${columns.join(', ')}`),
    p({ class: 'quiet' }, 'First event that the row does not reflect: ', code(null, first_diverging_event ?? 'unknown')),
    h3(null, 'As stored'),
    jsonTree(stored),
    h3(null, 'As the log yields it'),
    folded === null ? p({ class: 'quiet' }, 'The log yields no such row.') : jsonTree(folded),
  );

const reportView = ({ at, projections }: Report, visit: Visit): Child => {
  const drifted = projections.filter(({ differing }) => differing.length > 0);
  const rows = projections.reduce((sum, { sampled }) => sum + sampled, 0);
  return div(
    { class: 'stack' },
    p({ role: 'status' }, `Compared ${counted(rows, 'row')} of ${counted(projections.length, 'projection')}. `, exact(at)),
    ...drifted.map(({ name, differing }) =>
      card(
        `${name}: ${counted(differing.length, 'row')} with drift`,
        ...differing.map(driftedRow),
        p(null, a({ class: 'button', href: projectionPath(name) }, 'Open the projection')),
      ),
    ),
    drifted.length === 0
      ? emptyState(
          { icon: 'circle-check', title: 'No drift', why: 'Every sampled row is what the log yields.' },
          sampleForm(visit, 'Sample again'),
        )
      : sampleForm(visit, 'Sample again'),
  );
};

/** The page that compares randomly chosen rows with what the log yields. It does this only on request. */
export const driftPage = page({
  path: DRIFT,
  permit: 'platform',
  nav: 'Projections',
  asks: ({ ask, rows, query }) => {
    const projection = query.get('projection');
    const sample = () => ask(rows.readDrift, projection ? { projection } : {});
    return { drift: query.has('sample') ? sample() : Promise.resolve(null) };
  },
  title: () => 'Drift',
  trail: () => [['Projections', PROJECTIONS]],
  view: ({ drift }, visit) => [
    heading('Drift', 'Stored rows that differ from what the log yields.'),
    drift === null
      ? emptyState(
          { icon: 'database', title: 'No sample yet', why: 'A sample compares rows of each table, chosen at random, with the log.' },
          sampleForm(visit, 'Take a sample'),
        )
      : panel(drift, (report) => reportView(report, visit)),
  ],
});
