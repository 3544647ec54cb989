import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { CHANGE_CATEGORIES } from '../../api/audit/change-watch.ts';
import { openEventStream } from '../../api/audit/event-stream.ts';
import { deadline } from '../fixtures/load-factor.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Message = { event: string; id: string | undefined };
const p = await createTestPlatform();
const path = `${p.tenant}/changes`;

const messagesIn = (text: string): Message[] =>
  text
    .split('\n\n')
    .filter((part) => part.includes('event: '))
    .map((part) => ({ event: /^event: (.*)$/m.exec(part)![1]!, id: /^id: (.*)$/m.exec(part)?.[1] }));

/** Opens the stream of a tenant's changes. The returned `messages` are those received so far, without heartbeats. */
const open = (options: { key?: string; query?: string; headers?: Record<string, string> } = {}) =>
  openAs({ authorization: `Bearer ${options.key ?? p.key}`, ...options.headers }, options.query);

/** Opens the stream with the given headers, which contain the credential. */
const openAs = async (headers: Record<string, string>, query = '') => {
  await p.waitForProjections();
  const response = await p.app.request(`${path}${query}`, { headers });
  assert.is(response.status, 200);
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  const state = { text: '', isOver: false };
  void (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      state.text += decoder.decode(value, { stream: true });
    }
    state.isOver = true;
  })();
  return {
    response,
    state,
    messages: () => messagesIn(state.text).filter(({ event }) => event !== 'heartbeat'),
    cancel: () => reader.cancel(),
  };
};

const until = async (what: string, isTrue: () => boolean): Promise<void> => {
  for (const isOver = deadline(15_000); !isTrue(); await sleep(20)) assert.not.ok(isOver(), `${what} in time`);
};

const createAgent = async (slug: string): Promise<string> => {
  const made = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug } });
  assert.is(made.status, 201, made.text);
  return made.headers.get('consistency-token')!;
};

test("the stream of a tenant's changes (server-sent events) begins with the delay for reconnecting, and names the category and the position of each change", async () => {
  const stream = await open();
  assert.is(stream.response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.is(stream.response.headers.get('x-accel-buffering'), 'no');
  const token = await createAgent('first');
  await until('the change arrives', () => stream.messages().length > 0);
  assert.match(stream.state.text, /^retry: 2000\nevent: heartbeat\ndata: \{\}\n\n/);
  assert.equal(stream.messages(), [{ event: 'agent', id: token }]);
  assert.not.match(stream.state.text, /first|Agent/, 'a message does not say which resource has changed');
  await stream.cancel();
});

test("the stream of a tenant's changes contains no change of another tenant", async () => {
  const stream = await open();
  const made = await p.send('POST', '/admin/tenants', { body: { name: 'Other', slug: 'other', owner_email: 'other@example.com' } });
  const { id, owner_key } = made.body as { id: string; owner_key: string };
  const agent = await p.send('POST', `/tenant/${id}/agents`, { key: owner_key, body: { name: 'Secret', slug: 'secret' } });
  assert.is(agent.status, 201);
  const token = await createAgent('own');
  await until('the own change arrives', () => stream.messages().length > 0);
  assert.equal(stream.messages(), [{ event: 'agent', id: token }]);
  await stream.cancel();
});

test('a stream of changes continues after a given position; it names every category if that position is unknown', async () => {
  const before = await createAgent('before');
  const token = await createAgent('missed');
  for (const options of [{ headers: { 'last-event-id': before } }, { query: `?after=${encodeURIComponent(before)}` }]) {
    const stream = await open(options);
    await until('the missed change arrives', () => stream.messages().length > 0);
    assert.equal(stream.messages(), [{ event: 'agent', id: token }]);
    await stream.cancel();
  }
  const unknown = await open({ headers: { 'last-event-id': 'nonsense' } });
  await until('all categories arrive', () => unknown.messages().length >= CHANGE_CATEGORIES.length);
  assert.equal(
    unknown
      .messages()
      .map(({ event }) => event)
      .toSorted(),
    CHANGE_CATEGORIES,
  );
  await unknown.cancel();
});

test('a part of a budget that a runner reserves is a change, although no projection contains it', async () => {
  const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Spender', slug: 'spender' } })).body as { id: string }).id;
  const { key } = (await p.send('POST', `${p.tenant}/agents/${agent}/runner-keys`, { body: { name: 'runner' } })).body as { key: string };
  const stream = await open();
  const reserved = await p.send('POST', `${p.tenant}/agents/${agent}/budget/reserve`, { key, body: { amount_usd: 0.01 } });
  assert.is(reserved.status, 201, reserved.text);
  await until('the change arrives', () => stream.messages().some(({ event }) => event === 'budget'));
  await stream.cancel();
});

/** Checks that a stream ends at most two seconds after its caller has lost the access. */
const assertEnds = async (stream: Awaited<ReturnType<typeof open>>, what: string): Promise<void> => {
  for (const isOver = deadline(2_000); !stream.state.isOver; await sleep(20))
    assert.not.ok(isOver(), `${what}: the stream ends within 2 s`);
};

test('a stream of changes ends within two seconds after its API key is revoked; a new request with that key gets 401', async () => {
  const made = await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'Short' } });
  const { id, key } = made.body as { id: string; key: string };
  const stream = await open({ key });
  assert.is((await p.send('DELETE', `${p.tenant}/api-keys/${id}`)).status, 204);
  await assertEnds(stream, 'a revoked key');
  assert.is((await p.send('GET', path, { key })).status, 401);
});

