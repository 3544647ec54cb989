import type { Recorded } from '../../domain/event.ts';
import * as Session from '../../domain/sessions/session.ts';
import { add, type Change, insert, type Projection } from '../projection.ts';
import type { Table } from '../table.ts';

/**
 * The usage of language models for each day (UTC), agent, model, and cause of the sessions. The model and the cause are
 * empty if the event names none. Costs are in micro-dollars.
 */
export const dayTable = {
  name: 'days',
  key: ['tenant_id', 'day', 'agent_id', 'model_id', 'cause_kind', 'cause_id'],
  columns: { tenant_id: 'text', day: 'text', agent_id: 'text', model_id: 'text', cause_kind: 'text', cause_id: 'text' },
  counters: ['requests', 'prompt_tokens', 'completion_tokens', 'cost_micros'],
  countersOnly: true,
  docs: {},
} as const satisfies Table;

/** The usage of each message. It is needed for periods that start or end within a day. */
export const messageTable = {
  name: 'messages',
  key: ['tenant_id', 'id'],
  appendOnly: true,
  columns: {
    tenant_id: 'text',
    id: 'text',
    at: 'timestamptz',
    agent_id: 'text',
    model_id: 'text',
    cause_kind: 'text',
    cause_id: 'text',
    prompt_tokens: 'bigint',
    completion_tokens: 'bigint',
    cost_micros: 'bigint',
  },
  docs: {},
  indexes: [{ columns: ['tenant_id', 'at'] }],
} as const satisfies Table;

type Used = Recorded<Extract<Session.SessionEvent, { type: 'UsageRecorded' }>>;

const usageOf = ({ tenant, at, data }: Used): Change[] => {
  const { message_id, agent_id, prompt_tokens, completion_tokens, cost_micros, cause_kind = Session.initial.cause_kind } = data;
  const of = { tenant_id: tenant, agent_id, model_id: data.model_id ?? '', cause_kind, cause_id: data.cause_id ?? '' };
  const amounts = { prompt_tokens, completion_tokens, cost_micros };
  return [
    add(dayTable.name, { ...of, day: at.slice(0, 'YYYY-MM-DD'.length) }, { requests: 1, ...amounts }),
    insert(messageTable.name, { ...of, id: message_id, at, ...amounts }),
  ];
};

/**
 * The costs of the messages of sessions, as the events state them, which is by the prices at the time of the message.
 */
export const costs = {
  name: 'costs',
  version: 1,
  categories: [Session.category],
  tables: [dayTable, messageTable],
  on: {
    SessionStarted: 'ignore',
    SessionAssigned: 'ignore',
    MessageAppended: 'ignore',
    SessionMessageSent: 'ignore',
    SessionInterrupted: 'ignore',
    SessionMessageRepeated: 'ignore',
    UsageRecorded: usageOf,
    SessionAttachmentAdded: 'ignore',
    SessionCompleted: 'ignore',
    SessionFailed: 'ignore',
    SessionCancelled: 'ignore',
    SessionExpired: 'ignore',
    ApprovalRequested: 'ignore',
    ApprovalDecided: 'ignore',
    ApprovalExpired: 'ignore',
    ApprovalCancelled: 'ignore',
  },
} as const satisfies Projection<Session.SessionEvent>;
