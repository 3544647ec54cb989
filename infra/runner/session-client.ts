import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Refusal } from '../../domain/refusal.ts';
import { type RunnerAgent, type RunnerApi, retryTransient } from './api-client.ts';
import type { Entry, Message, NewMessage, NewSession, Session } from './api-types.ts';
import { askForApproval } from './approval-client.ts';
import { createDraftWriter } from './draft-client.ts';
import type { LiveSession } from './live-session.ts';
import type { EntryOptions, Keyed, LiveRunnerSession, NewAttachment, RunnerSession } from './runner-session.ts';

/** Checks only the id. The TypeScript type is that of the OpenAPI document. */
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

/** @throws Refusal conflict if the memory is full, rate_limited (with `extra.members.resets_at`) if the limit of the day is used up */
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

/** @throws Refusal, as all methods of the session do; BudgetExceeded if the budget of the hour is used up */
export const startSession = async (client: Client, session: NewSession, idempotencyKey?: string): Promise<RunnerSession> => {
  const { tenant, agent } = client.agent;
  const started = await poster(client)<Session>(`/tenant/${tenant}/agents/${agent}/sessions`, session, idempotencyKey);
  return { ...sessionOf(client, started.id), started };
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
