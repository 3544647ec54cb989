import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { dataTable } from '../parts/data-table.ts';
import { emptyState } from '../parts/empty-state.ts';
import { figure } from '../parts/figures.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { panel } from '../parts/problem-panel.ts';
import { type Child, tags } from '../parts/tags.ts';
import type { Visit } from '../visit.ts';

const { div, li, span, ul } = tags;

type Report = ReplyOf<Rows['readHealth']>;
type Part = Report['parts'][number];

const WORST_FIRST = ['down', 'degraded', 'ok'] as const satisfies Part['status'][];

const figuresOf = (figures: Part['figures']): Child =>
  ul(
    null,
    ...Object.entries(figures).map(([name, value]) => {
      const [label, text] = figure(name, value);
      return li(null, span({ class: 'quiet' }, `${label} `), text);
    }),
  );

/** Renders how many parts of the platform are in each state, the worst state first. */
const countsOf = (parts: readonly Part[]): Child =>
  span(
    null,
    ...WORST_FIRST.flatMap((status) => {
      const count = parts.filter((part) => part.status === status).length;
      return count === 0 ? [] : [badge(status, `${count} ${status}`), ' '];
    }),
  );

const partTable = (parts: readonly Part[]): Child =>
  parts.length === 0
    ? emptyState({ icon: 'activity', title: 'No parts', why: 'This process has no services that it could check.' })
    : dataTable<Part>(
        {
          ...{ title: 'Parts of the platform', kind: 'part', nameTitle: 'Part', id: ({ name }) => name, name: ({ name }) => name },
          details: ({ detail, advice }) => [
            detail,
            advice === null ? null : div({ 'data-advice': '' } as never, icon('arrow-right'), ' ', advice),
          ],
          columns: [
            { title: 'State', look: 'state', cell: ({ status }) => badge(status) },
            { title: 'Figures', look: 'number', cell: ({ figures }) => figuresOf(figures) },
          ],
        },
        WORST_FIRST.flatMap((status) => parts.filter((part) => part.status === status)),
      );

/**
 * Renders the health of the platform while the API cannot say who the visitor is. The report itself checks that the
 * visitor may read it; if not, the result is empty.
 */
const healthOnly = async ({ ask, rows }: Visit): Promise<readonly Child[]> => {
  const health = await ask(rows.readHealth, {});
  return health.ok ? [partTable(health.value.parts)] : [];
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
  title: () => 'Platform',
  view: ({ health }) => [
    heading('Platform', health.ok ? countsOf(health.value.parts) : null),
    panel(health, ({ parts }) => partTable(parts)),
  ],
});
