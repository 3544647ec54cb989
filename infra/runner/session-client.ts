import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { MemoryRemember } from '../../commands/memory/remember.ts';
import type { MessageAppend } from '../../commands/sessions/append-message.ts';
import type { SessionEnd } from '../../commands/sessions/end-session.ts';
import type { SessionStart } from '../../commands/sessions/start-session.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { MemoryEntry } from '../../projections/memory/memory-import.ts';
import type { AttachmentRead, TaskMessageRead, TaskSessionRead } from '../../projections/sessions/session.ts';
import { type RunnerAgent, type RunnerApi, retryTransient } from './api-client.ts';
import { type Ask, askForApproval, type Decision } from './approval-client.ts';
import { createDraftWriter } from './draft-client.ts';
import type { LiveFile, LiveSession } from './live-session.ts';

export type Session = z.output<typeof TaskSessionRead>;
export type Message = z.output<typeof TaskMessageRead>;
export type Attachment = z.output<typeof AttachmentRead>;
export type NewSession = z.input<typeof SessionStart>;
export type NewMessage = z.input<typeof MessageAppend>;
export type End = z.input<typeof SessionEnd>;
export type Entry = z.output<typeof MemoryEntry>;
/** What a memory entry has besides its text. */
export type EntryOptions = Omit<z.input<typeof MemoryRemember>, 'text'>;
export type NewAttachment = { readonly filename: string; readonly bytes: Uint8Array };

/**
 * `key` says that a message of a session is the same one if the runner sends it again, for example because it was killed
 * before the event was acknowledged: at most 200 printable ASCII characters. In a handler, it is a key of the event, or
 * of the last message that the handler has taken; otherwise, it is a key of the session.
 */
export type Keyed = { readonly key: string };

/** Resolves with null if another text was appended with this key before, which stays. */
type KeyedAppend<Sent> = (message: Sent, keyed: Keyed) => Promise<Message | null>;

/**
 * A session that a runner has started. A request that fails for a temporary reason is repeated, and takes effect only
 * once.
 */
export type RunnerSession = {
  readonly id: string;
  /** The session as it was when it was started. */
  readonly started: Session;
  /** Appends a message, with the tokens and the cost of a language model if it used one. */
  readonly append: ((message: NewMessage) => Promise<Message>) & KeyedAppend<NewMessage>;
  /**
   * Shows people what the agent is writing, until the next message of the role `assistant`, or for a minute: the whole
   * text so far, or the end of a long one. It is sent in the background, at most three times a second, and is never recorded.
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

/** Returns the schema of an answer. It checks only the id. The TypeScript type is that of the OpenAPI document. */
const answerOf = <T extends { id: string }>() => z.looseObject({ id: z.string() }) as unknown as z.ZodType<T>;

export type Client = {
  readonly api: RunnerApi;
  readonly agent: RunnerAgent;
  readonly stop: AbortSignal;
  /** Replaces secrets that the runner knows, in drafts. */
  readonly mask?: (text: string) => string;
};

export const poster =
  ({ api, stop }: Client) =>
  <T extends { id: string }>(path: string, body: FormData | object, idempotencyKey: string = randomUUID()): Promise<T> =>
    retryTransient(() => api.post(answerOf<T>(), path, { body, idempotencyKey }), stop);

const formOf = ({ filename, bytes }: NewAttachment): FormData => {
  const form = new FormData();
  form.set('upload', new Blob([bytes as Uint8Array<ArrayBuffer>]), filename);
  return form;
};

/**
 * Adds a text to the memory of the agent.
 * @throws Refusal conflict if the memory is full, rate_limited (with `extra.members.resets_at`) if the limit of the day
 *   is used up
 */
export const remember = (client: Client, text: string, options: EntryOptions = {}): Promise<Entry> => {
  const { tenant, agent } = client.agent;
  return poster(client)(`/tenant/${tenant}/agents/${agent}/memory`, { ...options, text });
};

const pathOf = ({ agent }: Client, id: string): string => `/tenant/${agent.tenant}/sessions/${id}`;

/** How the session of an event waits for decisions. */
type Waiting = { readonly stop?: AbortSignal } & Partial<Pick<LiveSession, 'decided' | 'lastEvent'>>;

const nullIfAppended = (error: unknown): null => {
  if (error instanceof Refusal && error.code === 'idempotency_mismatch') return null;
  throw error;
};

/** The methods that all sessions have, no matter who has started them. */
const sessionOf = (client: Client, id: string, waiting: Waiting = {}): Omit<RunnerSession, 'started'> => {
  const path = pathOf(client, id);
  const drafts = createDraftWriter(client, path);
  /** Sends a request that replaces the draft. */
  const post = async <T extends { id: string }>(to: string, body: object, idempotencyKey?: string): Promise<T> => {
    await drafts.settle();
    return poster(client)<T>(to, body, idempotencyKey);
  };
  const append = ((message: NewMessage, keyed?: Keyed): Promise<Message | null> => {
    if (!keyed) return post<Message>(`${path}/messages`, message);
    const idempotencyKey = `${waiting.lastEvent?.() ?? id} ${keyed.key}`;
    return post<Message>(`${path}/messages`, message, idempotencyKey).catch(nullIfAppended);
  }) as RunnerSession['append'];
  const wait = (content: string, keyed?: Keyed) => append({ role: 'assistant', kind: 'waiting', content }, keyed as Keyed);
  return {
    id,
    append,
    draft: drafts.write,
    approve: async (ask) => {
      await drafts.settle();
      return askForApproval({ ...client, ...waiting }, path, ask);
    },
    wait: wait as RunnerSession['wait'],
    remember: (text, source) => remember(client, text, { source: source ?? null, session_id: id }),
    attach: (file) => poster(client)(`${path}/attachments`, formOf(file)),
    complete: (end = {}) => post(`${path}/complete`, end),
    fail: (end) => post(`${path}/fail`, end),
    cancel: (end = {}) => post(`${path}/cancel`, end),
  };
};

/**
 * Starts a session of the agent.
 * @throws Refusal, as all methods of the session do; BudgetExceeded if the budget of the hour is used up
 */
export const startSession = async (client: Client, session: NewSession, idempotencyKey?: string): Promise<RunnerSession> => {
  const { tenant, agent } = client.agent;
  const started = await poster(client)<Session>(`/tenant/${tenant}/agents/${agent}/sessions`, session, idempotencyKey);
  return { ...sessionOf(client, started.id), started };
};

/** The session of an event that a handler processes: a session of a person, or one in which a person has intervened. */
export type LiveRunnerSession = Omit<RunnerSession, 'started'> &
  Pick<LiveSession, 'signal' | 'messages'> & {
    /** Downloads a file of the session. @throws Refusal, also during the iteration */
    readonly file: (file: Pick<LiveFile, 'sha256'>) => AsyncGenerator<Uint8Array>;
  };

export const liveSession = (client: Client, id: string, { signal, messages, ...live }: LiveSession): LiveRunnerSession => {
  const session = sessionOf(client, id, { ...live, stop: AbortSignal.any([client.stop, signal]) });
  return {
    ...session,
    signal,
    messages,
    approve: (ask) =>
      session.approve(ask).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error;
      }),
    file: ({ sha256 }) => client.api.file(`/tenant/${client.agent.tenant}/files/${sha256}`),
  };
};
