import type { Recorded } from '../event.ts';
import { conflict, notFound } from '../refusal.ts';

export const category = 'session';

export const SESSION_STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'expired'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

export const MESSAGE_ROLES = ['user', 'assistant', 'system', 'tool'] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];

/**
 * The kinds of messages. `waiting` means that the agent waits for an answer. All other messages have no kind (null).
 */
export const MESSAGE_KINDS = ['waiting'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number] | null;

/** What can cause a session. The costs of a session are counted for its cause. */
export const CAUSE_KINDS = ['webhook', 'skill', 'cron_job', 'benchmark', 'user', 'runner', 'unknown'] as const;
export type Cause = { cause_kind: (typeof CAUSE_KINDS)[number]; cause_id: string | null };

type StartedFields = {
  agent_id: string;
  title: string | null;
  /** The delivery that is processed in the session; null if there is none. */
  delivery_id: string | null;
  cron_occurrence_id: string | null;
  /**
   * The user for whom the session runs. Null if this is the user who started the session, or if it runs for no user.
   */
  user_id: string | null;
  expires_at: string;
  /** The revision of the agent when the session started. */
  agent_revision: number;
  /** The model chain of the agent when the session started. */
  model_ids: readonly string[];
  /**
   * The primary model when the session started, after unusable models were replaced by failover; null if there was
   * none.
   */
  model_id: string | null;
  /**
   * The position of the newest event of the agent and of its models when the session started, as a consistency token.
   */
  position: string;
};

type MessageFields = { message_id: string; role: MessageRole; kind: MessageKind; model_id: string | null };

/** How much a language model was used for one message. The cost is in micro-dollars. */
export type Usage = { model_id: string | null; prompt_tokens: number; completion_tokens: number; cost_micros: number };

/** What the end of a session contains. Both texts are encrypted. */
export type EndFields = { sealed_summary: string | null; sealed_error: string | null };

export type AttachmentFields = { attachment_id: string; filename: string; content_type: string; size_bytes: number; sha256: string };

/** Every event contains the id of the agent, so that the audit log finds all events of an agent's sessions. */
type OfAgent = { agent_id: string };

export type SessionEvent =
  /** Events from before causes were introduced contain no cause. */
  | { type: 'SessionStarted'; data: StartedFields & Partial<Cause> }
  | { type: 'MessageAppended'; data: OfAgent & MessageFields & { sealed_content: string } }
  | { type: 'UsageRecorded'; data: OfAgent & Usage & Partial<Cause> & { message_id: string } }
  | { type: 'SessionAttachmentAdded'; data: OfAgent & AttachmentFields }
  | { type: 'SessionCompleted'; data: OfAgent & EndFields }
  | { type: 'SessionFailed'; data: OfAgent & EndFields }
  | { type: 'SessionCancelled'; data: OfAgent & EndFields }
  | { type: 'SessionExpired'; data: OfAgent };

/** Maps each event type with which a caller ends a session to the status that the session then has. */
export const STATUS_OF_END = { SessionCompleted: 'completed', SessionFailed: 'failed', SessionCancelled: 'cancelled' } as const;
export type EndEvent = keyof typeof STATUS_OF_END;

/**
 * A message without its content. The content is not part of the state, because a session can have many long messages.
 */
export type Message = MessageFields & Omit<Usage, 'model_id'> & { created_at: string };
export type Attachment = AttachmentFields & { created_at: string };

export type Session = StartedFields &
  Cause &
  EndFields &
  Omit<Usage, 'model_id'> & {
    status: 'absent' | SessionStatus;
    id: string;
    tenant_id: string;
    /** The user who started the session; null if it was started by the runner of the agent. */
    created_by_id: string | null;
    /**
     * The usage that was recorded last determines `hour` (UTC, YYYY-MM-DDTHH). `cost_micros` is the cost of all usage
     * of the session that was recorded in this hour.
     */
    hour_usage: { readonly hour: string; readonly cost_micros: number };
    message_count: number;
    last_message: Message | null;
    last_attachment: Attachment | null;
    created_at: string;
    completed_at: string | null;
  };

export const initial: Session = {
  status: 'absent',
  id: '',
  tenant_id: '',
  agent_id: '',
  title: null,
  delivery_id: null,
  cron_occurrence_id: null,
  user_id: null,
  expires_at: '',
  agent_revision: -1,
  model_ids: [],
  model_id: null,
  position: '',
  sealed_summary: null,
  sealed_error: null,
  prompt_tokens: 0,
  completion_tokens: 0,
  cost_micros: 0,
  cause_kind: 'unknown',
  cause_id: null,
  hour_usage: { hour: '', cost_micros: 0 },
  created_by_id: null,
  message_count: 0,
  last_message: null,
  last_attachment: null,
  created_at: '',
  completed_at: null,
};

/**
 * A session can have many thousands of events. Therefore, some events contain a snapshot of the state (see
 * `Aggregate`), so that only the last events must be read.
 */
export const snapshots = { version: 2, interval: 32 };

const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, cost_micros: 0 };

