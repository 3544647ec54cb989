import { formLink } from '../action.ts';
import type { Names } from '../name-cache.ts';
import { agentNames, chosenByName, integrationNames, namesIn } from '../names.ts';
import { noDeliveries } from '../no-deliveries.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { countText } from '../parts/count-text.ts';
import { deliveryChart } from '../parts/delivery-chart.ts';
import { deliveryTable } from '../parts/delivery-row.ts';
import { emptyState } from '../parts/empty-state.ts';
import { type FilterField, filterForm, valuesIn } from '../parts/filter-form.ts';
import { filterTabs } from '../parts/filters.ts';
import { heading } from '../parts/heading.ts';
import { OUTCOMES, type Outcomes, sumOf } from '../parts/outcome-counts.ts';
import { pager } from '../parts/pager.ts';
import { panel, problemPanel } from '../parts/problem-panel.ts';
import { tags } from '../parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div, span } = tags;

const STATUSES = ['waiting', 'queued', 'running', 'held'] as const;
const FIELDS = [
  { name: 'event', label: 'Event', placeholder: 'push' },
  { name: 'provider', label: 'Provider', placeholder: 'github' },
  { name: 'reason', label: 'Reason', placeholder: 'signature_mismatch' },
  { name: 'agent_id', label: 'Agent' },
  { name: 'integration_id', label: 'Integration' },
  { name: 'provider_delivery_id', label: "Provider's delivery id" },
  { name: 'matched_secret', label: 'Secret', options: ['current', 'previous'] },
  { name: 'from', label: 'From', placeholder: 'yesterday 9:00' },
  { name: 'to', label: 'To', placeholder: '2 hours ago' },
] as const;
const FIELD_NAMES = FIELDS.map(({ name }) => name);
/** The query parameters of the page that are passed to the API operations. */
const PASSED = ['outcome', 'status', ...FIELD_NAMES] as const;
const BUCKETS = 48;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/**
 * Returns the time range of the chart: the one in the filters or, by default, one day that ends at the next full
 * minute.
 */
const chartRange = ({ query }: Visit): { readonly from: string; readonly to: string } => {
  const end = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
  const to = query.get('to') || new Date(end).toISOString();
  const start = (Number.isNaN(Date.parse(to)) ? end : Date.parse(to)) - DAY_MS;
  return { from: query.get('from') || new Date(start).toISOString(), to };
};

/** Adds to the filters by resource what can be chosen, by name. */
const withChoices = (visit: Visit, names: Readonly<Record<string, Names>>): readonly FilterField[] =>
  FIELDS.map((field) => {
    const found = names[field.name];
    return found ? { ...field, ...chosenByName(visit, field.name === 'agent_id' ? 'agent' : 'integration', found) } : field;
  });

const countOf = (counts: Outcomes | null, outcome: (typeof OUTCOMES)[number]) =>
  counts === null ? null : span({ class: 'count', 'data-count': outcome }, countText(counts[outcome]));

const states = (visit: Visit, counts: Outcomes | null) => {
  const current = visit.query.get('outcome') ?? visit.query.get('status');
  const linkTo = (changes: Record<string, string | null>) => withQuery(visit, { outcome: null, status: null, cursor: null, ...changes });
  return filterTabs('Filter by state', current, [
    {
      value: null,
      label: span(null, 'All', counts === null ? null : span({ class: 'count' }, countText(sumOf(counts)))),
      href: linkTo({}),
    },
    ...OUTCOMES.map((outcome) => ({
      value: outcome,
      label: span(null, badge(outcome), countOf(counts, outcome)),
      href: linkTo({ outcome }),
    })),
    ...STATUSES.map((status) => ({ value: status, label: badge(status), href: linkTo({ status }) })),
  ]);
};

/**
 * Returns the link to the form that sends again, or releases, all deliveries that match the filters of the page. The
 * form's filter `to` is the current time, so that its count does not change while deliveries arrive. Returns null if no
 * such delivery can be sent: rejected ones have no body, and held ones go on by themselves.
 */
