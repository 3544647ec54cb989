import type { ReplyOf } from '../../http/ask.ts';
import type { Rows } from '../../routes.ts';
import { actionButton } from '../action.ts';
import { historyLink } from '../history-link.ts';
import { page } from '../page.ts';
import { badge } from '../parts/badge.ts';
import { stateOf } from '../parts/delivery-row.ts';
import { externalLinks, linksOf, traceIdOf } from '../parts/external-links.ts';
import { card, facts } from '../parts/facts.ts';
import { heading } from '../parts/heading.ts';
import { icon } from '../parts/icon.ts';
import { jsonTree } from '../parts/json-tree.ts';
import { problemPanel } from '../parts/problem-panel.ts';
import { copyButton, shortId } from '../parts/short-id.ts';
import { signedCurl } from '../parts/signed-curl.ts';
import { tags } from '../parts/tags.ts';
import { ago, exact } from '../parts/time.ts';
import { type TrailStep, trailOf } from '../parts/trail.ts';
import { tenantPath, type Visit } from '../visit.ts';

const { a, div, span, code, p, aside, pre } = tags;

type Detail = ReplyOf<Rows['getDelivery']>;
type Links = ReturnType<typeof linksOf>;

const STEP_TITLES: Readonly<Record<string, string>> = {
  WebhookAccepted: 'Stored in the log',
  WebhookBlocked: 'Stored in the log',
  DeliveryRequeued: 'Sent again',
  SessionStarted: 'A session was started',
};

const ATTEMPTS = {
  acknowledged: ['check-check', 'good', 'Acknowledged by the runner'],
  failed: ['circle-x', 'warn', 'Refused by the runner'],
  expired: ['timer', 'warn', 'No answer from the runner'],
  max_deliveries: ['skull', 'dead', 'Given up after the last attempt'],
  terminated: ['skull', 'dead', 'Given up by the runner'],
} as const;

const signatureStep = ({ received_at, matched_secret, outcome, reason, provider }: Detail): TrailStep => {
  if (outcome === 'rejected')
    return {
      icon: 'shield-x',
      tone: 'bad',
      title: 'Rejected',
      detail: `Reason: ${reason ?? 'unknown'}. No body was stored.`,
      at: received_at,
    };
  if (matched_secret === null)
    return { icon: 'shield-check', tone: 'calm', title: `Received from ${provider ?? 'an unknown sender'}`, at: received_at };
  const detail = matched_secret === 'previous' ? 'It was signed with the previous secret.' : 'It was signed with the current secret.';
  return {
    icon: 'shield-check',
    tone: matched_secret === 'previous' ? 'warn' : 'good',
    title: 'Signature verified',
    detail,
    at: received_at,
  };
};

/** Returns the steps in the processing of a delivery, in order: signature, verdict, log, broker, attempts, sessions. */
const stepsOf = (delivery: Detail): TrailStep[] => {
  const { outcome, reason, published_at, attempts, causation, received_at, redactions } = delivery;
  const first = { icon: 'webhook', tone: 'calm', title: 'Received', detail: `${delivery.size_bytes} bytes`, at: received_at } as const;
  if (outcome === 'rejected') return [first, signatureStep(delivery)];
  const verdict: TrailStep[] =
    outcome === 'blocked' ? [{ icon: 'ban', tone: 'warn', title: 'Blocked', detail: `Reason: ${reason ?? 'unknown'}`, at: null }] : [];
  const redacted: TrailStep[] =
    redactions > 0 ? [{ icon: 'fingerprint', tone: 'calm', title: `${redactions} parts were redacted`, at: null }] : [];
  const logged = causation.map(
    (step): TrailStep => ({
      icon: step.type === 'SessionStarted' ? 'message-square' : step.type === 'DeliveryRequeued' ? 'rotate-ccw' : 'database',
      tone: 'good',
      title: STEP_TITLES[step.type] ?? step.type,
      detail: span(
        null,
        'Event ',
        shortId(step.event_id, 'the event id'),
        ` by ${step.actor.kind === 'system' ? step.actor.id : `a ${step.actor.kind}`}`,
      ),
      at: step.at,
    }),
  );
  const published: TrailStep[] = published_at ? [{ icon: 'send', tone: 'good', title: 'Published for the runner', at: published_at }] : [];
  const tried = attempts.map(({ outcome: result, at, count }): TrailStep => {
    const [name, tone, title] = ATTEMPTS[result];
    return { icon: name, tone, title, detail: `Attempt ${count}`, at };
  });
  const timed = [...logged, ...published, ...tried];
  const ordered = timed.every(({ at }) => at !== null)
    ? timed.toSorted((one, other) => Date.parse(one.at!) - Date.parse(other.at!))
    : timed;
  const waits: TrailStep[] =
    delivery.status === 'waiting' || delivery.status === 'running'
      ? [{ icon: 'clock', tone: 'busy', title: delivery.status === 'waiting' ? 'Waits to be published' : 'Waits for the runner', at: null }]
      : [];
  return [first, signatureStep(delivery), ...redacted, ...verdict, ...ordered, ...waits];
};

