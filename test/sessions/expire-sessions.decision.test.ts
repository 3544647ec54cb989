import { test } from 'uvu';
import { expire } from '../../domain/sessions/expire-session.ts';
import { cancel } from '../../domain/sessions/sent-event.ts';
import * as Session from '../../domain/sessions/session.ts';
import { given } from '../fixtures/given.ts';

const AT = '2026-02-01T00:00:00.000Z';
const LATER = '2026-02-01T00:00:00.001Z';

const agent_id = 'a';
const ended = { sealed_summary: null, sealed_error: null };
const startedUntil = (expires_at: string): Session.SessionEvent => ({
  type: 'SessionStarted',
  data: { ...Session.initial, agent_id, expires_at },
});
const appended = (message_id: string, kind: Session.MessageKind = null): Session.SessionEvent => ({
  type: 'MessageAppended',
  data: { agent_id, message_id, role: 'assistant', kind, model_id: null, sealed_content: '' },
});
const requested = (message_id: string, expires_at: string | null): Session.SessionEvent[] => [
  appended(message_id, 'approval'),
  { type: 'ApprovalRequested', data: { agent_id, message_id, expires_at, sha256: '', sealed_request: '' } },
];
const sessionExpired: Session.SessionEvent = { type: 'SessionExpired', data: { agent_id } };
const sent = { title: null, previous: null };
const approvalExpired = (message_id: string): Session.SessionEvent => ({
  type: 'ApprovalExpired',
  data: { agent_id, message_id, ...sent },
});
const cancelled = (message_id: string): Session.SessionEvent => ({ type: 'ApprovalCancelled', data: { agent_id, message_id } });

test('a session expires exactly when its time is over, and not a millisecond earlier', () => {
  given(Session, startedUntil(AT)).when(expire(AT)).emits(sessionExpired);
  given(Session, startedUntil(LATER)).when(expire(AT)).emits();
});

test('a session can expire after any message or file, but not after it has ended', () => {
  const usage = { model_id: null, prompt_tokens: 1, completion_tokens: 1, cost_micros: 1 };
  const file = { attachment_id: 'f', filename: 'f', content_type: 'text/plain', size_bytes: 1, sha256: '' };
  const events: Session.SessionEvent[] = [
    appended('m'),
    appended('m', 'waiting'),
    { type: 'UsageRecorded', data: { agent_id, message_id: 'm', ...usage } },
    { type: 'SessionAttachmentAdded', data: { agent_id, ...file } },
  ];
  for (const event of events) given(Session, startedUntil(AT), event).when(expire(AT)).emits(sessionExpired);
  for (const type of ['SessionCompleted', 'SessionFailed', 'SessionCancelled'] as const)
    given(Session, startedUntil(AT), { type, data: { agent_id, ...ended } })
      .when(expire(AT))
      .emits();
  given(Session, startedUntil(AT), sessionExpired).when(expire(AT)).emits();
});

test('when sessions expire, a session that is in the read model but not in the log is skipped', () =>
  given(Session).when(expire(AT)).emits());

test('an approval expires exactly when its time is over; the session and its other approvals stay open', () => {
  const session = given(Session, startedUntil(LATER), ...requested('one', AT), ...requested('two', LATER), ...requested('three', null));
  session.when(expire('2026-01-31T23:59:59.999Z')).emits();
  session.when(expire(AT)).emits(approvalExpired('one'));
});

test('an approval that was decided or has expired does not expire again', () => {
  const decided: Session.SessionEvent = {
    type: 'ApprovalDecided',
    data: { agent_id, message_id: 'one', ...sent, decision: 'denied', sha256: '', sealed_comment: null },
  };
  for (const last of [decided, approvalExpired('one')])
    given(Session, startedUntil(LATER), ...requested('one', AT), last)
      .when(expire(AT))
      .emits();
});

test('the end of a session cancels its open approvals, even those whose time is over', () => {
  const approvals = [...requested('one', AT), ...requested('two', null)];
  const both = [cancelled('one'), cancelled('two')];
  given(Session, startedUntil(AT), ...approvals)
    .when(expire(AT))
    .emits(...both, sessionExpired);
  for (const type of ['SessionCompleted', 'SessionFailed', 'SessionCancelled'] as const)
    given(Session, startedUntil(LATER), ...approvals)
      .when(Session.end(type, ended, AT))
      .emits(...both, { type, data: { agent_id, ...ended } });
  given(Session, startedUntil(LATER), ...approvals)
    .when(cancel(ended, AT))
    .emits(...both, { type: 'SessionCancelled', data: { agent_id, ...sent, ...ended } });
});

test.run();
