import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { agentCalls, agentParams, agentTab, agentTrail } from '../../console/agent-frame.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { dataTable } from '../../console/parts/data-table.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { providerLabel } from '../provider-setup.ts';

const { div, ul, li } = tags;

type Integration = ReplyOf<Rows['listWebhookIntegrations']>[number];
type Provider = ReplyOf<Rows['listAgentIntegrations']>[number];

const MAX_SHOWN = 200;

const nothing = (create: Child): Child =>
  emptyState({ icon: 'plug', title: 'No integrations', why: 'With an integration, a provider sends its events to the agent.' }, create);

const connectLink = (visit: Visit): Child =>
  formLink(visit, visit.rows.connectWebhookIntegration, agentParams(visit), 'Connect a provider', { icon: 'plus', next: visit.path });

const integrationTable = (found: readonly Integration[], visit: Visit): Child =>
  found.length === 0
    ? nothing(connectLink(visit))
    : div(
        null,
        div({ class: 'toolbar' }, connectLink(visit)),
        dataTable<Integration>(
          {
            ...{ title: 'Integrations', kind: 'integration', nameTitle: 'Integration', id: ({ id }) => id, name: ({ label }) => label },
            href: ({ id }) => tenantPath(visit.params.tenant_id!, `/integrations/${id}`),
            details: ({ provider, is_paused, paused_reason }) => [
              providerLabel(provider),
              is_paused && paused_reason ? ` · ${paused_reason}` : '',
            ],
            columns: [
              { title: 'State', look: 'state', cell: ({ is_paused }) => badge(is_paused ? 'paused' : 'active') },
              { title: 'Last delivery', look: 'number', cell: ({ last_delivery_at }) => ago(last_delivery_at) },
            ],
          },
          found,
        ),
      );

/** Lists the connected providers, for visitors who may not read integrations. */
const providerList = (found: readonly Provider[]): Child => {
  const connected = found.filter((one) => one.connected);
  if (connected.length === 0) return nothing(null);
  return ul(
    { class: 'lines card' },
    ...connected.map(({ provider, label }) => li({ 'data-kind': 'provider', 'data-id': provider }, label)),
  );
};

/** The page with the integrations that send their deliveries to an agent. */
export const agentIntegrationsPage = page({
  path: '/console/t/:tenant_id/agents/:agent_id/integrations',
  permit: 'tenant:read',
  nav: 'Agents',
  categories: ['agent', 'integration', 'delivery'],
  asks: (visit) => {
    const { ask, rows, may } = visit;
    const sent = { ...agentParams(visit), limit: MAX_SHOWN };
    const isAdmin = may('tenant:integrations:read');
    return {
      ...agentCalls(visit),
      integrations: isAdmin ? ask(rows.listWebhookIntegrations, sent) : Promise.resolve(null),
      providers: isAdmin ? Promise.resolve(null) : ask(rows.listAgentIntegrations, sent),
    };
  },
  title: () => 'Integrations',
  trail: agentTrail('Integrations'),
  view: ({ agent, may, integrations, providers }, visit) =>
    agentTab(visit, 'Integrations', { agent, may }, () => [
      integrations ? panel(integrations, (found) => integrationTable(found, visit)) : null,
      providers ? panel(providers, providerList) : null,
    ]),
});
