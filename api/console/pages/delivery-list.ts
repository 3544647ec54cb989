import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { deliveryTable } from '../parts/delivery-row.ts';
import { emptyState } from '../parts/empty-state.ts';
import { filterTabs } from '../parts/filters.ts';
import { heading } from '../parts/heading.ts';
import { pager } from '../parts/pager.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { tags } from '../parts/tags.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, code, div } = tags;

const OUTCOMES = ['accepted', 'blocked', 'rejected', 'dead'] as const;
const STATUSES = ['waiting', 'running'] as const;
/** The query parameters that the page passes on to the operation. */
const PASSED = ['outcome', 'status', 'agent_id', 'integration_id', 'provider', 'event', 'from', 'to', 'cursor'] as const;
const AGENT_NAMES = 200;

const passedQuery = ({ query }: Visit): Readonly<Record<string, string>> =>
  Object.fromEntries(PASSED.flatMap((name) => (query.get(name) ? [[name, query.get(name)!]] : [])));

const states = (visit: Visit) => {
  const current = visit.query.get('outcome') ?? visit.query.get('status');
  const linkTo = (changes: Record<string, string | null>) => withQuery(visit, { outcome: null, status: null, cursor: null, ...changes });
  return filterTabs('Filter by state', current, [
    { value: null, label: 'All', href: linkTo({}) },
    ...OUTCOMES.map((outcome) => ({ value: outcome, label: badge(outcome), href: linkTo({ outcome }) })),
    ...STATUSES.map((status) => ({ value: status, label: badge(status), href: linkTo({ status }) })),
  ]);
};

/** What an empty list says: how a first delivery comes, or how to see the others again. */
const nothing = (visit: Visit, isFiltered: boolean) =>
  isFiltered
    ? emptyState(
        { icon: 'search', title: 'No delivery matches', why: 'The filters of this page leave none.' },
        a({ class: 'button', href: visit.path }, 'Clear the filters'),
      )
    : emptyState(
        { icon: 'inbox', title: 'No deliveries yet', why: 'Webhook calls, skill calls and cron messages appear here as they arrive.' },
        code(null, 'annals trigger github.push --integration <id>'),
      );

/** The deliveries of a tenant, the newest first. */
export const deliveryListPage = page({
  path: '/console/t/:tenant_id/deliveries',
  permit: 'tenant:read',
  nav: 'Deliveries',
  categories: ['delivery', 'acknowledgement', 'publication', 'rejection'],
  asks: (visit) => {
    const tenant_id = visit.params.tenant_id!;
    return {
      deliveries: visit.ask(visit.rows.listTenantDeliveries, { tenant_id, ...passedQuery(visit) }),
      agents: visit.ask(visit.rows.listAgents, { tenant_id, limit: AGENT_NAMES }),
    };
  },
  title: () => 'Deliveries',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ deliveries, agents }, visit) => {
    const { cursor, ...filters } = passedQuery(visit);
    const names = new Map(agents.ok ? agents.value.map(({ id, name }) => [id, name]) : []);
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const list = () => {
      if (!deliveries.ok) return problemPanel(deliveries.problem);
      if (deliveries.value.length === 0) return nothing(visit, Object.keys(filters).length > 0);
      return deliveryTable(deliveries.value, { tenantPath: at, agents: names }, 'Deliveries');
    };
    return [
      heading('Deliveries', 'Every call of a webhook, a skill or a cron job, and what became of it.'),
      div({ class: 'toolbar' }, states(visit)),
      list(),
      pager(deliveries, cursor === undefined, (next) => withQuery(visit, { cursor: next })),
    ];
  },
});
