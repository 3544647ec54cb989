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
const DECISION = 'annals.session.decision';
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
  /**
   * Yields the messages that arrive from now on. Ends when a person stops the session.
   * @throws the AbortError of the runner that stops: the event is processed again when it runs again
   */
  readonly messages: () => AsyncGenerator<LiveMessage>;
  /** Resolves when a person has decided on an approval of this handler. Its event is then consumed. */
  readonly decided: (message_id: string) => Promise<void>;
};

type State = {
  /** The last event of the session that is known without a gap. Only the event after it may be consumed. */
  last: string;
  /** The events that have arrived, but do not follow the last one, or that nobody has asked for. */
  readonly early: Map<string, CloudEvent>;
  /** The approvals that the handler waits for, by the id of their messages. */
  readonly asked: Map<string, () => void>;
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

const decidedIn = ({ data }: CloudEvent): string => (data as { decision: { message_id: string } }).decision.message_id;

/** Consumes an event, or queues it for the handler. @returns false if it is left to be the next event */
const takeNext = (state: State, event: CloudEvent): boolean => {
  const type = String(event.type);
  if (type === MESSAGE) return state.queue.push(event) > 0;
  const resolve = type === DECISION ? state.asked.get(decidedIn(event)) : undefined;
  if (!STOPS[type] && !resolve) return false;
  state.consumed.push(event.id);
  resolve?.();
  return true;
};

/** Takes the events that follow the last one without a gap. */
const takeInOrder = (state: State): void => {
  for (let event = state.early.get(state.last); event && takeNext(state, event); event = state.early.get(state.last)) {
    state.early.delete(state.last);
    state.last = event.id;
  }
  state.arrival.resolve();
  state.arrival = Promise.withResolvers();
};

const take = (state: State, event: CloudEvent): void => {
  const stopped = STOPS[String(event.type)];
  state.early.set(String(event.previous), event);
  if (stopped) state.stop.abort(new SessionStopped(stopped));
  takeInOrder(state);
};

const untilDecided = (state: State, message_id: string): Promise<void> => {
  const decided = Promise.withResolvers<void>();
  state.asked.set(message_id, decided.resolve);
  takeInOrder(state);
  return decided.promise;
};

const messagesOf = async function* (state: State, ending: AbortSignal): AsyncGenerator<LiveMessage> {
  for (;;) {
    const arrival = state.arrival.promise;
    if (!state.stop.signal.aborted) ending.throwIfAborted();
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

/** Opens the session of an event that a handler begins to process. `ending` is aborted when the runner stops. */
export const openLiveSession = async ({ id, session }: CloudEvent, listen: Listen, ending: AbortSignal): Promise<OpenedSession> => {
  const state: State = {
    last: id,
    early: new Map(),
    asked: new Map(),
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
  const wake = (): void => state.arrival.resolve();
  ending.addEventListener('abort', wake);
  return {
    signal: state.stop.signal,
    messages: () => messagesOf(state, ending),
    decided: (message_id) => untilDecided(state, message_id),
    close: () => {
      end();
      ending.removeEventListener('abort', wake);
      state.closed.abort();
      state.arrival.resolve();
      return state.consumed;
    },
  };
};
