import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRevocationList, type RecordedAccessEvent } from '../../commands/runners/revoke-runner-credentials.reactor.ts';
import { TENANT } from '../fixtures/given.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-01-01T00:00:00.000Z');

/** Returns an event that happened `after` milliseconds after START. */
const event = (type: string, id: string, after: number, data: object = {}, key_id = 'k'): RecordedAccessEvent =>
  ({ type, id, tenant: TENANT, at: new Date(START + after).toISOString(), actor: { kind: 'agent', id: 'a', key_id }, data }) as never;

/**
 * Returns the event of issuing a credential for agent `a`. The credential is valid for an hour. It was requested with
 * the API key `key`.
 */
const issue = (id: string, after: number, key?: string, owner_id?: string): RecordedAccessEvent =>
  event(
    'RunnerCredentialIssued',
    id,
    after,
    { public_key: `U${id}`, agent_id: 'a', owner_id, expires_at: new Date(START + after + HOUR_MS).toISOString() },
    key,
  );

/** Returns the public keys of the credentials that are revoked after these events. */
const revokedAfter = (...events: RecordedAccessEvent[]): string[] => {
  const list = createRevocationList();
  for (const each of events) list.apply(each);
  return Object.keys(list.current(START + 10_000));
};

test('a credential that is issued for an API key just after the key was revoked is revoked at once', () => {
  const list = createRevocationList();
  assert.not(list.apply(issue('c1', 0, 'k1')));
  assert.ok(list.apply(event('ApiKeyRevoked', 'k1', 1_000)));
  assert.not(list.apply(event('ApiKeyRevoked', 'k2', 1_000)));
  assert.ok(list.apply(issue('c2', 2_000, 'k2')));
  assert.not(list.apply(issue('c3', 2_000, 'k3')));
  assert.equal(Object.keys(list.current(START + 3_000)), ['Uc1', 'Uc2']);
});

test('a revoked credential stays on the revocation list until it expires, and a revoked API key for an hour', () => {
  const list = createRevocationList();
  list.apply(issue('c1', 0));
  assert.ok(list.apply(event('RunnerCredentialRevoked', 'c1', 0)));
  assert.equal(Object.keys(list.current(START + HOUR_MS)), ['Uc1']);
  assert.equal(list.current(START + HOUR_MS + 1), {});
  const busy = createRevocationList();
  busy.apply(event('ApiKeyRevoked', 'k0', 0));
  for (let index = 0; index < 10; index++) busy.apply(issue(`c${index}`, index * HOUR_MS, `k${index}`));
  assert.not(busy.apply(event('ApiKeyRevoked', 'k1', 10 * HOUR_MS)));
  assert.not(busy.apply(issue('c10', 10 * HOUR_MS, 'k0')));
  assert.ok(busy.apply(event('ApiKeyRevoked', 'k9', 10 * HOUR_MS)));
});

test('a credential is revoked if the API key, agent, tenant or owner to which it belongs is removed or suspended, but not if another one is', () => {
  const ends: [string, string, object?][] = [
    ['RunnerCredentialRevoked', 'c1'],
    ['ApiKeyRevoked', 'k1'],
    ['AgentDeleted', 'a'],
    ['TenantSuspended', TENANT],
    ['TenantClosed', TENANT],
    ['UserSuspended', 'ann'],
    ['MemberRemoved', TENANT, { user_id: 'ann' }],
  ];
  for (const [type, id, data] of ends) {
    assert.equal(revokedAfter(issue('c1', 0, 'k1', 'ann'), event(type, id, 1_000, data)), ['Uc1'], type);
    assert.equal(revokedAfter(issue('c1', 0, 'k1', 'ann'), event(type, 'another', 1_000, data)), [], type);
  }
  const another = event('MemberRemoved', TENANT, 1_000, { user_id: 'bob' });
  assert.equal(revokedAfter(issue('c1', 0, 'k1', 'ann'), another), []);
});

test('after an agent, tenant or owner is reinstated, new credentials are valid, and the earlier ones stay revoked', () => {
  const reinstatements: [string, string, string, object?][] = [
    ['AgentDeleted', 'AgentRestored', 'a'],
    ['TenantSuspended', 'TenantResumed', TENANT],
    ['UserSuspended', 'UserResumed', 'ann'],
    ['MemberRemoved', 'MemberAdded', TENANT, { user_id: 'ann' }],
  ];
  for (const [ended, reinstated, id, data] of reinstatements) {
    const events = [issue('c1', 0, 'k', 'ann'), event(ended, id, 1_000, data), issue('c2', 2_000, 'k', 'ann')];
    assert.equal(revokedAfter(...events), ['Uc1', 'Uc2'], ended);
    assert.equal(revokedAfter(...events.slice(0, 2), event(reinstated, id, 3_000, data), issue('c3', 4_000, 'k', 'ann')), ['Uc1'], ended);
  }
});

test('a revoked API key leaves the revocation list after an hour, even if the deletion of an agent is reported a second time before that', () => {
  const list = createRevocationList();
  list.apply(event('AgentDeleted', 'b', 0));
  list.apply(event('ApiKeyRevoked', 'k1', 1_000));
  list.apply(event('AgentDeleted', 'b', HOUR_MS));
  assert.not(list.apply(issue('c1', HOUR_MS + 2_000, 'k1')));
});

test('the revocation list contains each revoked public key with the Unix time, in seconds, at which the list is read', () => {
  const list = createRevocationList();
  list.apply(issue('c1', 0));
  list.apply(event('RunnerCredentialRevoked', 'c1', 1_000));
  assert.equal(list.current(START + 2_999), { Uc1: START / 1_000 + 2 });
});

test.run();
