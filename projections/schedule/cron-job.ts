import { z } from 'zod';
import { type Recorded, sortKey } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import type { AcknowledgementEvent, SettledDelivery } from '../../domain/runners/acknowledgement.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import type { SessionEvent } from '../../domain/sessions/session.ts';
import { type Change, insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';

const OptionalTime = Timestamp.nullable().default(null);

export const CronJobRead = z
  .object({
    id: idOf('cron job'),
    tenant_id: idOf('tenant'),
    agent_id: idOf('agent'),
    created_by_user_id: z
      .string()
      .nullable()
      .meta({ description: 'Who created it', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
    name: z.string().meta({ examples: ['Weekly report'] }),
    kind: z.enum(CronJob.JOB_KINDS).meta({ description: 'Whether the job fires once or repeatedly' }),
    fire_at: Timestamp.nullable().meta({ description: 'When a one-shot job fires', examples: [null] }),
    cron_expr: z
      .string()
      .nullable()
      .meta({ description: 'The cron expression of five fields', examples: ['0 9 * * MON'] }),
    interval_minutes: z
      .int()
      .nullable()
      .meta({ description: 'The minutes between two runs', examples: [null] }),
    schedule_type: z.enum(CronJob.SCHEDULE_TYPES).meta({ description: 'Whether the job fires every day at start_time' }),
    start_time: z
      .string()
      .nullable()
      .meta({ description: 'The time of day, or the time from which intervals count', examples: [null] }),
    timezone: z
      .string()
      .nullable()
      .meta({ description: 'The time zone of the schedule; null: UTC', examples: ['Europe/Berlin'] }),
    next_fire_at: OptionalTime.meta({ description: 'When the job is due next; null if it is not' }),
    method: z.enum(CronJob.METHODS).meta({ description: 'The method of requests to an external target' }),
    target_kind: z.enum(CronJob.TARGET_KINDS).meta({ description: 'What the job calls' }),
    target: z.string().meta({ description: 'The URL, or the id or slug of the agent', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    headers: z.record(z.string(), z.string()).meta({ description: 'The headers of requests; secret values are `***`', examples: [{}] }),
    body_bytes: z
      .string()
      .nullable()
      .meta({ description: 'The body of requests in base64', examples: [null] }),
    max_retries: z.int().meta({ description: 'How often a failed request is repeated', examples: [3] }),
    retry_backoff: z.string().meta({ description: 'How the time between attempts grows', examples: ['exponential'] }),
    status: z.enum(CronJob.JOB_STATUSES).meta({ description: 'A one-shot job is `completed` or `failed` after its run' }),
    last_fired_at: OptionalTime.meta({ description: 'When the job last fired' }),
    last_status_code: z.int().nullable().default(null).meta({ description: 'The status of the last answer of the target' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'CronJobRead' });

const AttemptRead = z.object({
  at: Timestamp.meta({ description: 'When the attempt ended' }),
  status_code: z
    .int()
    .nullable()
    .meta({ description: 'The status of the answer; null if there was none, or an agent was called', examples: [503] }),
  error: z
    .string()
    .nullable()
    .meta({ description: 'Why the attempt failed', examples: ['The target answered 503'] }),
  ms: z.int().meta({ description: 'How long it took, in milliseconds', examples: [120] }),
});

export const CronDecision = z
  .object({
    occurrence_id: z
      .string()
      .meta({ description: 'The id of the occurrence. Targets get it as Idempotency-Key', examples: ['9f86d081884c7d659a2feaa0c55ad015'] }),
    due_at: Timestamp.meta({ description: 'When the occurrence was due' }),
    created_at: Timestamp.meta({ description: 'When the decision was made' }),
    decision: z.enum(CronRun.DECISIONS).meta({ description: 'Whether the job fired' }),
    reason: z.enum(CronRun.SUPPRESSION_REASONS).nullable().default(null).meta({ description: 'Why it was suppressed' }),
    blackout_id: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'The blackout that suppressed it', examples: [null] }),
    attempts: z.array(AttemptRead).default([]).meta({ description: 'The attempts to reach the target, the oldest first' }),
    delivery_id: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'The delivery with which the agent was called; null if none was', examples: ['c9v2k1x4m7q0w3e6r5t8y1u2i'] }),
    session_id: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'The last session that was started to process the run', examples: ['cs6d2f9g1h4j7k0l3z8x5c2v1'] }),
  })
  .meta({ id: 'CronDecision' });

/** `schedule_revision` is the revision of the event that set the present schedule. */
export const table = {
  name: 'jobs',
  key: ['tenant_id', 'id'],
  stream: CronJob.category,
  softDelete: 'deleted',
  search: ['name'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    name: 'text',
    kind: 'text',
    target_kind: 'text',
    target: 'text',
    status: 'text',
    schedule_revision: 'integer',
    deleted: 'boolean',
    next_fire_at: 'timestamptz',
    last_fired_at: 'timestamptz',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  docs: { doc: CronJobRead },
  indexes: [{ columns: ['tenant_id', 'agent_id', 'created_at', 'id'] }, { columns: ['next_fire_at'], withoutNull: 'next_fire_at' }],
} as const satisfies Table;

/**
 * `decided` is the sort key of the log position of the decision. `is_open` is true until the run ends, and then null.
 * `next_attempt_at` is the time of the next attempt; while an attempt waits for its message to be answered, it is the
 * time at which this attempt fails. `settled_message` is the id of a message to the agent that was acknowledged or
 * given up (`settled_outcome`), until this is recorded as the end of an attempt.
 */
export const runTable = {
  name: 'runs',
  key: ['tenant_id', 'id'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    job_id: 'text',
    decision: 'text',
    reason: 'text',
    due_at: 'timestamptz',
    decided: 'text',
    schedule_revision: 'integer',
    next_fire_at: 'timestamptz',
    target_kind: 'text',
    is_open: 'boolean',
    next_attempt_at: 'timestamptz',
    settled_message: 'text',
    settled_outcome: 'text',
    settled_at: 'timestamptz',
    settled_published_at: 'timestamptz',
    created_at: 'timestamptz',
  },
  docs: { doc: CronDecision },
  indexes: [
    { columns: ['tenant_id', 'job_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'job_id', 'decided'] },
    { columns: ['tenant_id', 'job_id', 'due_at'] },
    { columns: ['tenant_id', 'job_id', 'decision', 'due_at'] },
    { columns: ['tenant_id', 'due_at', 'id'] },
    { columns: ['target_kind', 'next_attempt_at'], withoutNull: 'next_attempt_at' },
    { columns: ['settled_at'], withoutNull: 'settled_at' },
    { columns: ['job_id'], withoutNull: 'is_open' },
  ],
} as const satisfies Table;

export const cronJobCounter = tenantCounter('cron_job', 'cron_jobs');

type Decision = Recorded<Extract<CronRun.CronRunEvent, { type: 'CronFired' | 'CronSuppressed' | 'CronMissed' | 'CronOccurrenceSkipped' }>>;
type Attempted = Recorded<Extract<CronRun.CronRunEvent, { type: 'CronAttemptFailed' | 'CronSucceeded' | 'CronExhausted' }>>;

const insertRun = (event: Recorded<CronRun.CronRunEvent>, decision: (typeof CronRun.DECISIONS)[number], fields: object): Change =>
  insert('runs', {
    ...fields,
    tenant_id: event.tenant,
    id: event.id,
    occurrence_id: event.id,
    decision,
    decided: sortKey(event.position),
    created_at: event.at,
  });

/** Returns the row of a run that has fired. The run is open, and its target must be called at once. */
const openedRun = ({ at, data: { target_kind } }: Recorded<Extract<CronRun.CronRunEvent, { type: 'CronFired' | 'CronRunRequested' }>>) => ({
  target_kind,
  is_open: true,
  next_attempt_at: at,
});

/**
 * Returns the changes for a decision. They add the row of the run and, unless the schedule has changed since, set the
 * next due time of the job. A skipped occurrence sets it only if it is the one at which the job is next due; otherwise
 * there are earlier occurrences about which the scheduler has not decided yet.
 */
const decided = (event: Decision, decision: (typeof CronRun.DECISIONS)[number], why = {}): readonly Change[] => {
  const { job_id, due_at, job_status, schedule_revision, next_fire_at } = event.data;
  const opened = event.type === 'CronFired' ? openedRun(event) : {};
  const key = { tenant_id: event.tenant, id: job_id };
  const ended = job_status ? { status: job_status } : {};
  const planned = { next_fire_at, ...ended };
  const isNext = decision === 'skipped' ? { next_fire_at: due_at } : {};
  const fired = decision === 'fired' ? [patch('jobs', key, { last_fired_at: event.at })] : [];
  return [
    insertRun(event, decision, { job_id, due_at, schedule_revision, next_fire_at, ...opened, ...why }),
    patch('jobs', key, planned, { ifEqual: { schedule_revision, ...isNext } }),
    ...fired,
  ];
};

const NOT_SETTLED = { settled_message: null, settled_outcome: null, settled_at: null, settled_published_at: null };

/**
 * Returns the change that shows how a message of an open run has ended. If the message does not belong to a cron job,
 * returns no change.
 */
const settled = (
  tenant_id: string,
  { occurrence_id, event_id, at, published_at }: SettledDelivery,
  settled_outcome: string,
): readonly Change[] => {
  if (occurrence_id === undefined) return [];
  const fields = { settled_message: event_id, settled_outcome, settled_at: at, settled_published_at: published_at ?? null };
  return [patch('runs', { tenant_id, id: occurrence_id }, fields, { ifEqual: { is_open: true } })];
};

type SessionStarted = Extract<SessionEvent, { type: 'SessionStarted' }>;

/** Returns the change that shows the session which was started to process a run. */
const linkSession = ({ tenant: tenant_id, id, data: { cron_occurrence_id } }: Recorded<SessionStarted>): readonly Change[] =>
  cron_occurrence_id !== null && CronRun.isOccurrenceId(cron_occurrence_id)
    ? [patch('runs', { tenant_id, id: cron_occurrence_id }, { session_id: id })]
    : [];

const attempted = ({ tenant, id, event_id, at, type, data }: Attempted): readonly Change[] => {
  const { job_id, job_status, status_code, error, ms } = data;
  const next = type === 'CronAttemptFailed' ? { next_attempt_at: data.next_attempt_at } : { is_open: null, next_attempt_at: null };
  const attempt = { event_id, at, status_code, error, ms };
  return [
    patch('runs', { tenant_id: tenant, id }, { ...next, ...NOT_SETTLED }, { items: { attempts: [attempt] } }),
    patch('jobs', { tenant_id: tenant, id: job_id }, { last_status_code: status_code, ...(job_status && { status: job_status }) }),
  ];
};

/** A decision changes columns of the job's row, but not the column `revision`, which is that of the job's own stream. */
export const cronJobs = {
  name: 'cron_jobs',
  version: 7,
  categories: [CronJob.category, CronRun.category, 'acknowledgement', 'session'],
  tables: [table, runTable, cronJobCounter.table],
  on: {
    CronJobCreated: (event) => {
      const row = omit(CronJob.evolve(CronJob.initial, event), 'sealed_headers', 'scheduled_at', 'target_agent_id');
      return [insert('jobs', { ...row, deleted: false }), cronJobCounter.add(event.tenant, 1)];
    },
    CronJobUpdated: ({ tenant, id, at, revision, data }) => {
      const moved = 'next_fire_at' in data && { schedule_revision: revision };
      return patch('jobs', { tenant_id: tenant, id }, { ...omit(data, 'sealed_headers', 'target_agent_id'), updated_at: at, ...moved });
    },
    CronJobHeadersResealed: ({ tenant, id, at }) => patch('jobs', { tenant_id: tenant, id }, { updated_at: at }),
    CronJobPaused: ({ tenant, id, at, revision }) =>
      patch('jobs', { tenant_id: tenant, id }, { status: 'paused', next_fire_at: null, schedule_revision: revision, updated_at: at }),
    CronJobResumed: ({ tenant, id, at, revision, data }) =>
      patch('jobs', { tenant_id: tenant, id }, { ...data, status: 'active', schedule_revision: revision, updated_at: at }),
    CronJobDeleted: ({ tenant, id, at, revision }) => [
      patch(
        'jobs',
        { tenant_id: tenant, id },
        { status: 'archived', deleted: true, next_fire_at: null, schedule_revision: revision, updated_at: at },
      ),
      cronJobCounter.add(tenant, -1),
    ],
    CronFired: (event) => decided(event, 'fired'),
    CronSuppressed: (event) => decided(event, 'suppressed', { reason: event.data.reason, blackout_id: event.data.blackout_id }),
    CronMissed: (event) => decided(event, 'missed'),
    CronOccurrenceSkipped: (event) => decided(event, 'skipped'),
    CronRunRequested: (event) => [
      insertRun(event, 'fired', { job_id: event.data.job_id, due_at: event.data.due_at, ...openedRun(event) }),
      patch('jobs', { tenant_id: event.tenant, id: event.data.job_id }, { last_fired_at: event.at }),
    ],
    CronMessageSent: ({ tenant, id, data: { delivery_id, expires_at } }) =>
      patch('runs', { tenant_id: tenant, id }, { delivery_id, next_attempt_at: expires_at }),
    CronAttemptFailed: attempted,
    CronSucceeded: attempted,
    CronExhausted: attempted,
    DeliveriesAcknowledged: ({ tenant, data }) => data.deliveries.flatMap((delivery) => settled(tenant, delivery, 'acknowledged')),
    DeliveryAttemptFailed: 'ignore',
    SessionMessagesSettled: 'ignore',
    DeliveryDeadLettered: ({ tenant, data }) => settled(tenant, data, data.reason),
    SessionStarted: linkSession,
  },
} as const satisfies Projection<CronJob.CronJobEvent | CronRun.CronRunEvent | AcknowledgementEvent | SessionStarted>;
