import type { Approval, Attachment, End, Entry, Message, NewApproval, NewEntry, NewMessage, Reservation, Session } from './api-types.ts';

/** What an agent asks a person to decide. */
export type Ask = Pick<NewApproval, 'action' | 'detail'> & {
  /** The time until which people can decide (RFC 3339). The default is the end of the session. */
  readonly expiresAt?: string;
  /** The text of the message. By default, it is empty. */
  readonly content?: string;
  /**
   * Identifies the request; at most 200 characters. A runner that asks again after a restart, with the same key, action,
   * detail and expiry, does not ask people twice, and finds a decision that was made in the meantime.
   */
  readonly key?: string;
};

/** `expired`: there was no decision in time. `cancelled`: the session ended before a decision. */
export type Decision = {
  readonly decision: Exclude<Approval['status'], 'open'>;
  readonly comment: string | null;
  /** Null without a decision of a person. */
  readonly decidedBy: { readonly id: string; readonly name: string | null; readonly email: string | null } | null;
};

/** What a memory entry has besides its text. */
export type EntryOptions = Omit<NewEntry, 'text'>;
export type NewAttachment = { readonly filename: string; readonly bytes: Uint8Array };

/**
 * `key` says that a message of a session is the same one if the runner sends it again, for example because it was killed
 * before the event was acknowledged: at most 200 printable ASCII characters. In a handler, it is a key of the event, or
 * of the last message that the handler has taken; otherwise, it is a key of the session. A handler that takes messages
 * while it answers must put the id of the message that it answers into the key.
 */
export type Keyed = { readonly key: string };

/** Resolves with null if another text was appended with this key before, which stays. */
type KeyedAppend<Sent> = (message: Sent, keyed: Keyed) => Promise<Message | null>;

/** A request that fails for a temporary reason is repeated, and takes effect only once. */
export type RunnerSession = {
  readonly id: string;
  /** The session as it was when it was started. */
  readonly started: Session;
  /** Appends a message, with the tokens and the cost of a language model if it used one. */
  readonly append: ((message: NewMessage) => Promise<Message>) & KeyedAppend<NewMessage>;
  /**
   * Shows people what the agent is writing, until the next message of the role `assistant` or a stop, or for a minute: the
   * whole text so far, or the end of a long one. It is sent in the background, at most three times a second, and is never
   * recorded.
   */
  readonly draft: (text: string) => void;
  /** Appends a message of the agent. After it, the session waits for the next message. */
  readonly wait: ((content: string) => Promise<Message>) & KeyedAppend<string>;
  /**
   * Asks a person to decide whether the agent may do something, and waits for the decision.
   * @throws Refusal, an AbortError when the runner stops, and a SessionStopped when a person stops the session
   */
  readonly approve: (ask: Ask) => Promise<Decision>;
  readonly attach: (file: NewAttachment) => Promise<Attachment>;
  /** Adds a text to the memory of the agent, as learned in this session. */
  readonly remember: (text: string, source?: string) => Promise<Entry>;
  readonly complete: (end?: End) => Promise<Session>;
  readonly fail: (end: End) => Promise<Session>;
  readonly cancel: (end?: End) => Promise<Session>;
};

/** A message that a person has written while the handler works. */
export type LiveMessage = {
  readonly id: string;
  /** Null if the service cannot decrypt the text any more. */
  readonly content: string | null;
  readonly created_at: string;
  /** The id of the person. */
  readonly user: string;
  readonly files: readonly LiveFile[];
};

/** A file of a person's message. `session.file` downloads it. */
export type LiveFile = {
  readonly attachment_id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly sha256: string;
  readonly url: string;
};

/** The reason with which the signal of a session is aborted. */
export class SessionStopped extends Error {
  readonly kind: 'interrupted' | 'cancelled';
  constructor(kind: SessionStopped['kind']) {
    super(`a person has ${kind} the session`);
    this.name = 'SessionStopped';
    this.kind = kind;
  }
}

/** The session of an event that a handler processes: a session of a person, or one in which a person has intervened. */
export type LiveRunnerSession = Omit<RunnerSession, 'started'> & {
  /** Aborted when a person interrupts or cancels the session; the reason is a SessionStopped. */
  readonly signal: AbortSignal;
  /**
   * Yields the messages after the event of the handler. Ends when a person stops the session.
   * @throws AbortError when the runner stops; the next runner processes the event again
   */
  readonly messages: () => AsyncGenerator<LiveMessage>;
  /** Downloads a file of the session. @throws Refusal, also during the iteration */
  readonly file: (file: Pick<LiveFile, 'sha256'>) => AsyncGenerator<Uint8Array>;
};

/** A part of the agent's hourly budget that a runner has reserved. */
export type RunnerReservation = {
  readonly id: string;
  readonly reserved: Reservation;
  /** Replaces the reserved amount by the spent one, in US dollars. */
  readonly settle: (amount_usd: number) => Promise<Reservation>;
};

export type ReceiveOptions = {
  /** The maximum number of events that are processed at the same time. Default: 1. */
  readonly concurrency?: number | undefined;
  /** After this many runs of the handler, the runner ends. If absent, it runs until it is stopped. */
  readonly max?: number | undefined;
  /** How often the runner reports progress to the broker while an event is processed, in milliseconds. */
  readonly progressMs?: number | undefined;
};
