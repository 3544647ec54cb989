import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { whyWords } from '../../webhooks/held-words.ts';
import { actionButton, formLink } from '../action.ts';
import { historyLink } from '../history-link.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { counted, countText } from '../parts/count-text.ts';
import { stateOf } from '../parts/delivery-row.ts';
import { stepsOf } from '../parts/delivery-trail.ts';
import { externalLinks, linksOf, traceIdOf } from '../parts/external-links.ts';
import { card, facts } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { heldText } from '../parts/held-text.ts';
import { icon } from '../parts/icon.ts';
import { jsonTree } from '../parts/json-tree.ts';
import { cents } from '../parts/money.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { copyButton, shortId } from '../parts/short-id.ts';
import { signedCurl } from '../parts/signed-curl.ts';
import { type Child, tags } from '../parts/tags.ts';
import { ago, exact } from '../parts/time.ts';
import { trailOf } from '../parts/trail.ts';
import { tenantPath, type Visit } from '../visit.ts';

const { a, div, span, code, p, aside, pre } = tags;

type Detail = ReplyOf<Rows['getDelivery']>;
type Integration = ReplyOf<Rows['getWebhookIntegration']>;
type Session = ReplyOf<Rows['getTenantSession']>;
type Links = ReturnType<typeof linksOf>;

/**
 * Returns the list of deliveries with the same value, if a value of the payload is the event name or the provider's id
 * of the delivery. The list has no filters for other values, because no read model contains payloads.
 */
const listWith =
  ({ event, provider_delivery_id }: Detail, at: (rest: string) => string) =>
  (value: unknown): string | null => {
    if (typeof value !== 'string' || value === '') return null;
    if (value === event) return at(`/deliveries?${new URLSearchParams({ event })}`);
    return value === provider_delivery_id ? at(`/deliveries?${new URLSearchParams({ provider_delivery_id })}`) : null;
  };

const payloadCard = (delivery: Detail, bodyPath: string, at: (rest: string) => string) => {
  const { payload, payload_missing, outcome } = delivery;
  if (outcome === 'rejected') return card('Payload', p({ class: 'quiet' }, 'The sender was not verified, so the platform stored no body.'));
  if (payload_missing !== null)
    return card('Payload', p({ class: 'quiet' }, `The payload is not shown: ${payload_missing.replaceAll('_', ' ')}.`));
  return card(
    'Payload',
    div({ class: 'actions' }, a({ class: 'button small', href: bodyPath }, icon('download'), 'Bytes as received')),
    jsonTree(payload, { listWith: listWith(delivery, at) }),
  );
};

/** The providers whose deliveries come through no integration: skills, cron jobs, benchmark runs and mail. */
const WITHOUT_INTEGRATION: readonly (string | null)[] = ['skill', 'cron', 'benchmark', 'mail'];

const curlCard = (delivery: Detail, integration: Integration | null, { origin, params }: Visit) => {
  const found = signedCurl(delivery, integration, { origin, tenant_id: params.tenant_id! });
  return found === null
    ? null
    : card(
        'As signed curl',
        p({ class: 'quiet' }, `${found.note} The secret is read from $SECRET, and not shown here.`),
        div({ class: 'copyable' }, pre(null, found.command), copyButton(found.command, 'the commands')),
      );
};

/** Says how often the delivery was sent to a runner again, and whether its provider has repeated it with another body. */
const redeliveriesText = ({ redeliveries: { count, last_at, differed } }: Detail): Child =>
  span(
    { 'data-redeliveries': String(count) },
    last_at === null ? 'not sent again' : span(null, `${countText(count)} more, last `, ago(last_at), ', same bytes'),
    differed ? '; its provider repeated it with another body, which was ignored' : null,
  );

const costText = ({ total_cost_cents, total_tokens }: Session): string => cents(total_cost_cents, total_tokens > 0);

/** Returns the function that renders what is known about a session of the delivery: a link to it, and its cost. */
const sessionText =
  (session: Session | null, { params, may }: Visit) =>
  (id: string): Child =>
    span(
      null,
      ' · ',
      may('tenant:audit:read') ? a({ href: tenantPath(params.tenant_id!, `/sessions/${id}`) }, 'Open the session') : shortId(id),
      session?.session.id === id ? span({ 'data-cost': '' }, ` · cost ${costText(session)}`) : null,
    );

type Beside = { readonly links: Links; readonly integration: Integration | null; readonly session: Session | null };

