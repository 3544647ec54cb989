import type { ApprovalEvent } from './approval.ts';
import type { SentFields } from './sent-fields.ts';

export const SESSION_STATUSES = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'expired'] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

export const MESSAGE_ROLES = ['user', 'assistant', 'system', 'tool'] as const;
export type MessageRole = (typeof MESSAGE_ROLES)[number];

/**
 * The kinds of messages. `waiting` means that the agent waits for an answer, and `approval` that it waits until a person
 * decides. All other messages have no kind (null).
 */
export const MESSAGE_KINDS = ['waiting', 'approval'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number] | null;

/** What can cause a session. The costs of a session are counted for its cause. */
export const CAUSE_KINDS = ['webhook', 'skill', 'cron_job', 'benchmark', 'user', 'runner', 'unknown'] as const;
export type Cause = { cause_kind: (typeof CAUSE_KINDS)[number]; cause_id: string | null };

export type StartedFields = {
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

export type MessageFields = { message_id: string; role: MessageRole; kind: MessageKind; model_id: string | null };

/** The session that a session continues, which has ended; null if there is none. */
export type Continued = { continues_id: string | null };

/** How much a language model was used for one message. The cost is in micro-dollars. */
export type Usage = { model_id: string | null; prompt_tokens: number; completion_tokens: number; cost_micros: number };

/** What the end of a session contains. Both texts are encrypted. */
export type EndFields = { sealed_summary: string | null; sealed_error: string | null };

export type AttachmentFields = { attachment_id: string; filename: string; content_type: string; size_bytes: number; sha256: string };

export type { SentFields };

/** A message that a person sends to the runner. The files were added to the session before. */
export type SentMessage = MessageFields & { sealed_content: string; files: readonly AttachmentFields[] };

/** Every event contains the id of the agent, so that the audit log finds all events of an agent's sessions. */
type OfAgent = { agent_id: string };

export type SessionEvent =
  /**
   * Events from before causes were introduced contain no cause, and those from before sessions could be continued no
   * `continues_id`.
   */
  | { type: 'SessionStarted'; data: StartedFields & Partial<Cause & Continued> }
  /** A person has started the session. Its runner is told so. `message` is the first message; null if there is none. */
  | { type: 'SessionAssigned'; data: OfAgent & SentFields & Continued & { message: SentMessage | null } }
  /** `files` is absent if the message names none. */
  | { type: 'MessageAppended'; data: OfAgent & MessageFields & { sealed_content: string; files?: readonly AttachmentFields[] } }
  | { type: 'SessionMessageSent'; data: OfAgent & SentFields & SentMessage }
  /** A person asks the runner to stop what it does, and to keep the session. */
  | { type: 'SessionInterrupted'; data: OfAgent & SentFields }
  | { type: 'UsageRecorded'; data: OfAgent & Usage & Partial<Cause> & { message_id: string } }
  | { type: 'SessionAttachmentAdded'; data: OfAgent & AttachmentFields }
  | { type: 'SessionCompleted'; data: OfAgent & EndFields }
  | { type: 'SessionFailed'; data: OfAgent & EndFields }
  /** Only if a person has cancelled the session, the event is sent to the runner. */
  | { type: 'SessionCancelled'; data: OfAgent & EndFields & Partial<SentFields> }
  | { type: 'SessionExpired'; data: OfAgent }
  | ApprovalEvent;

/** Maps each event type with which a caller ends a session to the status that the session then has. */
export const STATUS_OF_END = { SessionCompleted: 'completed', SessionFailed: 'failed', SessionCancelled: 'cancelled' } as const;
export type EndEvent = keyof typeof STATUS_OF_END;
