import type { ReplyOf } from '../../http/ask.ts';
import type { deliveryListOperationsOf } from '../../webhooks/delivery-list.ts';
import { badge } from './badge.ts';
import { failureText } from './failure-text.ts';
import { sizeText } from './figures.ts';
import { heldText } from './held-text.ts';
import { icon } from './icon.ts';
import { payloadPreview } from './payload-preview.ts';
import { type Child, tags } from './tags.ts';
import { ago, between, duration } from './time.ts';

const { table, thead, tbody, tr, th, td, a, span, caption, div } = tags;

export type Delivery = ReplyOf<ReturnType<typeof deliveryListOperationsOf>['listTenantDeliveries']>[number];

/**
 * Returns the state of a delivery that matters most to the reader. For an accepted delivery, this is its state at the
 * runner, if known; for any other, its outcome.
 */
export const stateOf = ({ outcome, status }: Pick<Delivery, 'outcome' | 'status'>): string =>
  outcome === 'accepted' && status === 'done' ? 'acknowledged' : outcome === 'accepted' ? (status ?? outcome) : outcome;

/** Returns an empty text if no failed attempt is known. */
const failureOf = ({ last_failure, outcome, status }: Delivery): string =>
  outcome === 'dead' || (last_failure !== null && status !== 'done') ? ` · ${failureText(last_failure)}` : '';

/** Renders how long a delivery took from its receipt to its acknowledgement. */
const tookOf = ({ received_at, acknowledged_at }: Delivery): Child =>
  acknowledged_at ? duration(Math.max(0, between(received_at, acknowledged_at))) : span({ class: 'quiet' }, '—');

export type Names = {
  readonly tenantPath: (rest: string) => string;
  readonly agents: ReadonlyMap<string, string>;
  /** The names of the integrations; absent on a page whose visitor may not see them, or that is about one of them. */
  readonly integrations?: ReadonlyMap<string, string>;
};

const rowOf = (delivery: Delivery, { tenantPath, agents, integrations }: Names) =>
  tr(
    { 'data-kind': 'delivery', 'data-id': delivery.id },
    td(
      { class: 'main-cell' },
      a(
        { href: tenantPath(`/deliveries/${delivery.id}`), class: 'row-link' },
        span({ class: 'event' }, delivery.event ?? 'unknown event'),
        ' ',
        payloadPreview(delivery.preview),
      ),
      div(
        { class: 'quiet' },
        delivery.provider ?? 'not verified',
        integrations?.has(delivery.integration_id) ? ` · ${integrations.get(delivery.integration_id)}` : '',
        delivery.reason ? ` · ${delivery.reason}` : '',
        delivery.reason_note ? `: ${delivery.reason_note}` : '',
        failureOf(delivery),
        delivery.replay_suspect ? ' · seen before' : '',
      ),
      delivery.held ? div({ class: 'quiet whole' }, heldText(delivery.held)) : null,
    ),
    td({ class: 'state-cell' }, badge(stateOf(delivery))),
    td({ class: 'wide-only' }, icon('bot'), ' ', agents.get(delivery.agent_id) ?? 'an agent'),
    td({ class: 'number wide-only' }, sizeText(delivery.size_bytes)),
    td({ class: 'number wide-only' }, tookOf(delivery)),
    td({ class: 'number' }, ago(delivery.received_at)),
  );

/** Renders a table of deliveries. */
export const deliveryTable = (rows: readonly Delivery[], names: Names, title: string) =>
  div(
    { class: 'table-box' },
    table(
      { class: 'list' },
      caption({ class: 'hidden' }, title),
      thead(
        null,
        tr(
          null,
          th({ scope: 'col' }, 'Event'),
          th({ scope: 'col' }, 'State'),
          th({ scope: 'col', class: 'wide-only' }, 'Agent'),
          th({ scope: 'col', class: 'number wide-only' }, 'Size'),
          th({ scope: 'col', class: 'number wide-only' }, 'Took'),
          th({ scope: 'col', class: 'number' }, 'Received'),
        ),
      ),
      tbody(null, ...rows.map((delivery) => rowOf(delivery, names))),
    ),
  );
