import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { page } from '../page.ts';
import { countText } from '../parts/count-text.ts';
import { type DataColumn, dataTable } from '../parts/data-table.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { usd } from '../parts/money.ts';
import { pager } from '../parts/pager.ts';
import { panel } from '../parts/problem-panel.ts';
import type { Child } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { platformPath, withQuery } from '../visit.ts';

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
