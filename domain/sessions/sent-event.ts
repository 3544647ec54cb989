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
