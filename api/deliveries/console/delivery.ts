import { actionButton, formLink } from '../../console/action.ts';
import { historyLink } from '../../console/history-link.ts';
import { agentNames, namesIn } from '../../console/names.ts';
import { page } from '../../console/page.ts';
import { attemptsTable } from '../../console/parts/attempts-table.ts';
import { badge } from '../../console/parts/badge.ts';
import { type DeliveryDetail as Detail, isSent, messagesOf, shownState } from '../../console/parts/delivery-messages.ts';
import { deliveryReason, failedAttemptOf } from '../../console/parts/delivery-reason.ts';
import { KINDS, nameOf } from '../../console/parts/delivery-row.ts';
import { wayOf } from '../../console/parts/delivery-way.ts';
import { linksOf } from '../../console/parts/external-links.ts';
import { card } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { reasonCard } from '../../console/parts/reason-card.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { zoned } from '../../console/parts/time.ts';
import { trailOf } from '../../console/parts/trail.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import { type Beside, deliveryTabs, sessionText, WITHOUT_INTEGRATION } from './delivery-tabs.ts';

const { a, div, span } = tags;

const isHeldTooLong = ({ outcome, reason }: Detail): boolean => outcome === 'dead' && reason === 'held_too_long';

const isReleasable = (delivery: Detail): boolean => delivery.outcome === 'blocked' || delivery.status === 'held' || isHeldTooLong(delivery);

const canBeSentAgain = (delivery: Detail): boolean =>
  (delivery.outcome === 'accepted' || delivery.outcome === 'dead') && !isReleasable(delivery);

/** Returns the filters that select the deliveries that ended in the same way; null if the delivery has not ended. */
const likeThis = (delivery: Detail): Readonly<Record<string, string>> | null => {
  const { outcome, reason, problem, rule, agent_id, integration_id } = delivery;
  if (outcome === 'accepted' || reason === null) return null;
  if (outcome !== 'dead') return { state: outcome, integration_id, reason, ...(rule !== null && { rule }) };
  return { state: outcome, agent_id, ...(problem === null ? { reason, problem: 'none' } : { problem }) };
};

/** Says from where a delivery came, to which agent it went, and when. */
const subtitleOf = (delivery: Detail, { integration, agent }: Beside, visit: Visit): Child => {
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const { provider, agent_id, integration_id, received_at } = delivery;
  const source = integration
    ? a({ href: at(`/integrations/${integration_id}`) }, integration.label)
    : (KINDS[provider ?? ''] ?? provider ?? 'Not verified');
  return span(
    null,
    source,
    ' ',
    icon('arrow-right'),
    span({ class: 'hidden' }, 'to'),
    ' ',
    a({ href: at(`/agents/${agent_id}`) }, agent),
    ', ',
    zoned(received_at),
  );
};

const actionsOf = (visit: Visit, delivery: Detail): readonly Child[] => {
  const path = { tenant_id: visit.params.tenant_id!, delivery_id: delivery.id };
  return [
    isReleasable(delivery)
      ? formLink(visit, visit.rows.releaseDelivery, path, 'Release…', { icon: 'send', look: 'primary', returnTo: withQuery(visit, {}) })
      : null,
    canBeSentAgain(delivery)
      ? actionButton(visit, visit.rows.redeliverDelivery, path, 'Redeliver', {
          icon: 'rotate-ccw',
          look: 'primary',
          returnTo: withQuery(visit, {}),
          confirm: 'The runner of the agent gets the same bytes again, as a new attempt.',
        })
      : null,
    historyLink(visit, delivery.id),
  ];
};