/** Returns the status that a session has after a message of this kind. */
export const statusAfter = (kind: MessageKind): SessionStatus => (kind === 'waiting' ? 'waiting' : 'running');

const HOUR_LENGTH = 'YYYY-MM-DDTHH'.length;

/** Returns the cost of the session's messages in the hour (UTC) of the time `at`, in micro-dollars. */
export const costInHour = ({ hour_usage }: Session, at: string): number =>
  hour_usage.hour === at.slice(0, HOUR_LENGTH) ? hour_usage.cost_micros : 0;

const withUsage = (session: Session, { prompt_tokens, completion_tokens, cost_micros }: Usage, at: string): Session => ({
  ...session,
  hour_usage: { hour: at.slice(0, HOUR_LENGTH), cost_micros: costInHour(session, at) + cost_micros },
  prompt_tokens: session.prompt_tokens + prompt_tokens,
  completion_tokens: session.completion_tokens + completion_tokens,
  cost_micros: session.cost_micros + cost_micros,
  last_message: session.last_message && { ...session.last_message, prompt_tokens, completion_tokens, cost_micros },
});

export const evolve = (session: Session, { type, data, id, tenant, at, actor }: Recorded<SessionEvent>): Session => {
  switch (type) {
    case 'SessionStarted': {
      const created_by_id = actor.kind === 'user' ? actor.id : null;
      return { ...session, ...data, status: 'running', id, tenant_id: tenant, created_by_id, created_at: at };
    }
    case 'MessageAppended': {
      const { message_id, role, kind, model_id } = data;
      const last_message = { message_id, role, kind, model_id, ...NO_USAGE, created_at: at };
      return { ...session, status: statusAfter(kind), message_count: session.message_count + 1, last_message };
    }
    case 'UsageRecorded':
      return withUsage(session, data, at);
    case 'SessionAttachmentAdded': {
      const { agent_id: _, ...attachment } = data;
      return { ...session, last_attachment: { ...attachment, created_at: at } };
    }
    case 'SessionCompleted':
    case 'SessionFailed':
    case 'SessionCancelled': {
      const { sealed_summary, sealed_error } = data;
      return { ...session, status: STATUS_OF_END[type], sealed_summary, sealed_error, completed_at: at };
    }
    case 'SessionExpired':
      return { ...session, status: 'expired', completed_at: at };
  }
};

/**
 * Returns the user whom responses show for a session: the user for whom it runs or, if there is none, the user who
 * started it. Null if there is neither.
 */
export const userOf = ({ user_id, created_by_id }: Pick<Session, 'user_id' | 'created_by_id'>): string | null => user_id ?? created_by_id;

/** Checks that the session exists. @throws Refusal not_found */
export const assertExists = ({ status }: Session): void => {
  if (status === 'absent') throw notFound();
};

const isOpen = ({ status }: Session): boolean => status === 'running' || status === 'waiting';

/** Returns whether the session has ended for good, which means that its state never changes again. */
export const isFinal = (session: Session): boolean => session.status !== 'absent' && !isOpen(session);

/**
 * Checks that the session is running or waiting at the time `at` (RFC 3339 UTC).
 * @throws Refusal not_found if it does not exist, conflict if it has ended or expired
 */
export const assertOpen = (session: Session, at: string): void => {
  assertExists(session);
  const status = isFinal(session) ? session.status : at >= session.expires_at ? 'expired' : null;
  if (status)
    throw conflict('/path/session_id', 'session_ended', `The session has already ended, with the status ${status}`, {
      session_status: status,
    });
};

/** Starts a session. */
export const start = (data: StartedFields & Partial<Cause>) => (): SessionEvent[] => [{ type: 'SessionStarted', data }];

export type NewMessage = MessageFields & { readonly sealed_content: string };

/**
 * Appends a message and, if `usage` is given, how much the message used a language model.
 * @throws Refusal not_found if the session does not exist, conflict if it has ended
 */
export const appendMessage =
  (message: NewMessage, usage: Usage | null, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    const { agent_id, cause_kind, cause_id } = session;
    const { message_id } = message;
    const appended: SessionEvent = { type: 'MessageAppended', data: { agent_id, ...message } };
    return usage ? [appended, { type: 'UsageRecorded', data: { agent_id, message_id, ...usage, cause_kind, cause_id } }] : [appended];
  };

/** Ends the session. @throws Refusal not_found if the session does not exist, conflict if it has already ended */
export const end =
  (type: EndEvent, fields: EndFields, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    return [{ type, data: { agent_id: session.agent_id, ...fields } }];
  };

/** Records the expiry of the session if its time is over at the time `at`; otherwise does nothing. */
export const expire =
  (at: string) =>
  (session: Session): SessionEvent[] =>
    isOpen(session) && at >= session.expires_at ? [{ type: 'SessionExpired', data: { agent_id: session.agent_id } }] : [];

/** Adds a file to the session. @throws Refusal not_found if the session does not exist, conflict if it has ended */
export const addAttachment =
  (attachment: AttachmentFields, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    return [{ type: 'SessionAttachmentAdded', data: { agent_id: session.agent_id, ...attachment } }];
  };
