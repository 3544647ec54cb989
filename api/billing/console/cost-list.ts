import type { Rows } from '../../areas.ts';
import { agentNames, namesIn } from '../../console/names.ts';
import { NOT_ASKED, page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { countText } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { type FilterField, filterForm, valuesIn } from '../../console/parts/filter-form.ts';
import { filterTabs } from '../../console/parts/filters.ts';
import { heading } from '../../console/parts/heading.ts';
import { exactUsd, usd } from '../../console/parts/money.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { budgetTimes } from './budget-hours.ts';
import { budgetCards } from './budget-table.ts';
import { costChart } from './cost-chart.ts';

const { a, div, p, strong } = tags;

type Breakdown = ReplyOf<Rows['readCostBreakdown']>;

const GROUPS = [
  ['day', 'By day'],
  ['agent', 'By agent'],
  ['model', 'By model'],
  ['cause', 'By cause'],
] as const;
const PERIOD: readonly FilterField[] = [
  { name: 'start', label: 'From', placeholder: 'yesterday 9:00' },
  { name: 'end', label: 'Until', placeholder: '2 hours ago' },
];

const groupOf = ({ query }: Visit) => query.get('group_by') ?? 'day';

const anomalyText = ({ anomaly }: Breakdown['groups'][number]): Child =>
  anomaly === null
    ? null
    : div(
        { class: 'quiet', 'data-anomaly': '' },
        badge('behind', 'unusual'),
        ` ${anomaly.day}: ${usd(anomaly.cost_usd)}. Usual: median ${usd(anomaly.median_usd)}, spread ${usd(anomaly.spread_usd)}; unusual from ${usd(anomaly.floor_usd)} on.`,
      );

/** Returns the path of the page about an agent, or about what caused costs; null if there is none. */
const linkOf = (visit: Visit, { key, agent_id }: Breakdown['groups'][number]): string | null => {
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  if (groupOf(visit) === 'agent') return at(`/agents/${key}`);
  const [kind, id] = key.split(':');
  if (groupOf(visit) !== 'cause' || !id) return null;
  if (kind === 'webhook') return at(`/deliveries?integration_id=${id}`);
  if (kind === 'cron_job' && agent_id) return at(`/agents/${agent_id}/cron-jobs/${id}`);
  return kind === 'user' && visit.may('tenant:audit:read') ? at(`/sessions?user_id=${id}`) : null;
};

const kindText = (visit: Visit, { key, label: name }: Breakdown['groups'][number]): string | null => {
  const kind = groupOf(visit) === 'cause' ? key.split(':')[0]!.replaceAll('_', ' ') : null;
  return kind === name ? null : kind;
};

/** The filters that set the period. */
const PERIOD_NAMES = ['start', 'end'];

/** A row of the table: a group of costs, or their total, which has no group. */
type CostRow = Pick<Breakdown['groups'][number], 'key' | 'label' | 'requests' | 'repriced_usd' | 'cost_usd'> & {
  readonly group: Breakdown['groups'][number] | null;
};

const detailsOf = (visit: Visit, group: Breakdown['groups'][number]): Child => {
  const kind = kindText(visit, group);
  return kind === null && group.anomaly === null ? null : [kind, anomalyText(group)];
};

const groupTable = (visit: Visit, { groups, total_cost_usd, total_repriced_usd }: Breakdown) => {
  const isFiltered = Object.keys(valuesIn(visit.query, PERIOD_NAMES)).length > 0;
  if (groups.length === 0)
    return emptyState(
      { icon: 'gauge', title: 'No costs in this period', why: 'Costs appear when runners report the use of models in sessions.' },
      isFiltered
        ? a({ class: 'button', href: withQuery(visit, { start: null, end: null }) }, 'Clear the filters')
        : a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/agents') }, 'Open the agents'),
    );
  const requests = groups.reduce((sum, group) => sum + group.requests, 0);
  const total: CostRow = {
    key: 'total',
    label: 'Total',
    requests,
    repriced_usd: total_repriced_usd,
    cost_usd: total_cost_usd,
    group: null,
  };
  return dataTable<CostRow>(
    {
      ...{ title: 'Costs', kind: 'cost', nameTitle: 'Name', id: ({ key }) => key, name: ({ label: name }) => name },
      href: ({ group }) => group && linkOf(visit, group),
      details: ({ group }) => group && detailsOf(visit, group),
      columns: [
        { title: 'Requests', look: 'number', cell: (row) => countText(row.requests) },
        { title: "At today's prices", look: 'number', cell: ({ repriced_usd }) => exactUsd(repriced_usd) },
        { title: 'Billed', look: 'number', cell: ({ cost_usd }) => strong(null, exactUsd(cost_usd)) },
      ],
      attributes: ({ group }): Record<string, string | null> => (group ? {} : { 'data-kind': null, 'data-id': null, 'data-total': '' }),
    },
    [...groups.map((group) => ({ ...group, group })), total],
  );
};

/** The page with the costs of a tenant's agents, and how much of their hourly budgets they have used. */
export const costListPage = page({
  path: '/console/t/:tenant_id/costs',
  permit: 'tenant:billing:read',
  nav: 'Costs',
  categories: ['budget', 'session'],
  asks: (visit) => {
    const { ask, rows, params, query, asOf } = visit;
    const tenant_id = params.tenant_id!;
    const period = valuesIn(query, PERIOD_NAMES);
    const group_by = groupOf(visit) as 'day';
    const agent_id = query.get('agent_id');
    const { isClipped: _, ...hours } = budgetTimes(period, Date.now());
    const days = { tenant_id, ...period, group_by: 'day', series_by: 'agent' } as const;
    return {
      groups: ask(rows.readCostBreakdown, group_by === 'day' ? days : { tenant_id, ...period, group_by }),
      days: group_by === 'day' ? NOT_ASKED : ask(rows.readCostBreakdown, days),
      budgets: asOf === null ? ask(rows.listBudgets, { tenant_id }) : NOT_ASKED,
      names: agent_id ? agentNames(visit) : NOT_ASKED,
      hours: agent_id ? ask(rows.readBudgetUsage, { tenant_id, agent_id, ...hours, ...valuesIn(query, ['limit_usd']) }) : NOT_ASKED,
    };
  },
  title: () => 'Costs',
  view: ({ groups, days, budgets, names, hours }, visit) => {
    const by = groupOf(visit);
    const tabs = filterTabs(
      'Group by',
      by === 'day' ? null : by,
      GROUPS.map(([value, name]) => ({
        value: value === 'day' ? null : value,
        label: name,
        href: withQuery(visit, { group_by: value === 'day' ? null : value }),
      })),
    );
    const kept = valuesIn(visit.query, ['group_by', 'agent_id', 'limit_usd']);
    return [
      heading('Costs', 'What the use of models has cost, and how much of their hourly budgets agents have used.'),
      div({ class: 'toolbar' }, tabs, filterForm(visit.path, PERIOD, valuesIn(visit.query, PERIOD_NAMES), kept)),
      panel(days ?? groups, costChart),
      div(
        { class: 'below' },
        panel(groups, (value) => groupTable(visit, value)),
        p({ class: 'quiet below' }, "At today's prices: what the same tokens would cost with the present prices of the models."),
      ),
      ...budgetCards(visit, { budgets, hours, names: namesIn(names) }),
    ];
  },
});
