import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { askHeld, heldCard } from '../held-groups.ts';
import { agentNames, namesIn } from '../names.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { countText } from '../parts/count-text.ts';
import { dataTable } from '../parts/data-table.ts';
import { emptyState } from '../parts/empty-state.ts';
import { failureText } from '../parts/failure-text.ts';
import { filterForm, valuesIn } from '../parts/filter-form.ts';
import { heading } from '../parts/heading.ts';
import { panel } from '../parts/problem-panel.ts';
import { shortId } from '../parts/short-id.ts';
import { tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, div } = tags;

type Problem = ReplyOf<Rows['listDeliveryProblems']>[number];

const INTEGRATIONS = 200;

const PERIOD = [
  { name: 'from', label: 'From', placeholder: 'yesterday 9:00' },
  { name: 'to', label: 'To', placeholder: '2 hours ago' },
] as const;

/** Returns the times between which the shown deliveries were received. */
const periodOf = ({ query }: Visit) => valuesIn(query, ['from', 'to']);

const problemTable = (found: readonly Problem[], visit: Visit, labels: ReadonlyMap<string, string>) => {
  const tenant_id = visit.params.tenant_id!;
  const at = (rest: string) => tenantPath(tenant_id, rest);
  const filtersOf = ({ outcome, integration_id, reason }: Problem) => ({
    ...{ outcome, integration_id, ...(reason === null ? {} : { reason }), ...periodOf(visit) },
  });
  return dataTable<Problem>(
    {
      ...{ title: 'Problems', kind: 'delivery-problem', nameTitle: 'Reason', id: ({ fingerprint }) => fingerprint },
      name: ({ reason }) => reason?.replaceAll('_', ' ') ?? 'no reason',
      href: (problem) => `${at('/deliveries')}?${new URLSearchParams(filtersOf(problem))}`,
      details: ({ integration_id, outcome, example_failure }) => [
        labels.get(integration_id) ?? 'not an integration',
        outcome === 'dead' ? div(null, `Last: ${failureText(example_failure)}`) : null,
      ],
      columns: [
        { title: 'State', look: 'state', cell: ({ outcome }) => badge(outcome) },
        { title: 'Count', look: 'number', cell: ({ count }) => countText(count) },
        { title: 'First', look: 'number', cell: ({ first_at }) => ago(first_at) },
        { title: 'Last', look: 'number', cell: ({ last_at }) => ago(last_at) },
        { title: 'Example', cell: ({ example_id }) => a({ href: at(`/deliveries/${example_id}`) }, 'Example') },
        { title: 'Fingerprint', cell: ({ fingerprint }) => shortId(fingerprint, 'the fingerprint') },
      ],
      menu: (problem) => [
        problem.outcome === 'dead'
          ? formLink(
              visit,
              visit.rows.replayTenantDeliveries,
              { to: new Date().toISOString(), ...filtersOf(problem), tenant_id },
              'Redeliver',
              { icon: 'rotate-ccw', returnTo: withQuery(visit, {}) },
            )
          : null,
      ],
    },
    found,
  );
};

/** The page with the rejected and the dead deliveries of a tenant, grouped by reason. */
export const deliveryProblemsPage = page({
  path: '/console/t/:tenant_id/deliveries/problems',
  permit: 'tenant:integrations:read',
  nav: 'Deliveries',
  categories: ['acknowledgement', 'attemptreport', 'delivery', 'rejection'],
  polls: true,
  asks: (visit) => {
    const { ask, rows, params } = visit;
    const held = askHeld(visit);
    return {
      problems: ask(rows.listDeliveryProblems, { tenant_id: params.tenant_id!, ...periodOf(visit) }),
      integrations: ask(rows.listWebhookIntegrations, { tenant_id: params.tenant_id!, limit: INTEGRATIONS }),
      held,
      heldNames: held.then((found) => (found?.ok && found.value.length > 0 ? agentNames(visit) : null)),
    };
  },
  title: () => 'Problems',
  trail: ({ params, tenant }) => [
    [tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)],
    ['Deliveries', tenantPath(params.tenant_id!, '/deliveries')],
  ],
  view: ({ problems, integrations, held, heldNames }, visit) => {
    const labels = new Map(integrations.ok ? integrations.value.map(({ id, label }) => [id, label]) : []);
    const isFiltered = Object.keys(periodOf(visit)).length > 0;
    return [
      heading('Problems', 'Deliveries that are held, and those that were rejected or given up, in groups with the same reason.'),
      heldCard(visit, held, { agents: namesIn(heldNames) }),
      div({ class: 'toolbar' }, filterForm(visit.path, PERIOD, periodOf(visit))),
      panel(problems, (found) =>
        found.length === 0
          ? isFiltered
            ? emptyState(
                { icon: 'search', title: 'No problems in this period', why: 'No delivery of this period was rejected or given up.' },
                a({ class: 'button', href: visit.path }, 'Clear the filters'),
              )
            : emptyState(
                { icon: 'circle-check', title: 'No problems', why: 'No delivery was rejected, and none was given up.' },
                a({ class: 'button', href: tenantPath(visit.params.tenant_id!, '/deliveries') }, 'To the deliveries'),
              )
          : problemTable(found, visit, labels),
      ),
    ];
  },
});
