import { page } from '../../console/page.ts';
import { type EventDetail, eventLinks, resourceLinks } from '../../console/parts/event-links.ts';
import { externalLinks, linksOf, traceIdOf } from '../../console/parts/external-links.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { wordsOf } from '../../console/parts/history.ts';
import { icon } from '../../console/parts/icon.ts';
import { jsonTree } from '../../console/parts/json-tree.ts';
import { moduleScript } from '../../console/parts/module-script.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { entryProof } from '../../console/parts/proof.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { exact } from '../../console/parts/time.ts';
import { resourcePathFor } from '../../console/resource-path.ts';
import { tenantPath } from '../../console/visit.ts';

const { a, aside, code, div, span } = tags;

type At = (rest: string) => string;

const step = (id: string | null, label: string, iconName: 'arrow-left' | 'arrow-right', at: At): Child => {
  if (id === null) return null;
  const text = span(null, label);
  const content = iconName === 'arrow-left' ? [icon(iconName), text] : [text, icon(iconName)];
  return a({ class: 'button', href: at(`/events/${id}`), rel: iconName === 'arrow-left' ? 'prev' : 'next' }, ...content);
};

const requestOf = ({ metadata }: EventDetail): string | null => (metadata as { $correlationId?: string }).$correlationId ?? null;

/** Returns the trace context with which a delivery came; null for other events. */
const traceparentOf = ({ metadata }: EventDetail): string | null =>
  (metadata as { facts?: { traceparent?: string } }).facts?.traceparent ?? null;

const factsOf = (event: EventDetail, at: At, links: Child) => {
  const request = requestOf(event);
  return facts({
    Event: shortId(event.id, 'the event id'),
    Type: code(null, event.type),
    Stream: a({ href: at(`/events?${new URLSearchParams({ stream: event.stream })}`) }, code(null, event.stream)),
    Revision: String(event.revision),
    Position: a({ href: at(`/events?order=oldest&from_position=${encodeURIComponent(event.position)}`) }, code(null, event.position)),
    Recorded: exact(event.at),
    Request: request ? a({ href: at(`/events?${new URLSearchParams({ correlation_id: request })}`) }, 'all events of this request') : null,
    'See also': links,
  });
};

/** The page of one event as it is stored in the log, with its neighbours, causes, effects and resources. */
export const eventPage = page({
  path: '/console/t/:tenant_id/events/:event_id',
  permit: 'tenant:audit:read',
  nav: 'Events',
  asks: ({ ask, rows, params }) => ({
    event: ask(rows.readEvent, { tenant_id: params.tenant_id!, event_id: params.event_id! }),
    tenant: ask(rows.readTenant, { tenant_id: params.tenant_id! }),
  }),
  title: ({ event }) => (event.ok ? wordsOf(event.value.type) : 'Event'),
  trail: ({ params }) => [['Events', tenantPath(params.tenant_id!, '/events')]],
  view: ({ event, tenant }, visit) => {
    const { params } = visit;
    if (!event.ok) return [heading('Event', null), problemPanel(event.problem)];
    const { value } = event;
    const at: At = (rest) => tenantPath(params.tenant_id!, rest);
    const trace_id = traceIdOf(traceparentOf(value));
    const values = { id: value.id, request_id: requestOf(value), trace_id, tenant_id: params.tenant_id! };
    const links = externalLinks(linksOf(tenant), values);
    const steps = [step(value.previous_id, 'Before in the stream', 'arrow-left', at), step(value.next_id, 'After', 'arrow-right', at)];
    return [
      div(
        { 'data-kind': 'event', 'data-id': value.id, 'data-position': value.position },
        heading(wordsOf(value.type), exact(value.at), ...steps),
        div(
          { class: 'detail' },
          div({ class: 'detail-main' }, card('Data', jsonTree(value.data)), card('Metadata', jsonTree(value.metadata))),
          aside(
            { class: 'detail-side', 'aria-label': 'Facts' },
            card('Place in the log', factsOf(value, at, links)),
            card('Proof', entryProof(params.tenant_id!, value)),
            card('Causes', eventLinks(value.causes, at, 'It names no event as its cause.')),
            card('Effects', eventLinks(value.effects, at, 'No event names it as its cause.')),
            card('Resources', resourceLinks(value.resources, resourcePathFor(visit))),
          ),
        ),
      ),
      moduleScript('proof-check.mjs'),
    ];
  },
});
