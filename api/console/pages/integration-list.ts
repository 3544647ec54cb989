import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { providerLabel } from '../../webhooks/provider-setup.ts';
import { formLink } from '../action.ts';
import { agentNames, namesIn } from '../names.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { countText } from '../parts/count-text.ts';
import { emptyState } from '../parts/empty-state.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { NO_OUTCOMES, OUTCOMES, type Outcomes, sumOf } from '../parts/outcome-counts.ts';
import { pager } from '../parts/pager.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { tags } from '../parts/tags.ts';
import { ago } from '../parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../visit.ts';

const { table, thead, tbody, tr, th, td, a, span, caption, div } = tags;

type Integration = ReplyOf<Rows['listWebhookIntegrations']>[number];

const DAY_MS = 86_400_000;

/** Returns the time 24 hours ago. */
export const dayAgo = (): string => new Date(Date.now() - DAY_MS).toISOString();

type Shown = {
  readonly at: (rest: string) => string;
  readonly agents: ReadonlyMap<string, string>;
  readonly today: ReadonlyMap<string | null, Outcomes>;
};

/** Renders how many deliveries of one day were not accepted or are dead, by outcome; null if there are none. */
const faultsOf = (counts: Outcomes) => {
  const faults = OUTCOMES.filter((outcome) => outcome !== 'accepted' && counts[outcome] > 0);
  return faults.length === 0
    ? null
    : span({ class: 'faults' }, ...faults.map((outcome) => badge(outcome, `${countText(counts[outcome])} ${outcome}`)));
};

const rowOf = (
  { id, label, provider, agent_id, is_paused, paused_reason, last_delivery_at }: Integration,
  { at, agents, today }: Shown,
) => {
  const counts = today.get(id) ?? NO_OUTCOMES;
  return tr(
    { 'data-kind': 'integration', 'data-id': id },
    td(
      { class: 'main-cell' },
      a({ href: at(`/integrations/${id}`), class: 'row-link' }, span({ class: 'event' }, label)),
      div({ class: 'quiet' }, providerLabel(provider), is_paused && paused_reason ? ` · ${paused_reason}` : ''),
    ),
    td({ class: 'state-cell' }, badge(is_paused ? 'paused' : 'active')),
    td({ class: 'wide-only' }, icon('bot'), ' ', agents.get(agent_id) ?? 'an agent'),
    td({ class: 'wide-only' }, faultsOf(counts)),
    td({ class: 'number wide-only' }, countText(sumOf(counts))),
    td({ class: 'number' }, ago(last_delivery_at)),
  );
};

const integrationTable = (rows: readonly Integration[], shown: Shown) =>
  div(
    { class: 'table-box' },
    table(
      { class: 'list' },
      caption({ class: 'hidden' }, 'Integrations'),
      thead(
        null,
        tr(
          null,
          th({ scope: 'col' }, 'Integration'),
          th({ scope: 'col' }, 'State'),
          th({ scope: 'col', class: 'wide-only' }, 'Agent'),
          th({ scope: 'col', class: 'wide-only' }, 'Problems in 24 h'),
          th({ scope: 'col', class: 'number wide-only' }, 'Deliveries in 24 h'),
          th({ scope: 'col', class: 'number' }, 'Last delivery'),
        ),
      ),
      tbody(null, ...rows.map((integration) => rowOf(integration, shown))),
    ),
  );

const connectLink = (visit: Visit) =>
  formLink(visit, visit.rows.connectWebhookIntegration, { tenant_id: visit.params.tenant_id! }, 'Connect a provider', {
    icon: 'plus',
    look: 'primary',
  });

/** The page with the webhook integrations of a tenant, each with its deliveries in the last 24 hours. */
export const integrationListPage = page({
  path: '/console/t/:tenant_id/integrations',
  permit: 'tenant:integrations:read',
  nav: 'Integrations',
  categories: ['integration', 'delivery', 'rejection'],
  asks: (visit) => {
    const { ask, rows, params, query } = visit;
    const tenant_id = params.tenant_id!;
    const cursor = query.get('cursor') ?? undefined;
    return {
      integrations: ask(rows.listWebhookIntegrations, { tenant_id, ...(cursor ? { cursor } : {}) }),
      summary: ask(rows.summarizeDeliveries, { tenant_id, from: dayAgo(), group_by: 'integration_id' }),
      agents: agentNames(visit),
    };
  },
  title: () => 'Integrations',
  trail: ({ params, tenant }) => [[tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)]],
  view: ({ integrations, summary, agents }, visit) => {
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const list = () => {
      if (!integrations.ok) return problemPanel(integrations.problem);
      if (integrations.value.length === 0)
        return emptyState(
          {
            icon: 'plug',
            title: 'No integrations yet',
            why: 'An integration has an address and a secret, with which a provider sends its events to an agent.',
          },
          connectLink(visit),
        );
      return integrationTable(integrations.value, {
        at,
        agents: namesIn(agents),
        today: new Map(summary.ok ? summary.value.groups.map(({ key, outcomes }) => [key, outcomes]) : []),
      });
    };
    return [
      heading('Integrations', 'The providers that send their events to agents.', connectLink(visit)),
      list(),
      pager(integrations, !visit.query.has('cursor'), (cursor) => withQuery(visit, { cursor })),
    ];
  },
});
