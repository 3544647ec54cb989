import type { deliveryListOperationsOf } from '../../deliveries/delivery-list.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { badge } from './badge.ts';
import { dataTable } from './data-table.ts';
import { failureText } from './failure-text.ts';
import { heldText } from './held-text.ts';
import { icon } from './icon.ts';
import { payloadPreview } from './payload-preview.ts';
import { reasonWords } from './reason-words.ts';
import { type Child, tags } from './tags.ts';
import { ago, between, duration } from './time.ts';

const { span, div } = tags;

export type Delivery = ReplyOf<ReturnType<typeof deliveryListOperationsOf>['listTenantDeliveries']>[number];

type Named = Pick<Delivery, 'event' | 'provider' | 'integration_label'>;

/** What a delivery without the name of an event is called, by its provider. */
export const KINDS: Readonly<Record<string, string>> = {
  cron: 'Cron job',
  skill: 'Call of a skill',
  benchmark: 'Benchmark run',
  mail: 'Mail',
};

/** Names a delivery by its event, or by its job if it comes from a cron job. */
export const nameOf = ({ event, provider, integration_label }: Named): string => {
  if (provider === 'cron' && integration_label !== null) return integration_label;
  return event ?? KINDS[provider ?? ''] ?? 'Call without an event';
};

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
  delivery.reason ? ` · ${reasonWords(delivery.reason)}` : '',
  delivery.reason_note ? `: ${delivery.reason_note}` : '',
  failureOf(delivery),
  delivery.replay_suspect ? ' · seen before' : '',
  delivery.held ? div(null, heldText(delivery.held)) : null,
  delivery.next_attempt_at ? div(null, 'next attempt ', ago(delivery.next_attempt_at)) : null,
];

/** Renders a table of deliveries. */
export const deliveryTable = (rows: readonly Delivery[], { tenantPath, agents, integrations }: Names, title: string) =>
  dataTable<Delivery>(
    {
      ...{ title, kind: 'delivery', nameTitle: 'Event', id: ({ id }) => id, name: nameOf },
      href: ({ id }) => tenantPath(`/deliveries/${id}`),
      beside: ({ preview }) => [' ', payloadPreview(preview)],
      details: (delivery) => detailsOf(delivery, integrations),
      columns: [
        { title: 'State', look: 'state', cell: (delivery) => badge(delivery.state) },
        ...(agents
          ? [
              {
                title: 'Agent',
                cell: ({ agent_id, agent_name }: Delivery) => [icon('bot'), ' ', agents.get(agent_id) ?? agent_name ?? 'an agent'],
              },
            ]
          : []),
        { title: 'Took', look: 'number', cell: tookOf },
        { title: 'Received', look: 'number', cell: ({ received_at }) => ago(received_at) },
      ],
    },
    rows,
  );