const factsOf = (delivery: Detail, { links, integration, session }: Beside, { params, may }: Visit) => {
  const at = (rest: string) => tenantPath(params.tenant_id!, rest);
  const { id, provider, agent_id, integration_id, provider_delivery_id, sha256, size_bytes, caller, session_id, cause } = delivery;
  const trace_id = traceIdOf(delivery.traceparent);
  return facts({
    Delivery: shortId(id),
    Received: ago(delivery.received_at),
    Provider: provider,
    "Provider's id": provider_delivery_id ? shortId(provider_delivery_id) : null,
    Agent: a({ href: at(`/agents/${agent_id}`) }, 'Open the agent'),
    Integration:
      may('tenant:integrations:read') && !WITHOUT_INTEGRATION.includes(provider)
        ? a({ href: at(`/integrations/${integration_id}`) }, integration?.label ?? 'Open the integration')
        : shortId(integration_id),
    Sender: caller?.ip ? code(null, caller.ip) : null,
    'User agent': caller?.user_agent ?? null,
    'Content type': delivery.content_type,
    Size: counted(size_bytes, 'byte'),
    'SHA-256': sha256 ? shortId(sha256, 'the digest') : null,
    'Led here by': cause ? a({ href: at(`/deliveries/${cause.delivery_id}`) }, 'another delivery') : null,
    Trace: trace_id ? shortId(trace_id, 'the trace id') : null,
    'See also': externalLinks(links, { id, trace_id, delivery_id: id, tenant_id: params.tenant_id! }),
    Session: session_id
      ? may('tenant:audit:read')
        ? a({ href: at(`/sessions/${session_id}`) }, 'Open the session')
        : shortId(session_id)
      : null,
    Cost: session === null ? null : costText(session),
    'Held because of': delivery.held && heldText(delivery.held),
    ...stopFacts(delivery),
    Released: releasedText(delivery),
    Redeliveries: delivery.outcome === 'rejected' ? null : redeliveriesText(delivery),
    Published: delivery.published_at ? exact(delivery.published_at) : null,
    Acknowledged: delivery.acknowledged_at ? exact(delivery.acknowledged_at) : null,
  });
};

/** Says why a delivery that was released or given up was blocked or held before. */
const stopFacts = ({ released, expired }: Detail): Readonly<Record<string, Child>> => {
  const from = released?.from ?? expired?.from;
  return from ? { [`Was ${from.outcome} because of`]: whyWords(from) } : {};
};

const isHeldTooLong = ({ outcome, reason }: Detail): boolean => outcome === 'dead' && reason === 'held_too_long';

const isReleasable = (delivery: Detail): boolean => delivery.outcome === 'blocked' || delivery.status === 'held' || isHeldTooLong(delivery);

const canBeSentAgain = (delivery: Detail): boolean =>
  (delivery.outcome === 'accepted' || delivery.outcome === 'dead') && !isReleasable(delivery);

const releasedText = ({ released }: Detail): Child =>
  released === null ? null : span(null, ago(released.at), released.reason === null ? ' by the platform' : `: ${released.reason}`);

/** The page of a delivery, which shows its processing from the signature to the acknowledgement. */
export const deliveryPage = page({
  path: '/console/t/:tenant_id/deliveries/:delivery_id',
  permit: 'tenant:read',
  nav: 'Deliveries',
  categories: ['delivery', 'acknowledgement', 'attemptreport', 'publication', 'session'],
  asks: ({ ask, rows, params, may }) => {
    const tenant_id = params.tenant_id!;
    const delivery = ask(rows.getDelivery, { tenant_id, delivery_id: params.delivery_id! });
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
    };
  },
  title: ({ delivery }) => (delivery.ok ? (delivery.value.event ?? 'Delivery') : 'Delivery'),
  trail: ({ params, tenant }) => [
    [tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)],
    ['Deliveries', tenantPath(params.tenant_id!, '/deliveries')],
  ],
  view: ({ delivery, tenant, integration, session }, visit) => {
    if (!delivery.ok) return [heading('Delivery', null), problemPanel(delivery.problem)];
    const { value } = delivery;
    const redeliver = actionButton(
      visit,
      visit.rows.redeliverDelivery,
      { tenant_id: visit.params.tenant_id!, delivery_id: value.id },
      'Redeliver',
      { icon: 'rotate-ccw', returnTo: visit.path, confirm: 'The runner of the agent gets the same bytes again, as a new attempt.' },
    );
    const release = formLink(visit, visit.rows.releaseDelivery, { tenant_id: visit.params.tenant_id!, delivery_id: value.id }, 'Release…', {
      icon: 'send',
      returnTo: visit.path,
    });
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const beside: Beside = {
      links: linksOf(tenant),
      integration: integration?.ok ? integration.value : null,
      session: session?.ok ? session.value : null,
    };
    const body = `/tenant/${visit.params.tenant_id}/deliveries/${value.id}/body`;
    return [
      div(
        { 'data-kind': 'delivery', 'data-id': value.id, 'data-position': delivery.position },
        heading(
          span(null, value.event ?? 'Unknown event', ' ', badge(stateOf(value))),
          span(null, `${value.provider ?? 'Not verified'} · `, ago(value.received_at)),
          isReleasable(value) ? release : null,
          canBeSentAgain(value) ? redeliver : null,
          historyLink(visit, value.id),
        ),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            card('What happened', trailOf(stepsOf(value, sessionText(beside.session, visit)))),
            payloadCard(value, body, at),
            curlCard(value, beside.integration, visit),
          ),
          aside({ class: 'detail-side', 'aria-label': 'Facts' }, card('Facts', factsOf(value, beside, visit))),
        ),
      ),
    ];
  },
});
