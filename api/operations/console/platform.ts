import type { Rows } from '../../areas.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { counted } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card } from '../../console/parts/facts.ts';
import { figure } from '../../console/parts/figures.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import type { Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

const { details, div, span, summary } = tags;

type Report = ReplyOf<Rows['readHealth']>;
type Part = Report['parts'][number];

const WORST_FIRST = ['down', 'degraded', 'ok'] as const satisfies Part['status'][];

const figuresOf = (figures: Part['figures']): Child =>
  Object.entries(figures)
    .map(([name, value]) => figure(name, value).join(' '))
    .join(', ') || span({ class: 'quiet' }, '—');

/** Renders how many parts of the platform are in each state, the worst state first. */
const countsOf = (parts: readonly Part[]): Child =>
  span(
    null,
    ...WORST_FIRST.flatMap((status) => {
      const count = parts.filter((part) => part.status === status).length;
      return count === 0 ? [] : [badge(status, `${count} ${status}`), ' '];
    }),
  );

const tableOf = (parts: readonly Part[]): Child =>
  dataTable<Part>(
    {
      ...{ title: 'Parts of the platform', kind: 'part', nameTitle: 'Part', id: ({ name }) => name, name: ({ name }) => name },
      details: ({ detail, advice }) => [detail, advice === null ? null : div({ 'data-advice': '' }, icon('arrow-right'), ' ', advice)],
      columns: [
        { title: 'State', look: 'state', cell: ({ status }) => badge(status) },
        { title: 'Figures', cell: ({ figures }) => figuresOf(figures) },
      ],
    },
    parts,
  );

/** The groups of parts, by their titles; all other parts are services. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  Deliveries: ['runners', 'queues', 'budgets', 'dead letters', 'held deliveries', 'spool'],
  Processes: ['service', 'processes', 'worker', 'projections', 'relay'],
};
const OTHERS = 'Services';

const groupOf = ({ name }: Part): string => Object.keys(GROUPS).find((title) => GROUPS[title]?.includes(name)) ?? OTHERS;

/** Renders parts that are in order as one line, which unfolds. */
const foldedGroup = (title: string, parts: readonly Part[]): Child =>
  details(
    { class: 'card', id: `parts-${title.toLowerCase()}` },
    summary(
      null,
      `${title}: ${counted(parts.length, 'part')} in order`,
      span({ class: 'quiet' }, `: ${parts.map(({ name }) => name).join(', ')}`),
    ),
    tableOf(parts),
  );

/** Renders the parts that need something, the worst first, and folds those that are in order into one line per group. */
const partTable = (parts: readonly Part[]): Child => {
  if (parts.length === 0)
    return emptyState({ icon: 'activity', title: 'No parts', why: 'This process has no services that it could check.' });
  const [inOrder, wrong] = [parts.filter(({ status }) => status === 'ok'), parts.filter(({ status }) => status !== 'ok')];
  const worstFirst = WORST_FIRST.flatMap((status) => wrong.filter((part) => part.status === status));
  return div(
    { class: 'stack wide-gap' },
    wrong.length === 0 ? null : tableOf(worstFirst),
    ...[...Object.keys(GROUPS), OTHERS].map((title) => {
      const group = inOrder.filter((part) => groupOf(part) === title);
      return group.length === 0 ? null : foldedGroup(title, group);
    }),
  );
};

const processTable = (processes: Report['processes']): Child =>
  card(
    'Processes',
    dataTable<Report['processes'][number]>(
      {
        ...{
          title: 'Processes',
          kind: 'process',
          nameTitle: 'Process',
          id: ({ name }) => name,
          name: ({ name, kind }) => `${kind} on ${name}`,
        },
        details: ({ version, build, node }) => `annals ${version}${build === null ? '' : `, build ${build}`}, Node ${node}`,
        columns: [
          { title: 'State', look: 'state', cell: ({ state }) => badge(state === 'running' ? 'ok' : 'degraded', state) },
          { title: 'Started', look: 'number', cell: ({ started_at }) => ago(started_at) },
          { title: 'Last seen', look: 'number', cell: ({ last_seen_at }) => ago(last_seen_at) },
        ],
      },
      processes,
    ),
  );

const reportView = ({ parts, processes }: Report): Child => div({ class: 'stack wide-gap' }, partTable(parts), processTable(processes));

/**
 * Renders the health of the platform while the API cannot say who the visitor is. The report itself checks that the
 * visitor may read it; if not, the result is empty.
 */
const healthOnly = async ({ ask, rows }: Visit): Promise<readonly Child[]> => {
  const health = await ask(rows.readHealth, {});
  return health.ok ? [reportView(health.value)] : [];
};

/**
 * The page with the health of the platform: the state of each part, and what to do. It also shows them while the
 * visitor's tenants cannot be read, because an operator needs it most while a part is down.
 */
export const platformPage = page({
  path: '/console/platform',
  permit: 'platform',
  nav: 'Health',
  polls: true,
  whenDown: healthOnly,
  asks: ({ ask, rows }) => ({ health: ask(rows.readHealth, {}) }),
  title: () => 'Health',
  view: ({ health }) => [heading('Health', health.ok ? countsOf(health.value.parts) : null), panel(health, reportView)],
});
