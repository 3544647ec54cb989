import { z } from 'zod';
import type { Recorded } from '../../domain/event.ts';
import { Id25 } from '../../domain/id.ts';
import type { AcknowledgementEvent, SettledDelivery } from '../../domain/runners/acknowledgement.ts';
import { type DeliveryEvent, factsOf } from '../../domain/webhooks/delivery.ts';
import { CHUNK_BYTES } from '../../domain/webhooks/delivery-body.ts';
import type { RejectionEvent } from '../../domain/webhooks/rejection.ts';
import { type Change, insert, type Projection, patch, type Row } from '../projection.ts';
import type { Table } from '../table.ts';

export const OUTCOMES = ['accepted', 'rejected', 'blocked', 'dead'] as const;

export const DeliveryRead = z
  .object({
    id: Id25,
    integration_id: Id25,
    agent_id: Id25,
    provider_delivery_id: z.string().nullable(),
    event: z.string().nullable(),
    outcome: z.enum(OUTCOMES),
    reason: z.string().nullable(),
    replay_suspect: z.boolean().default(false),
    size_bytes: z.int(),
    sha256: z.string().nullable(),
    matched_secret: z.enum(['current', 'previous']).nullable(),
    received_at: z.string(),
  })
  .meta({ id: 'DeliveryRead' });

const Guardrail = z.object({ rule: z.string(), verdict: z.enum(['pass', 'block', 'redact', 'label']), note: z.string().nullable() });
const Attempt = z.object({ at: z.string(), outcome: z.enum(['acknowledged', 'max_deliveries', 'terminated']), count: z.int() });
const Cause = z.object({ event_id: z.string(), type: z.string(), at: z.string() });

/** DeliveryDetail without the payload, because no read model stores payloads. */
export const DeliveryDetailRow = DeliveryRead.extend({
  provider: z.string().nullable(),
  content_type: z.string().nullable(),
  caller: z.object({ ip: z.string().nullable(), user_agent: z.string().nullable() }),
  guardrails: z.array(Guardrail),
  redactions: z.int(),
  published_at: z.string().nullable(),
  acknowledged_at: z.string().nullable(),
  attempts: z.array(Attempt),
  session_id: z.string().nullable(),
  causation: z.array(Cause),
});

export const DeliveryDetail = DeliveryDetailRow.extend({
  payload: z.unknown().meta({
    description: `The delivered JSON, or a string if the body is not JSON. Null if no body was stored, or if it has more than ${CHUNK_BYTES} bytes: \`/body\` returns such bodies`,
  }),
}).meta({ id: 'DeliveryDetail' });

export const table = {
  name: 'deliveries',
  key: ['tenant_id', 'id'],
  stream: 'delivery',
  columns: {
    tenant_id: 'text',
    id: 'text',
    integration_id: 'text',
    agent_id: 'text',
    outcome: 'text',
    sha256: 'text',
    received_at: 'timestamptz',
  },
  docs: { doc: DeliveryDetailRow, list_doc: DeliveryRead },
  indexes: [
    { columns: ['tenant_id', 'integration_id', 'received_at', 'id'] },
    { columns: ['tenant_id', 'integration_id', 'sha256', 'received_at', 'id'] },
  ],
} as const satisfies Table;

const UNPROCESSED = { redactions: 0, published_at: null, acknowledged_at: null, attempts: [], session_id: null };

type VerifiedEvent = Recorded<Extract<DeliveryEvent, { data: Uint8Array }>>;

const insertVerified = (event: VerifiedEvent, outcome: 'accepted' | 'blocked'): Change => {
  const { id, tenant, event_id, type, at, meta } = event;
  const { parts: _, ...facts } = factsOf(event);
  const row: Row = {
    ...UNPROCESSED,
    ...facts,
    id,
    tenant_id: tenant,
    outcome,
    caller: { ip: meta.ip ?? null, user_agent: meta.userAgent ?? null },
    causation: [{ event_id, type, at }],
  };
  return insert('deliveries', row);
};

const insertRejected = ({
  id,
  tenant,
  at,
  event_id,
  type,
  data,
}: Recorded<Extract<RejectionEvent, { type: 'WebhookRejected' }>>): Change => {
  const { delivery_id, ip, user_agent, ...rejection } = data;
  const row: Row = {
    ...UNPROCESSED,
    ...rejection,
    id: delivery_id,
    tenant_id: tenant,
    integration_id: id,
    outcome: 'rejected',
    provider: null,
    content_type: null,
    sha256: null,
    matched_secret: null,
    received_at: at,
    guardrails: [],
    caller: { ip, user_agent },
    causation: [{ event_id, type, at }],
  };
  return insert('deliveries', row);
};

const patchSettled = (
  tenant_id: string,
  { delivery_id, at, attempts }: SettledDelivery,
  outcome: z.output<typeof Attempt>['outcome'],
): Change =>
  patch(
    'deliveries',
    { tenant_id, id: delivery_id },
    {
      attempts: [{ at, outcome, count: attempts }],
      ...(outcome === 'acknowledged' ? { acknowledged_at: at } : { outcome: 'dead', reason: outcome }),
    },
  );

/**
 * Accepted, blocked and rejected webhook deliveries, and how far they were processed. The bodies are only in the log.
 */
export const deliveries = {
  name: 'deliveries',
  version: 1,
  categories: ['delivery', 'rejection', 'acknowledgement'],
  tables: [table],
  on: {
    WebhookAccepted: (event) => insertVerified(event, 'accepted'),
    WebhookBlocked: (event) => insertVerified(event, 'blocked'),
    WebhookRedeliveryDiffered: 'ignore',
    WebhookRejected: insertRejected,
    WebhookRejectionsCounted: 'ignore',
    DeliveriesAcknowledged: ({ tenant, data }) => data.deliveries.map((delivery) => patchSettled(tenant, delivery, 'acknowledged')),
    DeliveryDeadLettered: ({ tenant, data }) => patchSettled(tenant, data, data.reason),
  },
} as const satisfies Projection<DeliveryEvent | RejectionEvent | AcknowledgementEvent>;
