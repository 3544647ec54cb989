import type { Msg } from 'nats';
import { type CloudEvent, parseEvent } from './cloud-event.ts';
import { type OpenedSession, openLiveSession } from './live-session.ts';
import type { MessageConsumer } from './message-consumer.ts';
import type { ProcessedIds } from './processed-ids.ts';

type Sessions = {
  readonly subject: string;
  readonly processed: Pick<ProcessedIds, 'has'>;
  readonly open: Set<OpenedSession>;
  /** The one subscription for all open sessions: resolves to the function that ends it. Null while no session is open. */
  listening: Promise<() => void> | null;
};

/** Null if the message belongs to another session, or was already processed here. */
const eventIn = ({ processed }: Sessions, message: Msg, session: string): CloudEvent | null => {
  const event = message.headers?.get('Annals-Session') === session ? parseEvent(message) : null;
  return event && !processed.has(event.id) ? event : null;
};

const offer = (sessions: Sessions, message: Msg): void => {
  for (const opened of sessions.open) {
    const event = eventIn(sessions, message, opened.session);
    if (event) opened.take([event]);
  }
};

const close = (sessions: Sessions, opened: OpenedSession): ReturnType<OpenedSession['close']> => {
  sessions.open.delete(opened);
  if (sessions.open.size === 0) {
    void sessions.listening?.then((end) => end());
    sessions.listening = null;
  }
  return opened.close();
};

/** `ending` is aborted when the runner stops. */
type Source = {
  readonly listen: MessageConsumer['listen'];
  readonly waiting: () => readonly Msg[];
  readonly ending: AbortSignal;
};

/** The session gets the messages that wait in the runner, and later ones. */
const open = async (sessions: Sessions, event: { id: string; session: string }, source: Source): Promise<OpenedSession> => {
  const { listen, waiting, ending } = source;
  const opened = openLiveSession(event.id, event.session, ending);
  sessions.open.add(opened);
  sessions.listening ??= listen(sessions.subject, (message) => offer(sessions, message));
  await sessions.listening;
  opened.take(waiting().flatMap((message) => eventIn(sessions, message, event.session) ?? []));
  return { ...opened, close: () => close(sessions, opened) };
};

/** One subscription exists while a session is open. `offer` passes a pulled message to the handler of its session. */
export const createLiveSessions = (subject: string, processed: Pick<ProcessedIds, 'has'>) => {
  const sessions: Sessions = { subject, processed, open: new Set(), listening: null };
  return {
    open: (event: { id: string; session: string }, source: Source) => open(sessions, event, source),
    offer: (message: Msg): void => offer(sessions, message),
  };
};