test('the streams of all tabs of a browser end within two seconds after it is signed out', async () => {
  const own = { origin: 'http://annals.test', 'sec-fetch-site': 'same-origin' };
  const signedIn = await p.send('POST', '/auth/key', { key: '', headers: own, body: { key: p.key } });
  const cookie = signedIn.headers.getSetCookie()[0]!.split(';')[0]!;
  const streams = [await openAs({ cookie }), await openAs({ cookie })];
  assert.is((await p.send('POST', '/auth/logout', { key: '', headers: { ...own, cookie } })).status, 204);
  await Promise.all(streams.map((stream) => assertEnds(stream, 'a sign-out')));
});

test('the streams of a member end within two seconds after the user, or the tenant, is suspended', async () => {
  const member = await addMember(p, 'MEMBER', p.tenant_id, 'suspended@example.com');
  const ofMember = await open({ key: member.key });
  assert.is((await p.send('PATCH', `/api/v1/admin/users/${member.user_id}`, { body: { is_suspended: true } })).status, 200);
  await assertEnds(ofMember, 'a suspended user');
  const stream = await open();
  assert.is((await p.send('POST', `/admin/tenants/${p.tenant_id}/suspend`, { body: { reason: 'unpaid' } })).status, 200);
  await assertEnds(stream, 'a suspended tenant');
  assert.is((await p.send('POST', `/admin/tenants/${p.tenant_id}/resume`, { body: { reason: 'paid' } })).status, 200);
});

test('a caller can have twenty open streams of changes; a request for another one gets 429 until one of them is closed', async () => {
  const { key } = await addMember(p, 'MEMBER');
  const streams = await Promise.all(Array.from({ length: 20 }, () => open({ key })));
  const refused = await p.send('GET', path, { key });
  assert.equal([refused.status, (refused.body as { code: string }).code], [429, 'rate_limited']);
  await streams[0]!.cancel();
  streams[0] = await open({ key });
  for (const stream of streams) await stream.cancel();
});

test("the stream of changes is refused without a credential, with another tenant's key, and for non-members", async () => {
  const made = await p.send('POST', '/admin/tenants', { body: { name: 'Closed', slug: 'closed', owner_email: 'closed@example.com' } });
  const { id, owner_key } = made.body as { id: string; owner_key: string };
  await p.send('POST', `/admin/tenants/${id}/break-glass`, { body: { reason: 'Support', minutes: 10 } });
  const before = p.eventsOf('SuperAdminRead').length;
  assert.is((await p.send('GET', `/tenant/${id}/changes`)).status, 403);
  assert.is(p.eventsOf('SuperAdminRead').length, before);
  assert.is((await p.send('GET', path, { key: '' })).status, 401);
  assert.is((await p.send('GET', path, { key: owner_key })).status, 404);
  assert.is((await p.send('GET', `${path}?unknown=1`)).status, 422);
});

test('a stream of changes names the same category at most four times a second; the last message has the newest position', async () => {
  const clock = { now: 0 };
  const stream = openEventStream(
    () => {},
    () => clock.now,
  );
  const reader = stream.body.getReader();
  const read = async (): Promise<string> => new TextDecoder().decode((await reader.read()).value);
  assert.match(await read(), /heartbeat/);
  for (let index = 1; index <= 100; index++) stream.send([{ category: 'delivery', token: `${index}:${index}` }]);
  assert.match(await read(), /id: 1:1\n/);
  clock.now = 249;
  stream.send([{ category: 'agent', token: '7:7' }]);
  assert.match(await read(), /event: agent\nid: 7:7\n/);
  clock.now = 250;
  stream.send([]);
  assert.match(await read(), /event: delivery\nid: 100:100\n/);
  stream.end();
  assert.ok((await reader.read()).done);
});

test('open streams of changes end when the platform is closed', async () => {
  const stream = await open();
  await p.close();
  await until('the stream ends', () => stream.state.isOver);
});

test.run();