/** Starts the calls of what is shown of a delivery, besides the names of agents. */
export const askDelivery = (visit: Visit, delivery_id: string) => {
  const { ask, rows, params, may } = visit;
  const tenant_id = params.tenant_id!;
  const delivery = ask(rows.getDelivery, { tenant_id, delivery_id });
  /** Makes a call that needs a field of the delivery. The call is not made if there is no such delivery. */
  const after = async <T>(next: (value: Detail) => Promise<T> | null): Promise<T | null> => {
    const found = await delivery;
    return found.ok ? next(found.value) : null;
  };
  return {
    delivery,
    tenant: ask(rows.readTenant, { tenant_id }),
    integration: after(({ provider, integration_id: id }) =>
      may('tenant:integrations:read') && !WITHOUT_INTEGRATION.includes(provider)
        ? ask(rows.getWebhookIntegration, { tenant_id, id })
        : null,
    ),
    session: after(({ session_id }) =>
      session_id !== null && may('tenant:audit:read') ? ask(rows.getTenantSession, { tenant_id, session_id }) : null,
    ),
    others: after((value) => {
      const filters = likeThis(value);
      return filters === null || visit.asOf !== null ? null : ask(rows.summarizeDeliveries, { tenant_id, ...filters });
    }),
    presence: after(({ status, causation }) =>
      status === null || status === 'done' || status === 'dead' || visit.asOf !== null
        ? null
        : ask(rows.getRunnerPresence, { tenant_id, agent_id: causation.at(-1)!.agent_id }),
    ),
  };
};

type Calls = ReturnType<typeof askDelivery> & { readonly agents: ReturnType<typeof agentNames> };
export type DeliveryAnswers = { readonly [Name in keyof Calls]: Awaited<Calls[Name]> };

/** Renders a delivery: why it is in its state, and its processing from the signature to its end. */
export const deliveryContent = (
  { delivery, tenant, agents, integration, session, others, presence }: DeliveryAnswers,
  visit: Visit,
  headingOf: (title: Child, subtitle: Child, ...actions: Child[]) => Child,
): readonly Child[] => {
  if (!delivery.ok) return [headingOf('Delivery', null), problemPanel(delivery.problem)];
  const { value } = delivery;
  const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
  const nameOfAgent = (id: string): string => namesIn(agents).get(id) ?? (id === value.agent_id ? value.agent_name : null) ?? 'the agent';
  const beside: Beside = {
    links: linksOf(tenant),
    integration: integration?.ok ? integration.value : null,
    session: session?.ok ? session.value : null,
    agent: nameOfAgent(value.agent_id),
  };
  const target = value.causation.findLast(({ session_id }) => session_id === null)?.agent_id ?? value.agent_id;
  const like = likeThis(value);
  const reason = deliveryReason(value, {
    integration: beside.integration,
    presence: presence?.ok ? presence.value : null,
    agent: nameOfAgent(target),
    others: others?.ok && like ? Math.max(0, others.value.outcomes[value.outcome] - 1) : null,
    paths: {
      runner: at(`/agents/${target}/runner`),
      rules: at('/guardrails'),
      others: at(`/deliveries?${new URLSearchParams({ ...like, period: 'all' })}`),
    },
  });
  const sent = messagesOf(value).filter(({ step }) => isSent(step));
  const failed = reason === null ? null : failedAttemptOf(value);
  const attempts = attemptsTable(value, sent, {
    agentText: (id) => (id === value.agent_id ? null : a({ href: at(`/agents/${id}`) }, nameOfAgent(id))),
    sessionText: sessionText(beside.session, visit),
    isLogShown: (attempt) => attempt === failed,
  });
  return [
    div(
      { 'data-kind': 'delivery', 'data-id': value.id, 'data-position': delivery.position },
      headingOf(span(null, nameOf(value), ' ', badge(shownState(value))), subtitleOf(value, beside, visit), ...actionsOf(visit, value)),
      reason === null ? null : reasonCard(reason),
      div(
        { class: sent.length > 0 ? 'why-columns' : 'why-columns single' },
        sent.length > 0 ? card('Attempts', attempts) : null,
        card('Way', trailOf(wayOf(value, at('/guardrails')))),
      ),
      deliveryTabs(value, beside, visit),
    ),
  ];
};

export const deliveryPage = page({
  path: '/console/t/:tenant_id/deliveries/:delivery_id',
  permit: 'tenant:read',
  nav: 'Deliveries',
  categories: ['delivery', 'acknowledgement', 'attemptreport', 'publication', 'session'],
  asks: (visit) => ({ ...askDelivery(visit, visit.params.delivery_id!), agents: agentNames(visit) }),
  title: ({ delivery }) => (delivery.ok ? nameOf(delivery.value) : 'Delivery'),
  trail: ({ params }) => [['Deliveries', tenantPath(params.tenant_id!, '/deliveries')]],
  view: (answers, visit) => deliveryContent(answers, visit, heading),
});
