import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { page } from '../page.ts';
import { countText } from '../parts/count-text.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { usd } from '../parts/money.ts';
import { pager } from '../parts/pager.ts';
import { panel } from '../parts/problem-panel.ts';
import { type Column, tableOf } from '../parts/table.ts';
import { tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { platformPath, withQuery } from '../visit.ts';

const { div, strong, td, tr } = tags;

type Plan = ReplyOf<Rows['listPlans']>[number];

const COLUMNS: readonly Column[] = [
  ['Plan'],
  ['Per month', 'number'],
  ['Agents', 'number'],
  ['Members', 'number'],
  ['Cron jobs', 'number wide-only'],
  ['Deliveries per minute', 'number wide-only'],
  ['Since', 'number wide-only'],
];

const rowOf = ({ id, name, slug, monthly_usd, price_id, limits, created_at }: Plan) =>
  tr(
    { 'data-kind': 'plan', 'data-id': id },
    td({ class: 'main-cell' }, strong(null, name), div({ class: 'quiet clip' }, slug, price_id ? ` · price ${price_id}` : '')),
    td({ class: 'number' }, usd(monthly_usd)),
    td({ class: 'number' }, countText(limits.agents)),
    td({ class: 'number' }, countText(limits.members)),
    td({ class: 'number wide-only' }, countText(limits.cron_jobs)),
    td({ class: 'number wide-only' }, countText(limits.webhooks_per_minute)),
    td({ class: 'number wide-only' }, ago(created_at)),
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
      panel(plans, (found) => (found.length === 0 ? nothing : tableOf('Plans', COLUMNS, found.map(rowOf)))),
      pager(plans, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
