import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { countText } from '../../console/parts/count-text.ts';
import { type DataColumn, dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { heading } from '../../console/parts/heading.ts';
import { usd } from '../../console/parts/money.ts';
import { pager } from '../../console/parts/pager.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import type { Child } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { platformPath, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';

type Plan = ReplyOf<Rows['listPlans']>[number];

const limit = (title: string, name: keyof Plan['limits']): DataColumn<Plan> => ({
  ...{ title, look: 'number' },
  cell: ({ limits }) => countText(limits[name]),
});

const planTable = (plans: readonly Plan[]): Child =>
  dataTable<Plan>(
    {
      ...{ title: 'Plans', kind: 'plan', nameTitle: 'Plan', id: ({ id }) => id, name: ({ name }) => name },
      details: ({ slug, price_id }) => [slug, price_id ? ` · price ${price_id}` : ''],
      columns: [
        { title: 'Per month', look: 'number', cell: ({ monthly_usd }) => usd(monthly_usd) },
        limit('Agents', 'agents'),
        limit('Members', 'members'),
        limit('Cron jobs', 'cron_jobs'),
        limit('Deliveries per minute', 'webhooks_per_minute'),
        { title: 'Since', look: 'number', cell: ({ created_at }) => ago(created_at) },
      ],
    },
    plans,
  );

/** The page with the plans that tenants can have. */
export const platformPlansPage = page({
  path: '/console/platform/plans',
  permit: 'platform',
  nav: 'Plans',
  polls: true,
  asks: ({ ask, rows, query }) => {
    const cursor = query.get('cursor');
    return { plans: ask(rows.listPlans, cursor ? { cursor } : {}) };
  },
  title: () => 'Plans',
  trail: () => [['Platform', platformPath()]],
  view: ({ plans }, visit) => {
    const add = formLink(visit, visit.rows.createPlan, {}, 'New plan', { icon: 'plus', look: 'primary', next: visit.path });
    const nothing = emptyState({ icon: 'layers', title: 'No plans', why: 'A plan says how much a tenant may use.' }, add);
    return [
      heading('Plans', 'What tenants may use, and for what price. A plan never changes; a tenant can change to another one.', add),
      panel(plans, (found) => (found.length === 0 ? nothing : planTable(found))),
      pager(plans, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
