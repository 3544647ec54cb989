import type { Rows } from '../../areas.ts';
import { counted, countText } from '../../console/parts/count-text.ts';
import type { DeliveryDetail as Detail } from '../../console/parts/delivery-messages.ts';
import { externalLinks, type linksOf, traceIdOf } from '../../console/parts/external-links.ts';
import { facts } from '../../console/parts/facts.ts';
import { heldText } from '../../console/parts/held-text.ts';
import { icon } from '../../console/parts/icon.ts';
import { jsonTree } from '../../console/parts/json-tree.ts';
import { cents } from '../../console/parts/money.ts';
import { copyButton, shortId } from '../../console/parts/short-id.ts';
import { signedCurl } from '../../console/parts/signed-curl.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, exact } from '../../console/parts/time.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { whyWords } from '../held-words.ts';

const { a, code, div, nav, p, pre, section, span } = tags;

export type Integration = ReplyOf<Rows['getWebhookIntegration']>;
export type Session = ReplyOf<Rows['getTenantSession']>;
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

const payloadContent = (delivery: Detail, bodyPath: string, at: (rest: string) => string): readonly Child[] => {
  const { payload, payload_missing, outcome } = delivery;
  if (outcome === 'rejected') return [p({ class: 'quiet' }, 'The sender was not verified, so the platform stored no body.')];
  if (payload_missing !== null) return [p({ class: 'quiet' }, `The payload is not shown: ${payload_missing.replaceAll('_', ' ')}.`)];
  return [
    div({ class: 'actions' }, a({ class: 'button small', href: bodyPath }, icon('download'), 'Bytes as received')),
    jsonTree(payload, { listWith: listWith(delivery, at) }),
  ];
};

/** The providers whose deliveries come through no integration: skills, cron jobs, benchmark runs and mail. */
export const WITHOUT_INTEGRATION: readonly (string | null)[] = ['skill', 'cron', 'benchmark', 'mail'];

const curlContent = (delivery: Detail, integration: Integration | null, { origin, params }: Visit): readonly Child[] => {
  const found = signedCurl(delivery, integration, { origin, tenant_id: params.tenant_id! });
  if (found === null) return [p({ class: 'quiet' }, 'Only the sender can sign this delivery, or its body is not stored.')];
  return [
    p({ class: 'quiet' }, `${found.note} The secret is read from $SECRET, and not shown here.`),
    div({ class: 'copyable' }, pre(null, found.command), copyButton(found.command, 'the commands')),
  ];
};

/** Renders those headers of the call that are stored. */
const headersContent = ({ content_type, caller, traceparent }: Detail): readonly Child[] => [
  facts({
    'content-type': content_type,
    'user-agent': caller?.user_agent ?? null,
    traceparent,
  }),
  p({ class: 'quiet' }, 'Other headers are not stored.'),
];

/** Says how often the delivery was sent to a runner again, and whether its provider has repeated it with another body. */
const redeliveriesText = ({ redeliveries: { count, last_at, differed } }: Detail): Child =>
  span(
    { 'data-redeliveries': String(count) },
    last_at === null ? 'not sent again' : span(null, `${countText(count)} more, last `, ago(last_at), ', same bytes'),
    differed ? '; its provider repeated it with another body, which was ignored' : null,
  );

const costText = ({ total_cost_cents, total_tokens }: Session): string => cents(total_cost_cents, total_tokens > 0);

/** Returns the function that renders what is known about a session of the delivery: a link to it, and its cost. */
export const sessionText =
  (session: Session | null, { params, may }: Visit) =>
  (id: string): Child =>
    span(
      null,
      may('tenant:audit:read') ? a({ href: tenantPath(params.tenant_id!, `/sessions/${id}`) }, 'session') : shortId(id),
      session?.session.id === id ? span({ 'data-cost': '' }, `, cost ${costText(session)}`) : null,
    );

/** What the page of a delivery knows besides the delivery. */
export type Beside = {
  readonly links: Links;
  readonly integration: Integration | null;
  readonly session: Session | null;
  readonly agent: string;
};

const factsOf = (delivery: Detail, { links, integration, session, agent }: Beside, { params, may }: Visit) => {
  const at = (rest: string) => tenantPath(params.tenant_id!, rest);
  const { id, provider, agent_id, integration_id, provider_delivery_id, sha256, size_bytes, caller, session_id, cause } = delivery;
  const trace_id = traceIdOf(delivery.traceparent);
  return facts({
    Delivery: shortId(id),
    Received: ago(delivery.received_at),
    Provider: provider,
    "Provider's id": provider_delivery_id ? shortId(provider_delivery_id) : null,
    Agent: a({ href: at(`/agents/${agent_id}`) }, agent),
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

const releasedText = ({ released }: Detail): Child =>
  released === null ? null : span(null, ago(released.at), released.reason === null ? ' by the platform' : `: ${released.reason}`);

const TABS = ['payload', 'headers', 'facts', 'curl'] as const;
const LABELS = { payload: 'Payload', headers: 'Headers', facts: 'Facts', curl: 'As signed curl' } as const;

/** Renders the contents of a delivery. The URL says which of them is shown. */
export const deliveryTabs = (delivery: Detail, beside: Beside, visit: Visit) => {
  const { params, query } = visit;
  const current = TABS.find((tab) => tab === query.get('tab')) ?? 'payload';
  const at = (rest: string) => tenantPath(params.tenant_id!, rest);
  const contents = {
    payload: () => payloadContent(delivery, `/tenant/${params.tenant_id}/deliveries/${delivery.id}/body`, at),
    headers: () => headersContent(delivery),
    facts: () => [factsOf(delivery, beside, visit)],
    curl: () => curlContent(delivery, beside.integration, visit),
  };
  const shown = TABS.filter((tab) => tab !== 'curl' || delivery.outcome !== 'rejected');
  return section(
    { class: 'card', id: 'contents', 'aria-label': 'Contents' },
    nav(
      { 'aria-label': 'Contents of the delivery', class: 'tabs page-tabs' },
      ...shown.map((tab) =>
        a(
          {
            href: `${withQuery(visit, { tab: tab === 'payload' ? null : tab })}#contents`,
            'aria-current': tab === current ? 'page' : null,
          },
          LABELS[tab],
        ),
      ),
    ),
    ...contents[current](),
  );
};
