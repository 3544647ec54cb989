import type { Msg } from 'nats';
import { type CloudEvent, parseEvent } from './cloud-event.ts';

/** What a person has written while the handler works. */
export type LiveMessage = {
  readonly id: string;
  /** Null if the service can no longer decrypt the text. */
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

const MESSAGE = 'annals.session.message';
const STOPS: Readonly<Record<string, 'interrupted' | 'cancelled'>> = {
  'annals.session.interrupted': 'interrupted',
  'annals.session.cancelled': 'cancelled',
};

/** The reason of the signal of a session: a person has interrupted or cancelled it. */
export class SessionStopped extends Error {
  readonly kind: 'interrupted' | 'cancelled';
  constructor(kind: SessionStopped['kind']) {
    super(`a person has ${kind} the session`);
    this.name = 'SessionStopped';
    this.kind = kind;
  }
}

/** What persons write in a session, and that they stop it, while a handler works on an event of this session. */
export type LiveSession = {
  /** Aborted when a person interrupts or cancels the session; the reason is a SessionStopped. */
  readonly signal: AbortSignal;
  /** Yields the messages that arrive from now on. Ends when a person stops the session. */
  readonly messages: () => AsyncGenerator<LiveMessage>;
};

type State = {
  /** The last event of the session that is known without a gap. Only the event after it may be consumed. */
  last: string;
  readonly queue: CloudEvent[];
  /** The ids of the events that the handler has consumed: they need not be processed again. */
  readonly consumed: string[];
  readonly stop: AbortController;
  readonly closed: AbortController;
  arrival: PromiseWithResolvers<void>;
};

const liveMessage = (event: CloudEvent): LiveMessage => {
  const { message, files } = event.data as { message: Omit<LiveMessage, 'files' | 'user'>; files: readonly LiveFile[] };
  return { ...message, user: String(event.user), files };
};

/** Takes an event. One that does not follow the last one, or is of another type, is left to be the next event. */
const take = (state: State, event: CloudEvent): void => {
  const type = String(event.type);
  const stopped = STOPS[type];
  if (event.previous === state.last && (stopped || type === MESSAGE)) {
    state.last = event.id;
    if (stopped) state.consumed.push(event.id);
    else state.queue.push(event);
  }
  if (stopped) state.stop.abort(new SessionStopped(stopped));
  state.arrival.resolve();
  state.arrival = Promise.withResolvers();
};

const messagesOf = async function* (state: State): AsyncGenerator<LiveMessage> {
  for (;;) {
    const arrival = state.arrival.promise;
    const event = state.queue.shift();
    if (event) {
      state.consumed.push(event.id);
      yield liveMessage(event);
      continue;
    }
    if (state.stop.signal.aborted || state.closed.signal.aborted) return;
    await arrival;
  }
};

/** Listens to the messages to the agent as they are published. Resolves with the function that ends this. */
export type Listen = (onMessage: (message: Msg) => void) => Promise<() => void>;

/** The live session of an event. `close` ends it, and returns the ids of the events that the handler has consumed. */
export type OpenedSession = LiveSession & { readonly close: () => readonly string[] };

/** Opens the session of an event that a handler begins to process. */
export const openLiveSession = async ({ id, session }: CloudEvent, listen: Listen): Promise<OpenedSession> => {
  const state: State = {
    last: id,
    queue: [],
    consumed: [],
    stop: new AbortController(),
    closed: new AbortController(),
    arrival: Promise.withResolvers(),
  };
  const end = await listen((message) => {
    const event = message.headers?.get('Annals-Session') === session ? parseEvent(message) : null;
    if (event) take(state, event);
  });
  return {
    signal: state.stop.signal,
    messages: () => messagesOf(state),
    close: () => {
      end();
      state.closed.abort();
      state.arrival.resolve();
      return state.consumed;
    },
  };
};
