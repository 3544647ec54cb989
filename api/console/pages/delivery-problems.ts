import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { formLink } from '../action.ts';
import { askHeld, heldCard } from '../held-groups.ts';
import { agentNames, namesIn } from '../names.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { countText } from '../parts/count-text.ts';
import { emptyState } from '../parts/empty-state.ts';
import { failureText } from '../parts/failure-text.ts';
import { filterForm, valuesIn } from '../parts/filter-form.ts';
import { heading } from '../parts/heading.ts';
import { panel } from '../parts/problem-panel.ts';
import { shortId } from '../parts/short-id.ts';
import { tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { a, caption, div, span, table, tbody, td, th, thead, tr } = tags;

type Problem = ReplyOf<Rows['listDeliveryProblems']>[number];

const INTEGRATIONS = 200;

const PERIOD = [
  { name: 'from', label: 'From', placeholder: 'yesterday 9:00' },
  { name: 'to', label: 'To', placeholder: '2 hours ago' },
] as const;

/** Returns the times between which the shown deliveries were received. */
const periodOf = ({ query }: Visit) => valuesIn(query, ['from', 'to']);

const rowOf = (
  visit: Visit,
  { fingerprint, outcome, reason, integration_id, count, first_at, last_at, example_id, example_failure }: Problem,
  label: string | undefined,
) => {
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const filters = { outcome, integration_id, ...(reason === null ? {} : { reason }), ...periodOf(visit) };
  const matching = new URLSearchParams(filters);
  return tr(
    { 'data-kind': 'delivery-problem', 'data-id': fingerprint },
    td(
      { class: 'main-cell' },
      a(
        { href: `${at('/deliveries')}?${matching}`, class: 'row-link' },
        span({ class: 'event' }, reason?.replaceAll('_', ' ') ?? 'no reason'),
      ),
      div({ class: 'quiet' }, label ?? 'not an integration'),
      outcome === 'dead' ? div({ class: 'quiet' }, `Last: ${failureText(example_failure)}`) : null,
    ),
    td({ class: 'state-cell' }, badge(outcome)),
    td({ class: 'number' }, countText(count)),
    td({ class: 'number wide-only' }, ago(first_at)),
    td({ class: 'number' }, ago(last_at)),
    td({ class: 'wide-only above' }, a({ href: at(`/deliveries/${example_id}`) }, 'Example')),
    td(
      { class: 'above' },
      outcome === 'dead'
        ? formLink(
            visit,
            visit.rows.replayTenantDeliveries,
            { to: new Date().toISOString(), ...filters, tenant_id: visit.params.tenant_id! },
            'Redeliver',
            { icon: 'rotate-ccw', look: 'small', returnTo: withQuery(visit, {}) },
          )
        : null,
    ),
    td({ class: 'wide-only above' }, shortId(fingerprint, 'the fingerprint')),
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
    const columns = ['Reason', 'State', 'Count', 'First', 'Last', 'Example', 'Action', 'Fingerprint'];
    const classes: Readonly<Record<string, string>> = {
      Count: 'number',
      First: 'number wide-only',
      Last: 'number',
      Example: 'wide-only',
      Fingerprint: 'wide-only',
    };
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
          : div(
              { class: 'table-box' },
              table(
                { class: 'list' },
                caption({ class: 'hidden' }, 'Problems'),
                thead(null, tr(null, ...columns.map((name) => th({ scope: 'col', class: classes[name] ?? null } as never, name)))),
                tbody(null, ...found.map((problem) => rowOf(visit, problem, labels.get(problem.integration_id)))),
              ),
            ),
      ),
    ];
  },
});
