import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { agentNames, namesIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { countText } from '../../console/parts/count-text.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { dayAgo } from '../../console/parts/last-day.ts';
import { NO_OUTCOMES, OUTCOMES, type Outcomes, sumOf } from '../../console/parts/outcome-counts.ts';
import { pager } from '../../console/parts/pager.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { providerLabel } from '../provider-setup.ts';

const { span } = tags;

type Integration = ReplyOf<Rows['listWebhookIntegrations']>[number];

type Shown = {
  readonly at: (rest: string) => string;
  readonly agents: ReadonlyMap<string, string>;
  readonly today: ReadonlyMap<string | null, Outcomes>;
};

/** Renders how many deliveries of one day were not accepted or are dead, by outcome. */
const faultsOf = (counts: Outcomes) => {
  const faults = OUTCOMES.filter((outcome) => outcome !== 'accepted' && counts[outcome] > 0);
  return faults.length === 0
    ? 'none'
    : span({ class: 'faults' }, ...faults.map((outcome) => badge(outcome, `${countText(counts[outcome])} ${outcome}`)));
};

const integrationTable = (found: readonly Integration[], { at, agents, today }: Shown) =>
  dataTable<Integration>(
    {
      ...{ title: 'Integrations', kind: 'integration', nameTitle: 'Integration', id: ({ id }) => id, name: ({ label }) => label },
      href: ({ id }) => at(`/integrations/${id}`),
      details: ({ provider, is_paused, paused_reason }) => [
        providerLabel(provider),
        is_paused && paused_reason ? ` · ${paused_reason}` : '',
      ],
      columns: [
        { title: 'State', look: 'state', cell: ({ is_paused }) => badge(is_paused ? 'paused' : 'active') },
        { title: 'Agent', cell: ({ agent_id }) => [icon('bot'), ' ', agents.get(agent_id) ?? 'an agent'] },
        { title: 'Problems in 24 h', cell: ({ id }) => faultsOf(today.get(id) ?? NO_OUTCOMES) },
        { title: 'Deliveries in 24 h', look: 'number', cell: ({ id }) => countText(sumOf(today.get(id) ?? NO_OUTCOMES)) },
        { title: 'Last delivery', look: 'number', cell: ({ last_delivery_at }) => ago(last_delivery_at) },
      ],
    },
    found,
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
