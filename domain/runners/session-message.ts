import type { Recorded } from '../event.ts';
import { statusAfterApproval } from '../sessions/approval.ts';
import { isSent, type SentMessage, type SessionEvent } from '../sessions/session.ts';
import type { Message, RunnerMessageType } from './runner-message.ts';

/** `content` is decrypted: the message or, for a decision on an approval, the comment; null if there is no text, or if it cannot be decrypted. */
export type OpenedSessionEvent = Recorded<SessionEvent> & { readonly content: string | null };

/** Headers of a message that is sent again, because the broker had lost it: the id and the position of its event. */
export const REPEATED_EVENT = 'Annals-Repeated-Event';
export const REPEATED_POSITION = 'Annals-Repeated-Position';

const encoder = new TextEncoder();

const TYPES = {
  SessionAssigned: 'annals.session.started',
  SessionMessageSent: 'annals.session.message',
  SessionInterrupted: 'annals.session.interrupted',
  SessionCancelled: 'annals.session.cancelled',
  ApprovalDecided: 'annals.session.decision',
  ApprovalExpired: 'annals.session.decision',
} as const;
type SentType = keyof typeof TYPES;
type SentEvent = Extract<Recorded<SessionEvent>, { type: SentType }>;

export const isSessionMessage = (type: unknown): boolean => typeof type === 'string' && type.startsWith('annals.session.');

const messageOf = (event: SentEvent): SentMessage | null => {
  if (event.type === 'SessionMessageSent') return event.data;
  return event.type === 'SessionAssigned' ? event.data.message : null;
};

const filesOf = ({ files }: SentMessage, tenantUrl: string) =>
  files.map(({ attachment_id, filename, content_type, size_bytes, sha256 }) => ({
    attachment_id,
    filename,
    content_type,
    size_bytes,
    sha256,
    url: `${tenantUrl}/files/${sha256}`,
  }));

/** Null if the event is not about an approval. */
const decisionOf = (event: SentEvent, comment: string | null) => {
  if (event.type !== 'ApprovalDecided' && event.type !== 'ApprovalExpired') return null;
  return { message_id: event.data.message_id, decision: statusAfterApproval(event), comment };
};

const dataOf = (event: SentEvent, content: string | null, tenantUrl: string) => {
  const continues_id = event.type === 'SessionAssigned' ? event.data.continues_id : undefined;
  const session = { id: event.id, title: event.data.title ?? null, continues_id };
  const decision = decisionOf(event, content);
  if (decision) return { session, message: null, files: [], decision };
  const message = messageOf(event);
  if (!message) return { session, message, files: [] };
  const { message_id: id, role } = message;
  return { session, message: { id, role, content, created_at: event.at }, files: filesOf(message, tenantUrl) };
};

const sessionMessage = (event: Recorded, publicUrl: string): Message => {
  const sent = event as SentEvent & Partial<OpenedSessionEvent>;
  const { agent_id, previous } = sent.data;
  const tenantUrl = `${publicUrl}/tenant/${event.tenant}`;
  const body = encoder.encode(JSON.stringify(dataOf(sent, sent.content ?? null, tenantUrl)));
  return {
    agent: agent_id,
    delivery: null,
    session: event.id,
    attributes: {
      source: `${tenantUrl}/agents/${agent_id}/sessions`,
      subject: event.id,
      tenant: event.tenant,
      agent: agent_id,
      session: event.id,
      user: event.actor.kind === 'user' ? event.actor.id : '',
      previous: previous ?? '',
      contenttrust: 'trusted',
    },
    contentType: 'application/json',
    body,
    size: body.length,
    isJson: true,
    reference: `${tenantUrl}/sessions/${event.id}`,
  };
};

const SUMMARIES: Readonly<Record<SentType, string>> = {
  SessionAssigned: 'A person has started a session of the agent',
  SessionMessageSent: 'A person has written a message in a session of the agent',
  SessionInterrupted: 'A person asks the agent to stop what it does in a session, and to keep the session',
  SessionCancelled: 'A person has cancelled a session of the agent',
  ApprovalDecided: 'A person has decided on an approval, or it has expired',
  ApprovalExpired: 'A person has decided on an approval, or it has expired',
};

/** The messages by event type, only of events that are sent to runners. */
export const sessionMessages: Readonly<Record<string, RunnerMessageType>> = Object.fromEntries(
  Object.entries(TYPES).map(([eventType, type]) => [
    eventType,
    {
      type,
      summary: SUMMARIES[eventType as SentType],
      isSent: (event: Recorded) => isSent(event as Recorded<SessionEvent>),
      message: sessionMessage,
    },
  ]),
);
