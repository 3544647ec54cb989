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
const open = async (options: { key?: string; query?: string; headers?: Record<string, string> } = {}) => {
  await p.waitForProjections();
  const headers = { authorization: `Bearer ${options.key ?? p.key}`, ...options.headers };
  const response = await p.app.request(`${path}${options.query ?? ''}`, { headers });
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

test('a stream of changes continues after the position in Last-Event-ID or `after`; if the server no longer knows the changes since that position, it names every category', async () => {
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

test('a stream of changes ends within seconds after the API key is revoked with which it was opened; a new request with that key gets 401', async () => {
  const made = await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'Short' } });
  const { id, key } = made.body as { id: string; key: string };
  const stream = await open({ key });
  assert.is((await p.send('DELETE', `${p.tenant}/api-keys/${id}`)).status, 204);
  await until('the stream ends', () => stream.state.isOver);
  assert.is((await p.send('GET', path, { key })).status, 401);
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

test("the stream of changes gets 403 for a super-admin who is not a member, and no read is recorded; without a credential it gets 401, and with another tenant's key 404", async () => {
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
