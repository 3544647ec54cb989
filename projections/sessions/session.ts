import { z } from 'zod';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import { category as ACKNOWLEDGEMENT, type AcknowledgementEvent } from '../../domain/runners/acknowledgement.ts';
import * as Session from '../../domain/sessions/session.ts';
import { add, type Change, insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';
import { approvalTable, onApproval } from './approval.ts';
import { AttachmentRead, SessionMessageRead } from './session-message.ts';
import { repeatedMessage, unsettledMessage, unsettledRemoved, unsettledTable } from './unsettled-message.ts';

const fields = {
  id: idOf('session'),
  tenant_id: idOf('tenant'),
  agent_id: idOf('agent'),
  status: z.enum(Session.SESSION_STATUSES).meta({
    description:
      '`running` from the start; `waiting` after a message of the kind `waiting` or `approval`, until the next message or decision. The others are final. `pending` is not used',
  }),
  title: z
    .string()
    .nullable()
    .meta({ description: 'What the session is about', examples: ['Review of pull request 42'] }),
  created_by_id: idOf('user').nullable().meta({ description: 'The user who started the session; null if the runner of the agent did' }),
  message_count: z.int().meta({ description: 'The number of messages', examples: [12] }),
  created_at: Timestamp,
  started_at: Timestamp.meta({ description: 'When the session started' }),
  completed_at: Timestamp.nullable().meta({ description: 'When the session ended; null if it has not ended', examples: [null] }),
};

/** Fields of a session that the lists for auditors leave out. */
const furtherFields = {
  user_id: idOf('user')
    .nullable()
    .meta({ description: 'The user for whom the session runs; null if it is the one who started it, or nobody' }),
  agent_revision: z.int().meta({ description: 'The revision of the agent when the session started', examples: [3] }),
  model_id: idOf('model').nullable().meta({ description: 'The primary model when the session started; null if the agent had none' }),
  model_ids: z.array(idOf('model')).meta({ description: 'The model chain of the agent when the session started' }),
  delivery_id: idOf('delivery').nullable().meta({ description: 'The delivery that the session processes' }),
  cron_occurrence_id: z
    .string()
    .nullable()
    .meta({ description: 'The occurrence of a cron job that the session processes', examples: [null] }),
  continues_id: idOf('session').nullable().meta({ description: 'The session that this one continues, which has ended' }),
  position: z.string().meta({
    description: 'The consistency token of the newest event of the agent and its models when the session started',
    examples: ['1024:1024'],
  }),
  expires_at: Timestamp.meta({ description: 'When the session expires if it has not ended before' }),
};

/** The names of the agent and the user. They are not in the rows, because responses show the present names. */
const names = {
  agent_name: z
    .string()
    .nullable()
    .meta({ description: 'The name of the agent', examples: ['Reviewer'] }),
  user_email: z
    .string()
    .nullable()
    .meta({ description: 'The e-mail address of the user for whom the session runs', examples: ['ada@example.com'] }),
  user_name: z
    .string()
    .nullable()
    .meta({ description: 'The name of this user', examples: ['Ada Lovelace'] }),
};

const ending = (what: string, example: string) =>
  z
    .string()
    .nullable()
    .meta({ description: what, examples: [example] })
    .optional();

export const AuditSessionListItem = z
  .object({ ...fields, ...names, started_at: Timestamp.nullable().meta({ description: 'When the session started' }) })
  .meta({ id: 'AuditSessionListItem' });

export const TaskSessionRead = z
  .object({
    ...fields,
    ...furtherFields,
    ...names,
    summary: ending('What the session has achieved. Lists leave it out', 'The pull request was approved'),
    error: ending('Why the session failed. Lists leave it out', 'The model refused the request'),
  })
  .meta({ id: 'TaskSessionRead' });

const Total = z.int();

export const AuditSessionDetailResponse = z
  .object({
    session: TaskSessionRead.meta({ description: 'The session' }),
    messages: z.array(SessionMessageRead).meta({ description: 'The messages, the oldest first' }),
    attachments: z.array(AttachmentRead).meta({ description: 'The files that were added between these messages' }),
    total_tokens: Total.meta({ description: 'The tokens of all messages of the session', examples: [1540] }),
    completion_tokens: Total.meta({ description: 'The tokens that models returned', examples: [340] }),
    prompt_tokens: Total.meta({ description: 'The tokens that were sent to models', examples: [1200] }),
    total_cost_cents: Total.meta({ description: 'The cost of the session in US cents, rounded', examples: [2] }),
    user_email: names.user_email,
    user_name: names.user_name,
    stopped_position: z
      .string()
      .nullable()
      .meta({
        description:
          'The position of the last interruption or cancellation by a person, as in the header `Annals-Position` of its message; null if there is none',
        examples: [null],
      }),
  })
  .meta({ id: 'AuditSessionDetailResponse' });

/** What the messages of a session have used, and when the last one was written. */
const usage = {
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  cost_micros: z.int(),
  last_message_at: z.string().nullable(),
};

const SessionRow = z.object({ ...fields, ...furtherFields, ...usage });
export type SessionDoc = z.output<typeof SessionRow>;

/**
 * `shown_user_id` is the user whom lists show for the session. `until` is the time at which the session expires; null
 * after it has ended.
 */
export const table = {
  name: 'sessions',
  key: ['tenant_id', 'id'],
  stream: Session.category,
  search: ['title'],
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    title: 'text',
    shown_user_id: 'text',
    status: 'text',
    created_at: 'timestamptz',
    delivery_id: 'text',
    until: 'timestamptz',
  },
  counters: ['message_count', 'prompt_tokens', 'completion_tokens', 'cost_micros'],
  docs: { doc: SessionRow },
  indexes: [
    { columns: ['tenant_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'agent_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'agent_id', 'status', 'created_at', 'id'] },
    { columns: ['tenant_id', 'shown_user_id', 'created_at', 'id'], withoutNull: 'shown_user_id' },
    { columns: ['tenant_id', 'status', 'created_at', 'id'] },
    { columns: ['tenant_id', 'delivery_id'], withoutNull: 'delivery_id' },
    { columns: ['until', 'id'], withoutNull: 'until' },
  ],
} as const satisfies Table;

