import type { ReplyOf } from '../../http/ask.ts';
import type { deliveryListOperationsOf } from '../../webhooks/delivery-list.ts';
import { badge } from './badge.ts';
import { dataTable } from './data-table.ts';
import { failureText } from './failure-text.ts';
import { sizeText } from './figures.ts';
import { heldText } from './held-text.ts';
import { icon } from './icon.ts';
import { payloadPreview } from './payload-preview.ts';
import { type Child, tags } from './tags.ts';
import { ago, between, duration } from './time.ts';

const { span, div } = tags;

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
  /** The names of the agents; absent on the page of an agent, which needs no column for them. */
  readonly agents?: ReadonlyMap<string, string>;
  /** The names of the integrations; absent on a page whose visitor may not see them, or that is about one of them. */
  readonly integrations?: ReadonlyMap<string, string>;
};

const detailsOf = (delivery: Delivery, integrations: Names['integrations']): Child => [
  delivery.provider ?? 'not verified',
  integrations?.has(delivery.integration_id) ? ` · ${integrations.get(delivery.integration_id)}` : '',
  delivery.reason ? ` · ${delivery.reason}` : '',
  delivery.reason_note ? `: ${delivery.reason_note}` : '',
  failureOf(delivery),
  delivery.replay_suspect ? ' · seen before' : '',
  delivery.held ? div(null, heldText(delivery.held)) : null,
];

/** Renders a table of deliveries. */
export const deliveryTable = (rows: readonly Delivery[], { tenantPath, agents, integrations }: Names, title: string) =>
  dataTable<Delivery>(
    {
      ...{ title, kind: 'delivery', nameTitle: 'Event', id: ({ id }) => id, name: ({ event }) => event ?? 'unknown event' },
      href: ({ id }) => tenantPath(`/deliveries/${id}`),
      beside: ({ preview }) => [' ', payloadPreview(preview)],
      details: (delivery) => detailsOf(delivery, integrations),
      columns: [
        { title: 'State', look: 'state', cell: (delivery) => badge(stateOf(delivery)) },
        ...(agents ? [{ title: 'Agent', cell: ({ agent_id }: Delivery) => [icon('bot'), ' ', agents.get(agent_id) ?? 'an agent'] }] : []),
        { title: 'Size', look: 'number', cell: ({ size_bytes }) => sizeText(size_bytes) },
        { title: 'Took', look: 'number', cell: tookOf },
        { title: 'Received', look: 'number', cell: ({ received_at }) => ago(received_at) },
      ],
    },
    rows,
  );
