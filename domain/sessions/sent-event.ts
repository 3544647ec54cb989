import { cancelApprovals } from './approval.ts';
import {
  assertOpen,
  type Cause,
  type Continued,
  type EndFields,
  initial,
  type NewMessage,
  type Session,
  type SessionEvent,
  type StartedFields,
  sentFields,
  writtenMessage,
} from './session.ts';

// What persons do in a session; each of these events is sent to the runner.

/** `message` is the first message, if any. */
export const assign = (data: StartedFields & Cause & Continued, message: NewMessage | null) => (): SessionEvent[] => {
  const { agent_id, title, continues_id } = data;
  const first = message && writtenMessage(initial, message);
  return [
    { type: 'SessionStarted', data },
    { type: 'SessionAssigned', data: { agent_id, title, previous: null, continues_id, message: first } },
  ];
};

/**
 * `message` can name files that were added before. @throws Refusal not_found, conflict if the session has ended, invalid if a file is
 * unknown
 */
export const sendMessage =
  (message: NewMessage, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    const written = writtenMessage(session, message);
    return [{ type: 'SessionMessageSent', data: { agent_id: session.agent_id, ...sentFields(session), ...written } }];
  };

/** A repetition has no effect until something else has happened. @throws Refusal not_found, conflict if the session has ended */
export const interrupt =
  (at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    return session.is_interrupted ? [] : [{ type: 'SessionInterrupted', data: { agent_id: session.agent_id, ...sentFields(session) } }];
  };

/** A message of a session. `event_id` and `revision`: of the event; `message_id`: of the last event for which the relay has published it. */
export type SentRef = { readonly event_id: string; readonly revision: number; readonly message_id: string };

/** Sends the message again, which the broker has lost. Does nothing if it was sent again since, or if there is no session. */
export const repeatSent =
  ({ event_id, revision, message_id }: SentRef) =>
  ({ status, agent_id, repeats }: Session): SessionEvent[] => {
    const last = repeats.find((each) => each.event_id === event_id);
    if (status === 'absent' || (last && last.message_id !== message_id)) return [];
    return [{ type: 'SessionMessageRepeated', data: { agent_id, repeats: event_id, revision } }];
  };

/** Cancels the open approvals, too. @throws Refusal not_found, conflict if the session has already ended */
export const cancel =
  (fields: EndFields, at: string) =>
  (session: Session): SessionEvent[] => {
    assertOpen(session, at);
    const { agent_id, open_approvals } = session;
    return [
      ...cancelApprovals(agent_id, open_approvals),
      { type: 'SessionCancelled', data: { agent_id, ...sentFields(session), ...fields } },
    ];
  };
