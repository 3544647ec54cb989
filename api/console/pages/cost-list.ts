import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { budgetHours, budgetTimes } from '../budget-hours.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { barChart } from '../parts/chart.ts';
import { countText } from '../parts/count-text.ts';
import { dataTable } from '../parts/data-table.ts';
import { emptyState } from '../parts/empty-state.ts';
import { card } from '../parts/facts.ts';
import { type FilterField, filterForm, valuesIn } from '../parts/filter-form.ts';
import { filterTabs } from '../parts/filters.ts';
import { heading } from '../parts/heading.ts';
import { exactUsd, usd } from '../parts/money.ts';
import { panel } from '../parts/problem-panel.ts';
import { type Child, tags } from '../parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div, span, p, strong, form, label, select, option, input, button } = tags;

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
const MAX_AGENTS = 200;

const groupOf = ({ query }: Visit) => query.get('group_by') ?? 'day';
const dayOf = (at: string): string => at.slice(0, 10);

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
        { title: 'Repriced', look: 'number', cell: ({ repriced_usd }) => exactUsd(repriced_usd) },
        { title: 'Billed', look: 'number', cell: ({ cost_usd }) => strong(null, exactUsd(cost_usd)) },
      ],
      attributes: ({ group }): Record<string, string | null> => (group ? {} : { 'data-kind': null, 'data-id': null, 'data-total': '' }),
    },
    [...groups.map((group) => ({ ...group, group })), total],
  );
};

/**
 * Renders a chart with the costs of each day from the start of the period to its end or today. Days without costs are
 * included.
 */
const dayChart = ({ period, groups, total_cost_usd }: Breakdown) => {
  const costs = new Map(groups.map(({ key, cost_usd }) => [key, cost_usd]));
  const last = Math.min(Date.parse(period.end) - 1, Date.now());
  const days: string[] = [];
  for (let at = Date.parse(`${dayOf(period.start)}T00:00:00Z`); at <= last; at += 86_400_000) days.push(dayOf(new Date(at).toISOString()));
  if (total_cost_usd === 0 || days.length === 0) return null;
  const buckets = days.map((day) => ({ label: day, values: [costs.get(day) ?? 0] }));
  return div(
    { class: 'card' },
    barChart({
      id: 'costs',
      title: 'Billed by day',
      series: [{ label: 'Billed', tone: 'accent' }],
      buckets,
      format: usd,
      bucketName: 'Day',
    }),
  );
};

const budgetForm = (visit: Visit, agents: ReplyOf<Rows['listAgents']>) => {
  const kept = valuesIn(visit.query, ['group_by', 'start', 'end']);
  const chosen = visit.query.get('agent_id') ?? '';
  return form(
    { method: 'get', action: visit.path, class: 'filter-fields' },
    ...Object.entries(kept).map(([name, value]) => input({ type: 'hidden', name, value })),
    div(
      null,
      label({ for: 'budget-agent' }, 'Agent'),
      select(
        { id: 'budget-agent', name: 'agent_id' },
        ...agents.map(({ id, name }) => option({ value: id, selected: id === chosen }, name)),
      ),
    ),
    div(
      null,
      label({ for: 'budget-limit' }, 'With another limit, in USD per hour'),
      input({
        id: 'budget-limit',
        name: 'limit_usd',
        value: visit.query.get('limit_usd') ?? '',
        inputmode: 'decimal',
        placeholder: 'as it was',
        autocomplete: 'off',
      }),
    ),
    div(null, span(null, ' '), button(null, 'Show the hours')),
  );
};

/** The page with the costs of a tenant's agents, and how much of their hourly budgets they have used. */
export const costListPage = page({
  path: '/console/t/:tenant_id/costs',
  permit: 'tenant:billing:read',
  nav: 'Costs',
  categories: ['budget', 'session'],
  asks: (visit) => {
    const { ask, rows, params, query } = visit;
    const tenant_id = params.tenant_id!;
    const period = valuesIn(query, PERIOD_NAMES);
    const group_by = groupOf(visit) as 'day';
    const agent_id = query.get('agent_id');
    const limit_usd = query.get('limit_usd');
    const { isClipped: _, ...hours } = budgetTimes(period, Date.now());
    return {
      groups: ask(rows.readCostBreakdown, { tenant_id, ...period, group_by }),
      ...(group_by === 'day' ? {} : { days: ask(rows.readCostBreakdown, { tenant_id, ...period, group_by: 'day' as const }) }),
      agents: ask(rows.listAgents, { tenant_id, limit: MAX_AGENTS }),
      ...(agent_id
        ? { hours: ask(rows.readBudgetUsage, { tenant_id, agent_id, ...hours, ...(limit_usd ? { limit_usd } : {}) } as never) }
        : {}),
    };
  },
  title: () => 'Costs',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ groups, days, agents, hours }, visit) => {
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
      heading('Costs', 'What the use of models has cost: as it was billed, and at the present prices.'),
      div({ class: 'toolbar' }, tabs, filterForm(visit.path, PERIOD, valuesIn(visit.query, PERIOD_NAMES), kept)),
      panel(days ?? groups, dayChart),
      div(
        { class: 'below' },
        panel(groups, (value) => groupTable(visit, value)),
      ),
      div(
        { class: 'below' },
        card(
          'Hourly budget of an agent',
          panel(agents, (found) => (found.length === 0 ? p({ class: 'quiet' }, 'There is no agent yet.') : budgetForm(visit, found))),
          hours
            ? panel(hours, (value) => div({ class: 'below' }, ...budgetHours(value, visit, valuesIn(visit.query, ['start', 'end']))))
            : null,
        ),
      ),
    ];
  },
});
