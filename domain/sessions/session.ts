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
  type Repeated,
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

/** A session remembers only this many messages that were sent again, so that of two processes only one sends them. */
const MAX_REPEATS = 100;

/** Messages can name only the files that were added last. */
export const MAX_NAMED_FILES = 20;

/** Without the content, which is not part of the state: a session can have many long messages. */
export type Message = MessageFields &
  Omit<Usage, 'model_id'> & {
    created_at: string;
    /** Null if the runner wrote the message. */
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
    /** Null if the runner of the agent started the session. */
    created_by_id: string | null;
    /** `hour` (UTC, YYYY-MM-DDTHH) of the usage that was recorded last; `cost_micros` of all usage recorded in it. */
    hour_usage: { readonly hour: string; readonly cost_micros: number };
    message_count: number;
    last_message: Message | null;
    /** The last message of the role `assistant`. */
    last_answer_id: string | null;
    last_attachment: Attachment | null;
    open_approvals: readonly OpenApproval[];
    /** The last MAX_NAMED_FILES files. Messages can name them. */
    files: readonly AttachmentFields[];
    /** The last event for the runner. */
    last_sent: string | null;
    /** The last message of each event whose message was sent again; only of the last MAX_REPEATS. */
    repeats: readonly { readonly event_id: string; readonly message_id: string }[];
    /** Identifies the last event with which a person has interrupted or cancelled the session. */
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
  repeats: [],
  stopped_position: null,
  is_interrupted: false,
  is_stopped: false,
  created_at: '',
  completed_at: null,
};

/** A session can have thousands of events. */
export const snapshots = { version: 7, interval: 32 };

const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, cost_micros: 0 };

export const statusAfter = (kind: MessageKind): SessionStatus => (kind === null ? 'running' : 'waiting');

const HOUR_LENGTH = 'YYYY-MM-DDTHH'.length;

/** Returns the recorded cost of the hour (UTC) of the time `at`, in micro-dollars. */
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

/** Null if the runner of the agent or the platform caused the event. */
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

const withRepeat = (session: Session, { repeats: event_id }: Repeated, message_id: string): Session => {
  const others = session.repeats.filter((each) => each.event_id !== event_id);
  return { ...session, repeats: [...others, { event_id, message_id }].slice(-MAX_REPEATS) };
};

/** Null if the event contains no message. */
export const messageIn = ({ type, data }: SessionEvent): (Written & { readonly sealed_content: string }) | null => {
  if (type === 'SessionAssigned') return data.message;
  return type === 'MessageAppended' || type === 'SessionMessageSent' ? data : null;
};

/** Whether the event is sent to the agent's runner. Events that the runner itself causes are not. */
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
    case 'SessionMessageRepeated':
      return withRepeat(session, data, event.event_id);
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

/** For responses: the user for whom it runs or, without one, who started it. */
export const userOf = ({ user_id, created_by_id }: Pick<Session, 'user_id' | 'created_by_id'>): string | null => user_id ?? created_by_id;

/** @throws Refusal not_found */
export const assertExists = ({ status }: Session): void => {
  if (status === 'absent') throw notFound();
};

export const isOpen = ({ status }: Session): boolean => status === 'running' || status === 'waiting';

/** Ended for good: its state never changes again. */
export const isFinal = (session: Session): boolean => session.status !== 'absent' && !isOpen(session);

/** Null if it has not ended at the time `at` (RFC 3339 UTC). */
export const endedAs = (session: Session, at: string): SessionStatus | null => {
  if (isFinal(session)) return session.status as SessionStatus;
  return at >= session.expires_at ? 'expired' : null;
};

/** @throws Refusal not_found, conflict if it has ended or expired at the time `at` (RFC 3339 UTC) */
export const assertOpen = (session: Session, at: string): void => {
  assertExists(session);
  const status = endedAs(session, at);
  if (!status) return;
  const detail = `The session has already ended, with the status ${status}: POST …/sessions/${session.id}/continue starts one that continues it`;
  throw conflict('/path/session_id', 'session_ended', detail, { session_status: status });
};

/** The runner itself starts the session. */
export const start = (data: StartedFields & Partial<Cause & Continued>) => (): SessionEvent[] => [{ type: 'SessionStarted', data }];

/** `attachment_ids`: files that were added to the session before. */
export type NewMessage = MessageFields & { readonly sealed_content: string; readonly attachment_ids: readonly string[] };

/** Replaces the ids of files by their fields. @throws Refusal invalid if a file is unknown */
export const writtenMessage = ({ files: known }: Session, { attachment_ids, ...message }: NewMessage): SentMessage => {
  const files = attachment_ids.map((id, index) => {
    const found = known.find(({ attachment_id }) => attachment_id === id);
    if (found) return found;
    throw invalid(`/attachment_ids/${index}`, `is not one of the last ${MAX_NAMED_FILES} files of the session`, 'unknown_attachment');
  });
  return { ...message, files };
};

/** `usage`: of a model for this message. @throws Refusal not_found, conflict if the session has ended, invalid if a file is unknown */
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

/** Cancels open approvals. @throws Refusal not_found, conflict if the session has already ended */
export const end =
  (type: EndEvent, fields: EndFields, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    const { agent_id, open_approvals } = session;
    return [...cancelApprovals(agent_id, open_approvals), { type, data: { agent_id, ...fields } }];
  };

export const sentFields = ({ title, last_sent }: Session): SentFields => ({ title, previous: last_sent });

/** @throws Refusal not_found if the session does not exist, conflict if it has ended */
export const addAttachment =
  (attachment: AttachmentFields, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    return [{ type: 'SessionAttachmentAdded', data: { agent_id: session.agent_id, ...attachment } }];
  };
