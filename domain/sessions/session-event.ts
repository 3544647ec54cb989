import type { ApprovalEvent } from './approval.ts';
import type { SentFields } from './sent-fields.ts';

export const SESSION_STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'expired'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

export const MESSAGE_ROLES = ['user', 'assistant', 'system', 'tool'] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];

/** `waiting`: the agent waits for an answer; `approval`: for the decision of a person. All other messages have no kind (null). */
export const MESSAGE_KINDS = ['waiting', 'approval'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number] | null;

/** The costs of a session are counted for its cause. */
export const CAUSE_KINDS = ['webhook', 'skill', 'cron_job', 'benchmark', 'user', 'runner', 'unknown'] as const;
export type Cause = { cause_kind: (typeof CAUSE_KINDS)[number]; cause_id: string | null };

export type StartedFields = {
  agent_id: string;
  title: string | null;
  /** The delivery that is processed in the session. */
  delivery_id: string | null;
  cron_occurrence_id: string | null;
  /** The user for whom the session runs; null if it is the user who started it, or if it runs for no user. */
  user_id: string | null;
  expires_at: string;
  /** At the start of the session. */
  agent_revision: number;
  /** At the start of the session. */
  model_ids: readonly string[];
  /** The primary model at the start of the session, after failover; null if there was none. */
  model_id: string | null;
  /** The newest event of the agent and its models at the start of the session, as a consistency token. */
  position: string;
};

export type MessageFields = { message_id: string; role: MessageRole; kind: MessageKind; model_id: string | null };

/** The ended session that this one continues. */
export type Continued = { continues_id: string | null };

/** The usage for one message. The cost is in micro-dollars. */
export type Usage = { model_id: string | null; prompt_tokens: number; completion_tokens: number; cost_micros: number };

export type EndFields = { sealed_summary: string | null; sealed_error: string | null };

export type AttachmentFields = { attachment_id: string; filename: string; content_type: string; size_bytes: number; sha256: string };

export type { SentFields };

/** A message from a person to the runner. The files were added to the session before. */
export type SentMessage = MessageFields & { sealed_content: string; files: readonly AttachmentFields[] };

/** The event, with this revision, whose message the broker has lost. The message is sent again, with the same CloudEvents id. */
export type Repeated = { repeats: string; revision: number };

/** Lets the audit log find all events of an agent's sessions. */
type OfAgent = { agent_id: string };

export type SessionEvent =
  /** Events that were stored before these fields existed lack the cause or `continues_id`. */
  | { type: 'SessionStarted'; data: StartedFields & Partial<Cause & Continued> }
  /** A person starts the session; the runner gets this event. `message` is the first message, if any. */
  | { type: 'SessionAssigned'; data: OfAgent & SentFields & Continued & { message: SentMessage | null } }
  /** `files` is absent if the message names none. */
  | { type: 'MessageAppended'; data: OfAgent & MessageFields & { sealed_content: string; files?: readonly AttachmentFields[] } }
  | { type: 'SessionMessageSent'; data: OfAgent & SentFields & SentMessage }
  /** A person asks the runner to stop its work and keep the session. */
  | { type: 'SessionInterrupted'; data: OfAgent & SentFields }
  | { type: 'SessionMessageRepeated'; data: OfAgent & Repeated }
  | { type: 'UsageRecorded'; data: OfAgent & Usage & Partial<Cause> & { message_id: string } }
  | { type: 'SessionAttachmentAdded'; data: OfAgent & AttachmentFields }
  | { type: 'SessionCompleted'; data: OfAgent & EndFields }
  | { type: 'SessionFailed'; data: OfAgent & EndFields }
  /** Sent to the runner only if a person has cancelled the session. */
  | { type: 'SessionCancelled'; data: OfAgent & EndFields & Partial<SentFields> }
  | { type: 'SessionExpired'; data: OfAgent }
  | ApprovalEvent;

/** By the type of the event that ends the session. */
export const STATUS_OF_END = { SessionCompleted: 'completed', SessionFailed: 'failed', SessionCancelled: 'cancelled' } as const;
export type EndEvent = keyof typeof STATUS_OF_END;
