import { type Recorded, tokenOf } from '../event.ts';
import { conflict, invalid, notFound } from '../refusal.ts';
import { cancelApprovals, type OpenApproval, openApprovalsAfter } from './approval.ts';
import {
  type AttachmentFields,
  type Cause,
  type Continued,
  type EndEvent,
  type EndFields,
  type MessageFields,
  type MessageKind,
  type SentFields,
  type SentMessage,
  type SessionEvent,
  type SessionStatus,
  STATUS_OF_END,
  type StartedFields,
  type Usage,
} from './session-event.ts';

export * from './session-event.ts';

export const category = 'session';

/** Messages can name this many files of their session: those that were added last. */
export const MAX_NAMED_FILES = 20;

/** A message without its content, which is not part of the state: a session can have many long messages. */
export type Message = MessageFields &
  Omit<Usage, 'model_id'> & {
    created_at: string;
    /** The user who wrote the message; null if the runner did. */
    created_by_id: string | null;
    attachment_ids: readonly string[];
  };
export type Attachment = AttachmentFields & { created_at: string };

export type Session = StartedFields &
  Cause &
  Continued &
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
    /** The id of the last message of the role `assistant`; null if there is none. */
    last_answer_id: string | null;
    last_attachment: Attachment | null;
    open_approvals: readonly OpenApproval[];
    /** The files that were added last, at most MAX_NAMED_FILES. Messages can name them. */
    files: readonly AttachmentFields[];
    /** The id of the last event for the runner; null if there is none. */
    last_sent: string | null;
    /** The position of the last event with which a person has interrupted or cancelled the session; null if there is none. */
    stopped_position: string | null;
    /** Whether the last event, apart from those about files and usage, is an interruption. */
    is_interrupted: boolean;
    /** Whether no person has written or decided since the last interruption. The runner may not know of it yet. */
    is_stopped: boolean;
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
  continues_id: null,
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
  last_answer_id: null,
  last_attachment: null,
  open_approvals: [],
  files: [],
  last_sent: null,
  stopped_position: null,
  is_interrupted: false,
  is_stopped: false,
  created_at: '',
  completed_at: null,
};

/** A session can have thousands of events: with snapshots (see `Aggregate`), only the last ones must be read. */
export const snapshots = { version: 6, interval: 32 };

const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, cost_micros: 0 };

/** Returns the status that a session has after a message of this kind. */
export const statusAfter = (kind: MessageKind): SessionStatus => (kind === null ? 'running' : 'waiting');

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

/** Returns null if the runner of the agent or the platform caused the event. */
const userIn = ({ actor }: Pick<Recorded, 'actor'>): string | null => (actor.kind === 'user' ? actor.id : null);

type Written = MessageFields & { readonly files?: readonly AttachmentFields[] };

const withMessage = (session: Session, written: Written, event: Pick<Recorded, 'actor' | 'at'>): Session => {
  const { message_id, role, kind, model_id, files = [] } = written;
  const attachment_ids = files.map(({ attachment_id }) => attachment_id);
  const shared = { message_id, role, kind, model_id, ...NO_USAGE };
  const last_message = { ...shared, created_at: event.at, created_by_id: userIn(event), attachment_ids };
  const last_answer_id = role === 'assistant' ? message_id : session.last_answer_id;
  const message_count = session.message_count + 1;
  return { ...session, status: statusAfter(kind), message_count, last_message, last_answer_id, is_interrupted: false };
};

const withAttachment = (session: Session, { agent_id: _, ...file }: AttachmentFields & { agent_id: string }, at: string): Session => ({
  ...session,
  last_attachment: { ...file, created_at: at },
  files: [...session.files, file].slice(-MAX_NAMED_FILES),
});

/** Returns null if the event contains no message. */
export const messageIn = ({ type, data }: SessionEvent): (Written & { readonly sealed_content: string }) | null => {
  if (type === 'SessionAssigned') return data.message;
  return type === 'MessageAppended' || type === 'SessionMessageSent' ? data : null;
};

/** Returns whether an event is sent to the runner of the agent. Events that the runner itself causes are not. */
export const isSent = ({ type, data }: SessionEvent): boolean =>
  type === 'SessionAssigned' ||
  type === 'SessionMessageSent' ||
  type === 'SessionInterrupted' ||
  type === 'ApprovalDecided' ||
  type === 'ApprovalExpired' ||
  (type === 'SessionCancelled' && 'previous' in data);

