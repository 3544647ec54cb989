import type { CloudEvent } from './cloud-event.ts';
import { type LiveFile, type LiveMessage, type LiveRunnerSession, SessionStopped } from './runner-session.ts';

const MESSAGE = 'annals.session.message';
const DECISION = 'annals.session.decision';
const STOPS: Readonly<Record<string, 'interrupted' | 'cancelled'>> = {
  'annals.session.interrupted': 'interrupted',
  'annals.session.cancelled': 'cancelled',
};

/** Passes on what persons do in a session while a handler works on an event of this session. */
export type LiveSession = Pick<LiveRunnerSession, 'signal' | 'messages'> & {
  /** Returns the id of the event that the handler has got last: its own, or that of the last message that it has taken. */
  readonly lastEvent: () => string;
  /** Resolves when the decision arrives, which is then not processed as its own event. */
  readonly decided: (message_id: string) => Promise<void>;
};

/** `event` is the id of the event with the decision; null until it arrives. */
type Approval = { readonly arrival: PromiseWithResolvers<void>; isAsked: boolean; event: string | null };

/** `previous` is the event before it in the session. */
export type Successor = { readonly id: string; readonly previous: string; readonly isStop: boolean };

type State = {
  /** The last event of the session that is known without a gap. */
  last: string;
  /** The event that the handler has got last. */
  current: string;
  /** The events after that of the handler that are known without a gap. */
  readonly successors: (Successor & { readonly event: CloudEvent })[];
  /** Events that arrived before the event that precedes them. The key is the id of that event. */
  readonly early: Map<string | undefined, CloudEvent>;
  readonly queue: CloudEvent[];
  /** Whether the handler runs now, whether it has run before, and whether it ran when the session was stopped. */
  isRunning: boolean;
  hasRun: boolean;
  isTold: boolean;
  /** The ids of the events that the handler has taken, which are not processed again. */
  readonly taken: Set<string>;
  readonly approvals: Map<string, Approval>;
  readonly stop: AbortController;
  readonly closed: AbortController;
  arrival: PromiseWithResolvers<void>;
};

const liveMessage = (event: CloudEvent): LiveMessage => {
  const { message, files } = event.data as { message: Omit<LiveMessage, 'files' | 'user'>; files: readonly LiveFile[] };
  return { ...message, user: String(event.user), files };
};

const approvalOf = ({ approvals }: State, message_id: string): Approval => {
  const approval = approvals.get(message_id) ?? { arrival: Promise.withResolvers<void>(), isAsked: false, event: null };
  approvals.set(message_id, approval);
  return approval;
};

const takeDecision = (state: State, approval: Approval): void => {
  if (approval.event === null || !approval.isAsked) return;
  state.taken.add(approval.event);
  approval.arrival.resolve();
};

/** Earlier events that the handler has not taken count as taken, so they are not processed any more. */
const stop = (state: State, kind: SessionStopped['kind']): void => {
  state.queue.length = 0;
  for (const { id } of state.successors) state.taken.add(id);
  state.isTold = state.isRunning;
  state.stop.abort(new SessionStopped(kind));
};

const stopOf = ({ type }: CloudEvent): SessionStopped['kind'] | undefined => STOPS[String(type)];

const takeInOrder = (state: State, event: CloudEvent): void => {
  const stopped = stopOf(event);
  state.successors.push({ id: event.id, previous: state.last, isStop: stopped !== undefined, event });
  state.last = event.id;
  if (stopped) stop(state, stopped);
  if (event.type === MESSAGE) state.queue.push(event);
  if (event.type !== DECISION) return;
  const { decision } = event.data as { decision: { message_id: string } };
  const approval = approvalOf(state, decision.message_id);
  approval.event = event.id;
  takeDecision(state, approval);
};

/**
 * Takes events in the order of the session; an event waits until the previous one has arrived. A stop takes effect at
 * once, even if events before it are missing. Events that are not taken are processed later, as events of their own.
 */
const take = (state: State, events: readonly CloudEvent[]): void => {
  const { early, stop: stopping } = state;
  if (stopping.signal.aborted) return;
  for (const event of events) early.set(event.previous, event);
  for (let next = early.get(state.last); next && !stopping.signal.aborted; next = early.get(state.last)) {
    early.delete(next.previous);
    takeInOrder(state, next);
  }
  const stopped = early.values().map(stopOf).find(Boolean);
  if (stopped && !stopping.signal.aborted) stop(state, stopped);
  state.arrival.resolve();
  state.arrival = Promise.withResolvers();
};

const messagesOf = async function* (state: State, ending: AbortSignal): AsyncGenerator<LiveMessage> {
  for (;;) {
    const arrival = state.arrival.promise;
    if (!state.stop.signal.aborted) ending.throwIfAborted();
    const event = state.queue.shift();
    if (event) {
      state.taken.add(event.id);
      state.current = event.id;
      yield liveMessage(event);
      continue;
    }
    if (state.stop.signal.aborted || state.closed.signal.aborted) return;
    await arrival;
  }
};

const decided = (state: State, message_id: string): Promise<void> => {
  const approval = approvalOf(state, message_id);
  approval.isAsked = true;
  takeDecision(state, approval);
  return approval.arrival.promise;
};

/** The next run gets what an earlier run has taken, too. */
const restart = (state: State, id: string): void => {
  state.taken.clear();
  state.current = id;
  state.queue.splice(0, Number.POSITIVE_INFINITY, ...state.successors.flatMap(({ event }) => (event.type === MESSAGE ? event : [])));
  for (const approval of state.approvals.values()) approval.isAsked = false;
};

const runOnce = async <T>(state: State, id: string, handle: () => Promise<T>): Promise<T | null> => {
  if (state.stop.signal.aborted) return null;
  if (state.hasRun) restart(state, id);
  state.hasRun = true;
  state.isRunning = true;
  return handle().finally(() => {
    state.isRunning = false;
  });
};

/**
 * The live session of an event, from its arrival until it is settled. `run` calls the handler, also again if the budget
 * did not allow the work; once a person has stopped the session, it calls nothing and resolves with null. `close` ends
 * the session, and returns what need not be processed any more, in the order of the session. A stop is only part of it
 * if the handler was running then: otherwise, it is its own event.
 */
export type OpenedSession = LiveSession & {
  readonly session: string;
  readonly take: (events: readonly CloudEvent[]) => void;
  readonly run: <T>(handle: () => Promise<T>) => Promise<T | null>;
  readonly close: () => readonly Successor[];
};

/** `id` is the event to process. `ending` is aborted when the runner stops. */
export const openLiveSession = (id: string, session: string, ending: AbortSignal): OpenedSession => {
  const state: State = {
    last: id,
    current: id,
    successors: [],
    early: new Map(),
    queue: [],
    isRunning: false,
    hasRun: false,
    isTold: false,
    taken: new Set(),
    approvals: new Map(),
    stop: new AbortController(),
    closed: new AbortController(),
    arrival: Promise.withResolvers(),
  };
  const wake = (): void => state.arrival.resolve();
  ending.addEventListener('abort', wake);
  return {
    session,
    signal: state.stop.signal,
    messages: () => messagesOf(state, ending),
    lastEvent: () => state.current,
    decided: (message_id) => decided(state, message_id),
    take: (events) => take(state, events),
    run: (handle) => runOnce(state, id, handle),
    close: () => {
      ending.removeEventListener('abort', wake);
      state.closed.abort();
      state.arrival.resolve();
      return state.successors.filter((successor) => state.taken.has(successor.id) && (!successor.isStop || state.isTold));
    },
  };
};
