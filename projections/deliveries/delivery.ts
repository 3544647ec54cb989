import { z } from 'zod';
import type { DeliveryEvent } from '../../domain/deliveries/delivery.ts';
import type { RejectionEvent } from '../../domain/deliveries/rejection.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import type { AcknowledgementEvent } from '../../domain/runners/acknowledgement.ts';
import type { AttemptReportEvent } from '../../domain/runners/attempt-report.ts';
import type { PublicationEvent } from '../../domain/runners/publication.ts';
import { type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';
import { Caller } from './caller.ts';
import { Attempt, StoredAttempt, StoredFailure } from './delivery-attempts.ts';
import { Expired, Guardrail, Held, Preview, ReasonNote, Released, Stopped } from './delivery-fields.ts';
import { insertRejected, insertVerified } from './delivery-inserts.ts';
import { patchExpired, patchReleased, patchRequeued, patchSession, type SessionStarted } from './delivery-messages.ts';
import { Redeliveries, storedRedeliveries } from './delivery-redeliveries.ts';
import { LastFailure, StoredReport, storedLastReport } from './delivery-reports.ts';
import { patchFailed, patchReported, patchSettled } from './delivery-settlement.ts';
import { shownFields } from './delivery-shown.ts';
import { STATUS_DESCRIPTION, STATUSES } from './delivery-states.ts';
import { Origin, ShownStep, Step } from './delivery-steps.ts';
import { insertPublication, publicationTable } from './publication.ts';

export const OUTCOMES = ['accepted', 'rejected', 'blocked', 'dead'] as const;
export const MATCHED_SECRETS = ['current', 'previous'] as const;

const Delivery = z.object({
  id: idOf('delivery'),
  integration_id: idOf(
    'webhook integration',
    'The id of the webhook integration, of the skill whose webhook was called, of the cron job, or of the benchmark',
  ),
  agent_id: idOf('agent'),
  provider: z
    .string()
    .nullable()
    .meta({ description: 'The provider; null if it was rejected', examples: ['github'] }),
  provider_delivery_id: z
    .string()
    .nullable()
    .meta({ description: "The provider's id of the delivery", examples: ['72d3162e-cc78-11e3-81ab-4c9367dc0958'] }),
  event: z
    .string()
    .nullable()
    .meta({ description: "The provider's name of the event", examples: ['push'] }),
  outcome: z.enum(OUTCOMES).meta({
    description:
      '`accepted`: sent to the agent, or held until this is allowed; `blocked`: recorded only; `rejected`: not verified, without its body; `dead`: given up',
  }),
  reason: z.string().nullable().meta({ description: 'Why the delivery was blocked, rejected or given up' }),
  reason_note: ReasonNote,
  rule: z
    .string()
    .nullable()
    .default(null)
    .meta({ description: 'The rule or check that has blocked the delivery; null if none has', examples: ['no-bots'] }),
  problem: z
    .string()
    .nullable()
    .default(null)
    .meta({
      description:
        'Identifies why the last failed attempt that a runner has reported failed: it is the same for equal codes and reasons, apart from numbers and ids in these. Null without a report',
      examples: ['b1946ac92492d234'],
    }),
  replay_suspect: z.boolean().default(false).meta({ description: 'Whether the body arrived before under another delivery id' }),
  size_bytes: z.int().meta({ description: 'The size of the body in bytes', examples: [7324] }),
  sha256: z
    .string()
    .nullable()
    .meta({
      description: 'The SHA-256 of the body in hex',
      examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
    }),
  matched_secret: z.enum(MATCHED_SECRETS).nullable().meta({ description: 'Which secret the signature matched; null if none' }),
  received_at: Timestamp.meta({ description: 'When the delivery was received' }),
  status: z.enum(STATUSES).nullable().meta({ description: STATUS_DESCRIPTION }),
  held: Held.nullable()
    .default(null)
    .meta({ description: 'Why the delivery waits, if its status is `held`; otherwise null', examples: [null] }),
  published_at: Timestamp.nullable().meta({
    description: 'When the last message to the runner was published; until it is settled, up to a few seconds later than it was',
  }),
  acknowledged_at: Timestamp.nullable().meta({ description: 'When the runner had processed the last message' }),
  redeliveries: Redeliveries.default({ count: 0, last_at: null, differed: false }).meta({
    description: 'How often the delivery was sent to a runner again, and whether the provider has repeated it with another body',
  }),
  last_failure: LastFailure.nullable().default(null).meta({
    description: 'The last failed attempt that a runner has reported, even if a later attempt succeeded; null without a report',
  }),
});

export const DeliveryRead = Delivery.extend({ preview: Preview, ...shownFields }).meta({ id: 'DeliveryRead' });

/** DeliveryDetail without the payload, because no read model stores payloads. */
export const DeliveryDetailRow = Delivery.extend({
  content_type: z
    .string()
    .nullable()
    .meta({ description: 'The content type that the provider sent', examples: ['application/json'] }),
  caller: Caller.meta({ description: 'Who sent the delivery' }),
  guardrails: z.array(Guardrail).meta({ description: 'The checks of the delivery' }),
  redactions: z.int().meta({ description: 'How many parts of the payload were redacted' }),
  released: Released.nullable()
    .default(null)
    .meta({ description: 'The release to an agent; null if the delivery was neither blocked nor held, or has not been released' }),
  expired: Expired.nullable()
    .default(null)
    .meta({ description: 'That the delivery was given up because it was held too long; otherwise null', examples: [null] }),
  attempts: z
    .array(Attempt)
    .meta({ description: 'The attempts to hand the messages to runners: those of the first message, then those of each redelivery' }),
  session_id: z
    .string()
    .nullable()
    .meta({ description: 'The last session that was started to process the delivery', examples: ['cs6d2f9g1h4j7k0l3z8x5c2v1'] }),
  cause: Origin.nullable()
    .default(null)
    .meta({ description: 'The delivery that led to this one, as its header or a line of its body says; null if none is named' }),
  causation: z
    .array(ShownStep)
    .meta({ description: 'What happened: the delivery itself, then its redeliveries and the starts of its sessions' }),
});

/**
 * `failures` are the failed attempts, and `reports` why they failed. In a stored row, `attempts` are only those attempts
 * that ended a message. `stopped` is why the delivery was blocked or held at its receipt.
 */
const StoredDetail = DeliveryDetailRow.omit({ expired: true }).extend({
  released: Released.omit({ from: true }).nullable().default(null),
  expired_at: Timestamp.nullable().default(null),
  stopped: Stopped.nullable().default(null),
  causation: z.array(Step),
  attempts: z.array(StoredAttempt).default([]),
  place: z.string().nullable(),
  failures: z.array(StoredFailure).default([]),
  reports: z.array(StoredReport).default([]),
  ...storedLastReport,
  ...storedRedeliveries,
});

/**
 * A delivery in a list. `place` is the sort key of the position of the event that started the delivery's last message;
 * null if there is no message. From `place`, queries find out whether the message is published.
 */
export const DeliveryListRow = Delivery.extend({ place: z.string().nullable(), ...storedLastReport, ...storedRedeliveries });

export const table = {
  name: 'deliveries',
  key: ['tenant_id', 'id'],
  stream: 'delivery',
  columns: {
    tenant_id: 'text',
    id: 'text',
    integration_id: 'text',
    agent_id: 'text',
    provider: 'text',
    event: 'text',
    outcome: 'text',
    sha256: 'text',
    received_at: 'timestamptz',
    reason: 'text',
    provider_delivery_id: 'text',
    matched_secret: 'text',
    status: 'text',
    place: 'text',
    message_id: 'text',
    // The agent to whose runners the last message was sent.
    message_agent_id: 'text',
    // The same as `place` while the newest message of the delivery is neither acknowledged nor given up; then null.
    // There is an index on it, to find the open deliveries.
    unsettled: 'text',
    // When the last message failed at a runner or was given up; null if it did not, or is acknowledged.
    failed_at: 'timestamptz',
    // When the delivery was received; null unless it is held.
    held_at: 'timestamptz',
    // Why a rule holds the delivery, and when it can continue at the earliest; null unless it is held.
    held_reason: 'text',
    held_rule: 'text',
    held_note: 'text',
    held_until: 'timestamptz',
    // When the broker delivers the last message again after a failed attempt; null if it has not failed.
    retry_at: 'timestamptz',
    // The rule or check that has blocked the delivery.
    rule: 'text',
    // Identifies why the last reported attempt failed.
    problem: 'text',
  },
  docs: { doc: StoredDetail, list_doc: DeliveryListRow },
  indexes: [
    { columns: ['tenant_id', 'received_at', 'id'] },
    { columns: ['tenant_id', 'agent_id', 'received_at', 'id'] },
    { columns: ['tenant_id', 'provider', 'received_at', 'id'], withoutNull: 'provider' },
    { columns: ['tenant_id', 'event', 'received_at', 'id'], withoutNull: 'event' },
    { columns: ['tenant_id', 'outcome', 'received_at', 'id'] },
    { columns: ['tenant_id', 'provider_delivery_id', 'received_at', 'id'], withoutNull: 'provider_delivery_id' },
    { columns: ['tenant_id', 'unsettled'], withoutNull: 'unsettled' },
    { columns: ['tenant_id', 'received_at', 'id'], withoutNull: 'failed_at' },
    { columns: ['tenant_id', 'outcome', 'failed_at'], withoutNull: 'failed_at' },
    { columns: ['tenant_id', 'integration_id', 'received_at', 'id'] },
    { columns: ['tenant_id', 'integration_id', 'sha256', 'received_at', 'id'] },
    { columns: ['unsettled', 'id'], withoutNull: 'unsettled' },
    { columns: ['tenant_id', 'integration_id', 'held_at', 'id'], withoutNull: 'held_at' },
  ],
} as const satisfies Table;

/** Accepted, blocked and rejected deliveries, and how far they are processed. Their bodies are only in the log. */
export const deliveries = {
  name: 'deliveries',
  version: 17,
  categories: ['delivery', 'rejection', 'acknowledgement', 'attemptreport', 'publication', 'session'],
  tables: [table, publicationTable],
  on: {
    WebhookAccepted: (event) => insertVerified(event, 'accepted'),
    WebhookBlocked: (event) => insertVerified(event, 'blocked'),
    SkillWebhookCalled: (event) => insertVerified(event, 'accepted'),
    SkillWebhookBlocked: (event) => insertVerified(event, 'blocked'),
    CronJobTriggered: (event) => insertVerified(event, 'accepted'),
    BenchmarkRunTriggered: (event) => insertVerified(event, 'accepted'),
    MailReceived: (event) => insertVerified(event, 'accepted'),
    MailBlocked: (event) => insertVerified(event, 'blocked'),
    WebhookHeld: (event) => insertVerified(event, 'held'),
    SkillWebhookHeld: (event) => insertVerified(event, 'held'),
    MailHeld: (event) => insertVerified(event, 'held'),
    HeldDeliveryExpired: patchExpired,
    WebhookRedeliveryDiffered: ({ tenant: tenant_id, id }) => patch('deliveries', { tenant_id, id }, { differed: true }),
    DeliveryRequeued: patchRequeued,
    DeliveryReleased: patchReleased,
    WebhookRejected: insertRejected,
    WebhookRejectionsCounted: 'ignore',
    DeliveriesAcknowledged: ({ tenant, data }) => data.deliveries.map((delivery) => patchSettled(tenant, delivery, 'acknowledged')),
    DeliveryAttemptFailed: ({ tenant, data }) => data.failures.map((failure) => patchFailed(tenant, failure)),
    SessionMessagesSettled: 'ignore',
    DeliveryDeadLettered: ({ tenant, data }) => patchSettled(tenant, data, data.reason),
    DeliveryAttemptsReported: (event) => event.data.reports.map((report) => patchReported(event, report)),
    MessagesPublished: insertPublication,
    SessionStarted: patchSession,
  },
} as const satisfies Projection<
  DeliveryEvent | RejectionEvent | AcknowledgementEvent | AttemptReportEvent | PublicationEvent | SessionStarted
>;
