import { z } from 'zod';
import type { Recorded } from '../../domain/event.ts';
import { Id25 } from '../../domain/id.ts';
import { type DeliveryEvent, factsOf } from '../../domain/webhooks/delivery.ts';
import * as Integration from '../../domain/webhooks/integration.ts';
import { type Change, insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';

const OptionalTime = z.string().nullable().default(null);

export const WebhookIntegrationRead = z
  .object({
    id: Id25,
    tenant_id: Id25,
    provider: z.enum(Integration.PROVIDERS),
    agent_id: Id25,
    label: z.string(),
    delivery_id_source: z.string().nullable(),
    replay_guard: z.enum(Integration.REPLAY_GUARDS),
    event_filter: z.array(z.string()),
    options: z.record(z.string(), z.unknown()),
    url: z.string(),
    secret_hint: z.string(),
    previous_secret_valid_until: z.string().nullable(),
    last_delivery_at: OptionalTime,
    last_delivery_on_previous_secret_at: OptionalTime,
    is_paused: z.boolean(),
    paused_reason: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'WebhookIntegrationRead' });

export const WebhookIntegrationSecret = WebhookIntegrationRead.extend({ secret: z.string() }).meta({ id: 'WebhookIntegrationSecret' });

/**
 * A delivery changes columns of its integration's row, but not the column `revision`, which is the revision of the
 * integration's own stream.
 */
export const table = {
  name: 'integrations',
  key: ['id'],
  stream: Integration.category,
  softDelete: 'disconnected',
  columns: {
    id: 'text',
    tenant_id: 'text',
    agent_id: 'text',
    provider: 'text',
    label: 'text',
    is_paused: 'boolean',
    disconnected: 'boolean',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    last_delivery_at: 'timestamptz',
  },
  docs: { doc: WebhookIntegrationRead },
  indexes: [{ columns: ['tenant_id', 'created_at', 'id'] }],
} as const satisfies Table;

export const integrationCounter = tenantCounter('integration', 'integrations');

const patchLastDelivery = (event: Recorded<Extract<DeliveryEvent, { data: Uint8Array }>>): Change => {
  const { integration_id, matched_secret } = factsOf(event);
  const onPrevious = matched_secret === 'previous' ? { last_delivery_on_previous_secret_at: event.at } : {};
  return patch('integrations', { id: integration_id }, { last_delivery_at: event.at, ...onPrevious });
};

/**
 * Webhook integrations without their secrets. The documents hold only the path of `url`, because the public URL of the
 * platform can change.
 */
export const integrations = {
  name: 'integrations',
  version: 2,
  categories: [Integration.category, 'delivery'],
  tables: [table, integrationCounter.table],
  on: {
    IntegrationConnected: (event) => {
      const { status: _, sealed_secret: __, sealed_previous_secret: ___, ...row } = Integration.evolve(Integration.initial, event);
      return [
        insert('integrations', { ...row, url: Integration.inboundPath(row.id), disconnected: false }),
        integrationCounter.add(row.tenant_id, 1),
      ];
    },
    IntegrationUpdated: ({ id, at, data }) => patch('integrations', { id }, { ...data, updated_at: at }),
    IntegrationSecretRotated: ({ id, at, data: { sealed_secret: _, ...fields } }) =>
      patch('integrations', { id }, { ...fields, updated_at: at }),
    IntegrationDisconnected: ({ id, at, meta }) => [
      patch('integrations', { id }, { disconnected: true, updated_at: at }),
      integrationCounter.add(meta.tenant, -1),
    ],
    WebhookAccepted: patchLastDelivery,
    WebhookBlocked: patchLastDelivery,
    WebhookRedeliveryDiffered: 'ignore',
  },
} as const satisfies Projection<Integration.IntegrationEvent | DeliveryEvent>;