const evolveFields = (session: Session, event: Recorded<SessionEvent>): Session => {
  const { type, data, id, tenant, at } = event;
  switch (type) {
    case 'SessionStarted':
      return { ...session, ...data, status: 'running', id, tenant_id: tenant, created_by_id: userIn(event), created_at: at };
    case 'SessionAssigned':
      return data.message ? withMessage(session, data.message, event) : session;
    case 'MessageAppended':
    case 'SessionMessageSent':
      return withMessage(session, data, event);
    case 'SessionInterrupted':
      return { ...session, is_interrupted: true };
    case 'UsageRecorded':
      return withUsage(session, data, at);
    case 'SessionAttachmentAdded':
      return withAttachment(session, data, at);
    case 'SessionCompleted':
    case 'SessionFailed':
    case 'SessionCancelled': {
      const { sealed_summary, sealed_error } = data;
      return { ...session, status: STATUS_OF_END[type], sealed_summary, sealed_error, completed_at: at };
    }
    case 'SessionExpired':
      return { ...session, status: 'expired', completed_at: at };
    case 'ApprovalRequested':
      return { ...session, open_approvals: openApprovalsAfter(session.open_approvals, event) };
    case 'ApprovalDecided':
    case 'ApprovalExpired':
    case 'ApprovalCancelled':
      return { ...session, status: 'running', open_approvals: openApprovalsAfter(session.open_approvals, event), is_interrupted: false };
  }
};

export const evolve = (session: Session, event: Recorded<SessionEvent>): Session => {
  const evolved = evolveFields(session, event);
  if (!isSent(event)) return evolved;
  const isStop = event.type === 'SessionInterrupted' || event.type === 'SessionCancelled';
  const stopped_position = isStop ? tokenOf(event.position) : session.stopped_position;
  // All other events for the runner are caused by a person.
  const is_stopped = isStop || (session.is_stopped && event.type === 'ApprovalExpired');
  return { ...evolved, last_sent: event.event_id, stopped_position, is_stopped };
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

export const isOpen = ({ status }: Session): boolean => status === 'running' || status === 'waiting';

/** Returns whether the session has ended for good, which means that its state never changes again. */
export const isFinal = (session: Session): boolean => session.status !== 'absent' && !isOpen(session);

/** Returns the status with which the session has ended at the time `at` (RFC 3339 UTC); null if it has not ended. */
export const endedAs = (session: Session, at: string): SessionStatus | null => {
  if (isFinal(session)) return session.status as SessionStatus;
  return at >= session.expires_at ? 'expired' : null;
};

/**
 * Checks that the session is running or waiting at the time `at` (RFC 3339 UTC).
 * @throws Refusal not_found if it does not exist, conflict if it has ended or expired
 */
export const assertOpen = (session: Session, at: string): void => {
  assertExists(session);
  const status = endedAs(session, at);
  if (!status) return;
  const detail = `The session has already ended, with the status ${status}: POST …/sessions/${session.id}/continue starts one that continues it`;
  throw conflict('/path/session_id', 'session_ended', detail, { session_status: status });
};

/** The runner itself starts the session. */
export const start = (data: StartedFields & Partial<Cause & Continued>) => (): SessionEvent[] => [{ type: 'SessionStarted', data }];

/** A message to append. `attachment_ids` are files that were added to the session before. */
export type NewMessage = MessageFields & { readonly sealed_content: string; readonly attachment_ids: readonly string[] };

/** Replaces the ids of a message's files by their fields. @throws Refusal invalid if a file is unknown */
export const writtenMessage = ({ files: known }: Session, { attachment_ids, ...message }: NewMessage): SentMessage => {
  const files = attachment_ids.map((id, index) => {
    const found = known.find(({ attachment_id }) => attachment_id === id);
    if (found) return found;
    throw invalid(`/attachment_ids/${index}`, `is not one of the last ${MAX_NAMED_FILES} files of the session`, 'unknown_attachment');
  });
  return { ...message, files };
};

/**
 * Appends a message and, if `usage` is given, the use of a language model for it.
 * @throws Refusal not_found if the session does not exist, conflict if it has ended, invalid if a file is unknown
 */
export const appendMessage =
  (message: NewMessage, usage: Usage | null, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    const { agent_id, cause_kind, cause_id } = session;
    const { message_id } = message;
    const { files, ...written } = writtenMessage(session, message);
    const named = files.length > 0 ? { files } : {};
    const appended: SessionEvent = { type: 'MessageAppended', data: { agent_id, ...written, ...named } };
    return usage ? [appended, { type: 'UsageRecorded', data: { agent_id, message_id, ...usage, cause_kind, cause_id } }] : [appended];
  };

/**
 * Ends the session, and cancels its open approvals.
 * @throws Refusal not_found if the session does not exist, conflict if it has already ended
 */
export const end =
  (type: EndEvent, fields: EndFields, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    const { agent_id, open_approvals } = session;
    return [...cancelApprovals(agent_id, open_approvals), { type, data: { agent_id, ...fields } }];
  };

export const sentFields = ({ title, last_sent }: Session): SentFields => ({ title, previous: last_sent });

/** Adds a file to the session. @throws Refusal not_found if the session does not exist, conflict if it has ended */
export const addAttachment =
  (attachment: AttachmentFields, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    return [{ type: 'SessionAttachmentAdded', data: { agent_id: session.agent_id, ...attachment } }];
  };
