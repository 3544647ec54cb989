import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { expireDueSessions } from '../../commands/sessions/expire-sessions.reactor.ts';
import type { Recorded } from '../../domain/event.ts';
import type * as Session from '../../domain/sessions/session.ts';

const AT = '2026-02-01T00:00:00.000Z';

const event = (type: Session.SessionEvent['type'], data: object, revision: number): Recorded<Session.SessionEvent> =>
  ({ type, data, revision, tenant: 't', id: 's', at: AT, actor: { kind: 'agent', id: 'a' } }) as never;
const startedUntil = (expires_at: string) => event('SessionStarted', { agent_id: 'a', expires_at }, 0);

/**
 * Runs the reactor on a session of which this is the first and this the last event. @returns the types of the appended
 * events
 */
const expire = async (first: Recorded<Session.SessionEvent> | null, last = first): Promise<string[]> => {
  const types: string[] = [];
  const ports = {
    readEnds: async () => (first && last ? { first, last } : null),
    append: async (after: Recorded, events: readonly Session.SessionEvent[]) => {
      assert.is(after, last);
      types.push(...events.map(({ type }) => type));
    },
  };
  assert.is(await expireDueSessions(ports, [{ tenant_id: 't', id: 's' }], AT), types.length);
  return types;
};

test('a session expires exactly when its time is over, and not a millisecond earlier', async () => {
  assert.equal(await expire(startedUntil(AT)), ['SessionExpired']);
  assert.equal(await expire(startedUntil('2026-02-01T00:00:00.001Z')), []);
});

test('a session can expire after any message or file, but not after it has ended', async () => {
  const first = startedUntil(AT);
  for (const [type, data] of [
    ['MessageAppended', { message_id: 'm', kind: null }],
    ['MessageAppended', { message_id: 'm', kind: 'waiting' }],
    ['UsageRecorded', { message_id: 'm', prompt_tokens: 1, completion_tokens: 1, cost_micros: 1 }],
    ['SessionAttachmentAdded', { attachment_id: 'f' }],
  ] as const)
    assert.equal(await expire(first, event(type, data, 9)), ['SessionExpired'], type);
  for (const type of ['SessionCompleted', 'SessionFailed', 'SessionCancelled', 'SessionExpired'] as const)
    assert.equal(await expire(first, event(type, {}, 9)), [], type);
});

test('when sessions expire, a session that is in the read model but not in the log is skipped', async () =>
  assert.equal(await expire(null), []));

test.run();