const payloadCard = ({ payload, payload_missing, outcome }: Detail, bodyPath: string) => {
  if (outcome === 'rejected') return card('Payload', p({ class: 'quiet' }, 'The sender was not verified, so the platform stored no body.'));
  if (payload_missing !== null)
    return card('Payload', p({ class: 'quiet' }, `The payload is not shown: ${payload_missing.replaceAll('_', ' ')}.`));
  return card(
    'Payload',
    div({ class: 'actions' }, a({ class: 'button small', href: bodyPath }, icon('download'), 'Bytes as received')),
    jsonTree(payload),
  );
};

/** The providers whose deliveries come through no integration: skills, cron jobs, benchmark runs and mail. */
const WITHOUT_INTEGRATION: readonly (string | null)[] = ['skill', 'cron', 'benchmark', 'mail'];

const curlCard = (delivery: Detail, { origin, params }: Visit) => {
  const command = signedCurl(delivery, origin, params.tenant_id!);
  return command === null
    ? null
    : card(
        'As signed curl',
        p({ class: 'quiet' }, 'Sends the same bytes again under a new id, signed with $SECRET, which is not shown here.'),
        div({ class: 'copyable' }, pre(null, command), copyButton(command, 'the commands')),
      );
};

const factsOf = (delivery: Detail, links: Links, { params, may }: Visit) => {
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
        ? a({ href: at(`/integrations/${integration_id}`) }, 'Open the integration')
        : shortId(integration_id),
    Sender: caller?.ip ? code(null, caller.ip) : null,
    'User agent': caller?.user_agent ?? null,
    Size: `${size_bytes} bytes`,
    'SHA-256': sha256 ? shortId(sha256, 'the digest') : null,
    'Led here by': cause ? a({ href: at(`/deliveries/${cause.delivery_id}`) }, 'another delivery') : null,
    Trace: trace_id ? shortId(trace_id, 'the trace id') : null,
    'See also': externalLinks(links, { id, trace_id, delivery_id: id, tenant_id: params.tenant_id! }),
    Session: session_id
      ? may('tenant:audit:read')
        ? a({ href: at(`/sessions/${session_id}`) }, 'Open the session')
        : shortId(session_id)
      : null,
    Published: delivery.published_at ? exact(delivery.published_at) : null,
    Acknowledged: delivery.acknowledged_at ? exact(delivery.acknowledged_at) : null,
  });
};

/** The page of a delivery, which shows its processing from the signature to the acknowledgement. */
export const deliveryPage = page({
  path: '/console/t/:tenant_id/deliveries/:delivery_id',
  permit: 'tenant:read',
  nav: 'Deliveries',
  categories: ['delivery', 'acknowledgement', 'publication', 'session'],
  asks: ({ ask, rows, params }) => ({
    delivery: ask(rows.getDelivery, { tenant_id: params.tenant_id!, delivery_id: params.delivery_id! }),
    tenant: ask(rows.readTenant, { tenant_id: params.tenant_id! }),
  }),
  title: ({ delivery }) => (delivery.ok ? (delivery.value.event ?? 'Delivery') : 'Delivery'),
  trail: ({ params, tenant }) => [
    [tenant?.name ?? 'Tenant', tenantPath(params.tenant_id!)],
    ['Deliveries', tenantPath(params.tenant_id!, '/deliveries')],
  ],
  view: ({ delivery, tenant }, visit) => {
    if (!delivery.ok) return [heading('Delivery', null), problemPanel(delivery.problem)];
    const { value } = delivery;
    const redeliver = actionButton(
      visit,
      visit.rows.redeliverDelivery,
      { tenant_id: visit.params.tenant_id!, delivery_id: value.id },
      'Redeliver',
      { icon: 'rotate-ccw', returnTo: visit.path, confirm: 'The runner of the agent gets the same bytes again, as a new attempt.' },
    );
    const body = `/tenant/${visit.params.tenant_id}/deliveries/${value.id}/body`;
    return [
      div(
        { 'data-kind': 'delivery', 'data-id': value.id, 'data-position': delivery.position },
        heading(
          span(null, value.event ?? 'Unknown event', ' ', badge(stateOf(value))),
          span(null, `${value.provider ?? 'Not verified'} · `, ago(value.received_at)),
          value.outcome === 'accepted' || value.outcome === 'dead' ? redeliver : null,
          historyLink(visit, value.id),
        ),
        div(
          { class: 'detail' },
          div({ class: 'detail-main' }, card('What happened', trailOf(stepsOf(value))), payloadCard(value, body), curlCard(value, visit)),
          aside({ class: 'detail-side', 'aria-label': 'Facts' }, card('Facts', factsOf(value, linksOf(tenant), visit))),
        ),
      ),
    ];
  },
});