/** The files of sessions. The same content can be attached several times. */
export const attachmentTable = {
  name: 'attachments',
  key: ['tenant_id', 'id'],
  appendOnly: true,
  search: ['filename'],
  columns: { tenant_id: 'text', id: 'text', sha256: 'text', agent_id: 'text', filename: 'text', content_type: 'text' },
  docs: { doc: z.object({ filename: z.string(), content_type: z.string() }) },
  indexes: [{ columns: ['tenant_id', 'sha256', 'agent_id'] }],
} as const satisfies Table;

/** The messages of persons that a runner has acknowledged, or that the broker has given up, by their event. */
export const settledTable = {
  name: 'settled_messages',
  key: ['tenant_id', 'event_id'],
  columns: { tenant_id: 'text', event_id: 'text', agent_id: 'text', session_id: 'text', outcome: 'text' },
  docs: {},
} as const satisfies Table;

export const sessionCounter = tenantCounter('session', 'sessions');

type Started = Recorded<Extract<Session.SessionEvent, { type: 'SessionStarted' }>>;

const inserted = (event: Started): Change => {
  const { id, tenant, at, data } = event;
  const { created_by_id } = Session.evolve(Session.initial, event);
  const shown = omit(data, 'cause_kind', 'cause_id');
  const { expires_at, user_id, continues_id = null } = shown;
  return insert('sessions', {
    ...shown,
    continues_id,
    id,
    tenant_id: tenant,
    status: 'running',
    created_by_id,
    shown_user_id: user_id ?? created_by_id,
    until: expires_at,
    created_at: at,
    started_at: at,
    completed_at: null,
    last_message_at: null,
  });
};

const messageAdded = ({ tenant, id, at }: Recorded, { kind }: Pick<Session.MessageFields, 'kind'>): Change[] => [
  add('sessions', { tenant_id: tenant, id }, { message_count: 1 }),
  patch('sessions', { tenant_id: tenant, id }, { status: Session.statusAfter(kind), last_message_at: at }),
];

const ended =
  (status: Session.SessionStatus) =>
  ({ tenant, id, at }: { tenant: string; id: string; at: string }): Change =>
    patch('sessions', { tenant_id: tenant, id }, { status, until: null, completed_at: at });

/** Sessions without their messages, which only the log contains. */
export const sessions = {
  name: 'sessions',
  version: 8,
  categories: [Session.category, ACKNOWLEDGEMENT],
  tables: [table, attachmentTable, approvalTable, settledTable, unsettledTable, sessionCounter.table],
  on: {
    SessionStarted: (event) => [inserted(event), sessionCounter.add(event.tenant, 1)],
    SessionAssigned: (event) => [...(event.data.message ? messageAdded(event, event.data.message) : []), unsettledMessage(event)],
    MessageAppended: (event) => messageAdded(event, event.data),
    SessionMessageSent: (event) => [...messageAdded(event, event.data), unsettledMessage(event)],
    SessionInterrupted: unsettledMessage,
    SessionMessageRepeated: repeatedMessage,
    UsageRecorded: ({ tenant, id, data: { prompt_tokens, completion_tokens, cost_micros } }) =>
      add('sessions', { tenant_id: tenant, id }, { prompt_tokens, completion_tokens, cost_micros }),
    SessionAttachmentAdded: ({ tenant, data: { attachment_id, sha256, agent_id, filename, content_type } }) =>
      insert('attachments', { tenant_id: tenant, id: attachment_id, sha256, agent_id, filename, content_type }),
    SessionCompleted: ended('completed'),
    SessionFailed: ended('failed'),
    SessionCancelled: (event) => [ended('cancelled')(event), ...(Session.isSent(event) ? [unsettledMessage(event)] : [])],
    SessionExpired: ended('expired'),
    ...onApproval,
    ApprovalDecided: (event) => [...onApproval.ApprovalDecided(event), unsettledMessage(event)],
    ApprovalExpired: (event) => [...onApproval.ApprovalExpired(event), unsettledMessage(event)],
    DeliveriesAcknowledged: 'ignore',
    DeliveryAttemptFailed: 'ignore',
    DeliveryDeadLettered: 'ignore',
    SessionMessagesSettled: ({ tenant, id: agent_id, data }) =>
      data.messages.flatMap(({ session_id, event_id, outcome }) => [
        insert('settled_messages', { tenant_id: tenant, event_id, agent_id, session_id, outcome }),
        unsettledRemoved(tenant, event_id),
      ]),
  },
} as const satisfies Projection<Session.SessionEvent | AcknowledgementEvent>;