const replayLink = (visit: Visit, filters: Readonly<Record<string, string>>) =>
  filters.outcome === 'rejected' || filters.status === 'held'
    ? null
    : formLink(
        visit,
        visit.rows.replayTenantDeliveries,
        { to: new Date().toISOString(), ...filters, tenant_id: visit.params.tenant_id! },
        filters.outcome === 'blocked' ? 'Release all that match' : 'Select all that match',
        { icon: 'rotate-ccw', returnTo: withQuery(visit, {}) },
      );

/** Renders what replaces an empty list. It says how to get a first delivery or, with filters, how to remove them. */
const nothing = (visit: Visit, isFiltered: boolean) =>
  isFiltered
    ? emptyState(
        { icon: 'search', title: 'No delivery matches', why: 'Nothing matches the filters of this page.' },
        a({ class: 'button', href: visit.path }, 'Clear the filters'),
      )
    : noDeliveries(visit);

/** The page with the deliveries of a tenant, newest first. */
export const deliveryListPage = page({
  path: '/console/t/:tenant_id/deliveries',
  permit: 'tenant:read',
  nav: 'Deliveries',
  categories: ['delivery', 'acknowledgement', 'attemptreport', 'publication', 'rejection'],
  asks: (visit) => {
    const tenant_id = visit.params.tenant_id!;
    const filters = valuesIn(visit.query, PASSED);
    const { outcome: _, ...unfiltered } = filters;
    return {
      deliveries: visit.ask(visit.rows.listTenantDeliveries, {
        tenant_id,
        preview: true,
        ...filters,
        ...valuesIn(visit.query, ['cursor']),
      }),
      agents: agentNames(visit),
      integrations: integrationNames(visit),
      summary: visit.ask(visit.rows.summarizeDeliveries, { tenant_id, ...unfiltered, ...chartRange(visit), buckets: BUCKETS }),
    };
  },
  title: () => 'Deliveries',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ deliveries, agents, integrations, summary }, visit) => {
    const tenant_id = visit.params.tenant_id!;
    const filters = valuesIn(visit.query, PASSED);
    const at = (rest: string) => tenantPath(tenant_id, rest);
    const isFiltered = Object.keys(filters).length > 0;
    const list = () => {
      if (!deliveries.ok) return problemPanel(deliveries.problem);
      if (deliveries.value.length === 0) return nothing(visit, isFiltered);
      return deliveryTable(
        deliveries.value,
        { tenantPath: at, agents: namesIn(agents), integrations: namesIn(integrations) },
        'Deliveries',
      );
    };
    const { from, to } = valuesIn(visit.query, ['from', 'to']);
    const title = from || to ? 'Deliveries in this period' : 'Deliveries in the last 24 hours';
    const isBare = deliveries.ok && deliveries.value.length === 0 && !isFiltered;
    const isListed = deliveries.ok && deliveries.value.length > 0;
    const kept = valuesIn(visit.query, ['outcome', 'status']);
    return [
      heading(
        'Deliveries',
        'Every call of a webhook, a skill or a cron job, and what became of it.',
        isListed ? replayLink(visit, filters) : null,
        a({ class: 'button', href: at('/jobs') }, 'Jobs'),
        visit.may('tenant:integrations:read') ? a({ class: 'button', href: at('/deliveries/problems') }, 'Problems') : null,
      ),
      isBare
        ? null
        : panel(summary, (value) =>
            deliveryChart(value, { title, zone: visit.zone }, (start, end) => withQuery(visit, { from: start, to: end, cursor: null })),
          ),
      div(
        { class: 'toolbar' },
        states(visit, summary.ok ? summary.value.outcomes : null),
        isBare
          ? null
          : filterForm(
              visit.path,
              withChoices(visit, { agent_id: namesIn(agents), integration_id: namesIn(integrations) }),
              valuesIn(visit.query, FIELD_NAMES),
              kept,
            ),
      ),
      list(),
      pager(deliveries, !visit.query.has('cursor'), (next) => withQuery(visit, { cursor: next })),
    ];
  },
});
