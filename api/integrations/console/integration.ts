import type { Rows } from '../../areas.ts';
import { actionButton, formLink } from '../../console/action.ts';
import { historyLink } from '../../console/history-link.ts';
import { agentNames, namesIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { deliveryTable } from '../../console/parts/delivery-row.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { dayAgo } from '../../console/parts/last-day.ts';
import { outcomeCounts } from '../../console/parts/outcome-counts.ts';
import { panel, problemPanel } from '../../console/parts/problem-panel.ts';
import { setupSteps } from '../../console/parts/setup-steps.ts';
import { copyButton, shortId } from '../../console/parts/short-id.ts';
import { tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import { evidenceOf, type Integration, secretCard } from '../../credentials/console/secret-rotation.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { canSendSample, providerLabel } from '../provider-setup.ts';

const { a, div, p, pre, span, code, ul, li, aside, details, summary, strong } = tags;

type Rules = ReplyOf<Rows['listIntegrationGuardrails']>;

const RECENT = 8;

const addressCard = ({ url, provider, last_delivery_at }: Integration) =>
  card(
    'Address',
    div({ class: 'copyable' }, pre(null, url), copyButton(url, 'the address')),
    details(
      { class: 'setup', open: last_delivery_at === null },
      summary({ class: 'button small' }, `Set up ${providerLabel(provider)}`),
      setupSteps(provider),
    ),
  );

const actionsOf = (visit: Visit, integration: Integration) => {
  const { id, is_paused } = integration;
  const target = { tenant_id: visit.params.tenant_id!, id };
  const { rows } = visit;
  return [
    canSendSample(integration)
      ? actionButton(visit, rows.sendTestDelivery, target, 'Send a test delivery', { icon: 'send', returnTo: visit.path })
      : null,
    is_paused
      ? actionButton(visit, rows.updateWebhookIntegration, target, 'Resume', {
          icon: 'play',
          look: 'primary',
          returnTo: visit.path,
          body: { is_paused: 'false' },
        })
      : formLink(visit, rows.updateWebhookIntegration, { ...target, is_paused: 'true' }, 'Pause', { icon: 'pause' }),
    formLink(visit, rows.updateWebhookIntegration, target, 'Change', { icon: 'settings' }),
    formLink(visit, rows.replayDeliveries, target, 'Replay', { icon: 'rotate-ccw' }),
  ];
};

const rulesView = (rules: Rules) =>
  rules.length === 0
    ? p({ class: 'quiet' }, 'It has no rules of its own. Those of the tenant apply.')
    : ul(
        { class: 'rules' },
        ...rules.map(({ name, kind, action }) => li(null, strong(null, name), span({ class: 'quiet' }, kind), badge(action))),
      );

const factsOf = (integration: Integration, agentName: string | undefined, { params }: Visit) => {
  const { id, provider, agent_id, event_filter, replay_guard, delivery_id_source, last_delivery_at, is_paused, paused_reason } =
    integration;
  return facts({
    Integration: shortId(id),
    Provider: providerLabel(provider),
    Agent: a({ href: tenantPath(params.tenant_id!, `/agents/${agent_id}`) }, agentName ?? 'Open the agent'),
    'Last delivery': ago(last_delivery_at),
    Paused: is_paused ? (paused_reason ?? 'without a reason') : null,
    Events: event_filter.length === 0 ? 'all' : span({ class: 'codes' }, ...event_filter.map((event) => code(null, event))),
    'Known bodies': { mark: 'are marked', block: 'are blocked', off: 'are treated like others' }[replay_guard],
    'Delivery id': delivery_id_source ? code(null, delivery_id_source) : null,
    Connected: ago(integration.created_at),
    Changed: ago(integration.updated_at),
  });
};

/** The page of an integration: its URL, its secret, the last use of the previous secret, and its deliveries. */
export const integrationPage = page({
  path: '/console/t/:tenant_id/integrations/:integration_id',
  permit: 'tenant:integrations:read',
  nav: 'Integrations',
  categories: ['integration', 'delivery', 'rejection', 'acknowledgement'],
  asks: (visit) => {
    const { ask, rows, params } = visit;
    const [tenant_id, integration_id] = [params.tenant_id!, params.integration_id!];
    const integration = ask(rows.getWebhookIntegration, { tenant_id, id: integration_id });
    const sinceRotation = async () => {
      const found = await integration;
      if (!found.ok) return found;
      const from = found.value.secret_rotated_at ?? found.value.created_at;
      return ask(rows.summarizeDeliveries, { tenant_id, integration_id, from, group_by: 'matched_secret' });
    };
    return {
      integration,
      evidence: sinceRotation(),
      today: ask(rows.summarizeDeliveries, { tenant_id, integration_id, from: dayAgo() }),
      guardrails: ask(rows.listIntegrationGuardrails, { tenant_id, id: integration_id }),
      recent: ask(rows.listTenantDeliveries, { tenant_id, integration_id, limit: RECENT, preview: true }),
      agents: agentNames(visit),
    };
  },
  title: ({ integration }) => (integration.ok ? integration.value.label : 'Integration'),
  trail: ({ params }) => [['Integrations', tenantPath(params.tenant_id!, '/integrations')]],
  view: ({ integration, evidence, today, guardrails, recent, agents }, visit) => {
    if (!integration.ok) return [heading('Integration', null), problemPanel(integration.problem)];
    const { value } = integration;
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const names = namesIn(agents);
    const target = { tenant_id: visit.params.tenant_id!, id: value.id };
    const listOf = (outcome: string) => `${at('/deliveries')}?integration_id=${value.id}&outcome=${outcome}`;
    const used = evidence.ok ? evidenceOf(evidence.value.groups) : null;
    return [
      div(
        { 'data-kind': 'integration', 'data-id': value.id, 'data-position': integration.position },
        heading(
          span(null, value.label, ' ', badge(value.is_paused ? 'paused' : 'active')),
          value.is_paused
            ? `Deliveries are recorded as blocked: ${value.paused_reason ?? 'no reason was given'}`
            : providerLabel(value.provider),
          ...actionsOf(visit, value),
          historyLink(visit, value.id),
        ),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            card(
              'Last 24 hours',
              panel(today, ({ outcomes }) => outcomeCounts(outcomes, listOf)),
            ),
            addressCard(value),
            secretCard(visit, value, used, new Date().toISOString()),
            card(
              'Latest deliveries',
              panel(recent, (found) =>
                found.length > 0
                  ? deliveryTable(found, { tenantPath: at, agents: names }, 'Latest deliveries')
                  : emptyState({
                      icon: 'inbox',
                      title: 'Nothing arrived yet',
                      why: 'Set up the provider with the address above, or send a test delivery.',
                    }),
              ),
            ),
          ),
          aside(
            { class: 'detail-side', 'aria-label': 'Facts' },
            card('Facts', factsOf(value, names.get(value.agent_id), visit)),
            card(
              'Guardrails',
              panel(guardrails, rulesView),
              formLink(visit, visit.rows.replaceIntegrationGuardrails, target, 'Change the rules', { look: 'small' }),
            ),
            actionButton(visit, visit.rows.disconnectWebhookIntegration, target, 'Disconnect', {
              look: 'danger',
              returnTo: at('/integrations'),
              confirm: 'Its address stops working at once. What it received stays.',
            }),
          ),
        ),
      ),
    ];
  },
});
