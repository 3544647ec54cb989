import { z } from 'zod';
import { type DeliveryEvent, factsOf } from '../../domain/deliveries/delivery.ts';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { PROVIDERS } from '../../domain/integrations/provider.ts';
import { omit } from '../../domain/omit.ts';
import { type Change, insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';

const OptionalTime = Timestamp.nullable().default(null);

/** WebhookIntegrationRead as it is stored: without those fields that can be derived from the provider. */
const StoredIntegration = z.object({
  id: idOf('webhook integration'),
  tenant_id: idOf('tenant'),
  provider: z.enum(PROVIDERS).meta({ description: 'The service that sends the deliveries' }),
  agent_id: idOf('agent', 'The agent that gets the deliveries'),
  label: z.string().meta({ description: 'What people see in lists', examples: ['My repository'] }),
  delivery_id_source: z
    .string()
    .nullable()
    .meta({ description: 'The header or field with the delivery id, for providers that have no fixed one' }),
  replay_guard: z
    .enum(Integration.REPLAY_GUARDS)
    .meta({ description: 'What happens to a known body with a new delivery id: `mark` it, `block` it, or nothing (`off`)' }),
  event_filter: z.array(z.string()).meta({ description: 'The provider events to accept; if empty, all', examples: [['push']] }),
  options: z.record(z.string(), z.unknown()).meta({ description: 'No provider has options yet', examples: [{}] }),
  url: z.string().meta({
    description: 'The URL to which the provider sends deliveries',
    examples: ['https://annals.example.com/hooks/inbound/cj8b7tfq7xkwo886vompzom75'],
  }),
  secret_hint: z.string().meta({ description: 'The last characters of the secret', examples: ['…4f9c'] }),
  previous_secret_valid_until: Timestamp.nullable().meta({
    description: 'Until when the previous secret is accepted; null if it is not',
    examples: [null],
  }),
  secret_rotated_at: OptionalTime.meta({
    description: 'When the secret was replaced the last time; null if it never was',
    examples: [null],
  }),
  last_delivery_at: OptionalTime.meta({ description: 'When the last delivery was received' }),
  last_delivery_on_previous_secret_at: OptionalTime.meta({
    description: 'When the last delivery was signed with the previous secret',
    examples: [null],
  }),
  is_paused: z.boolean().meta({ description: 'Whether deliveries are recorded as blocked' }),
  paused_reason: z.string().nullable().meta({ description: 'Why the integration is paused' }),
  created_at: Timestamp,
  updated_at: Timestamp,
});

export const WebhookIntegrationRead = StoredIntegration.extend({
  test_events: z.array(z.string()).meta({
    description: 'The events of which the platform has samples, which a test delivery can send',
    examples: [['ping', 'push']],
  }),
}).meta({ id: 'WebhookIntegrationRead' });

export const WebhookIntegrationSecret = WebhookIntegrationRead.extend({
  secret: z.string().meta({
    description: 'The secret with which the provider signs. Only this response contains it',
    examples: ['k3J8v0Qx2mZr7Ls5Yt9Wb4Nc6Pd1Hf8Gq3Ue0Ai7'],
  }),
}).meta({ id: 'WebhookIntegrationSecret' });

/**
 * A delivery changes columns of its integration's row, but not the column `revision`, which is that of the
 * integration's own stream.
 */
export const table = {
  name: 'integrations',
  key: ['id'],
  stream: Integration.category,
  softDelete: 'disconnected',
  search: ['label'],
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
    previous_secret_valid_until: 'timestamptz',
  },
  docs: { doc: StoredIntegration },
  indexes: [{ columns: ['tenant_id', 'created_at', 'id'] }],
} as const satisfies Table;

export const integrationCounter = tenantCounter('integration', 'integrations');

const patchLastDelivery = (event: Recorded<Extract<DeliveryEvent, { data: Uint8Array }>>): Change => {
  const { integration_id, matched_secret } = factsOf(event);
  const onPrevious = matched_secret === 'previous' ? { last_delivery_on_previous_secret_at: event.at } : {};
  return patch('integrations', { id: integration_id }, { last_delivery_at: event.at, ...onPrevious });
};

/**
 * Webhook integrations without their secrets. The documents contain only the path of `url`, because the public URL of
 * the platform can change.
 */
export const integrations = {
  name: 'integrations',
  version: 5,
  categories: [Integration.category, 'delivery'],
  tables: [table, integrationCounter.table],
  on: {
    IntegrationConnected: (event) => {
      const integration = Integration.evolve(Integration.initial, event);
      const row = omit(integration, 'status', 'sealed_secret', 'sealed_previous_secret', 'guardrails');
      return [
        insert('integrations', { ...row, url: Integration.inboundPath(row.id), disconnected: false }),
        integrationCounter.add(row.tenant_id, 1),
      ];
    },
    IntegrationUpdated: ({ id, at, data }) => patch('integrations', { id }, { ...data, updated_at: at }),
    IntegrationSecretRotated: ({ id, at, data: { sealed_secret: _, ...fields } }) =>
      patch('integrations', { id }, { ...fields, secret_rotated_at: at, updated_at: at }),
    IntegrationPreviousSecretDropped: ({ id, at }) => patch('integrations', { id }, { previous_secret_valid_until: null, updated_at: at }),
    IntegrationSecretResealed: ({ id, at }) => patch('integrations', { id }, { updated_at: at }),
    GuardrailsReplaced: ({ id, at }) => patch('integrations', { id }, { updated_at: at }),
    IntegrationDisconnected: ({ id, at, meta }) => [
      patch('integrations', { id }, { disconnected: true, updated_at: at }),
      integrationCounter.add(meta.tenant, -1),
    ],
    WebhookAccepted: patchLastDelivery,
    WebhookBlocked: patchLastDelivery,
    WebhookHeld: patchLastDelivery,
    SkillWebhookCalled: 'ignore',
    SkillWebhookBlocked: 'ignore',
    CronJobTriggered: 'ignore',
    BenchmarkRunTriggered: 'ignore',
    MailReceived: 'ignore',
    MailBlocked: 'ignore',
    SkillWebhookHeld: 'ignore',
    MailHeld: 'ignore',
    HeldDeliveryExpired: 'ignore',
    WebhookRedeliveryDiffered: 'ignore',
    DeliveryRequeued: 'ignore',
    DeliveryReleased: 'ignore',
  },
} as const satisfies Projection<Integration.IntegrationEvent | DeliveryEvent>;
