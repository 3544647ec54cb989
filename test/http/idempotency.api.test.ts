import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evolve, type IdempotencyEvent, initial, isClaimed } from '../../domain/idempotency-key.ts';
import { at, recorded } from '../fixtures/given.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, type TestPlatform } from '../fixtures/users.ts';

type Problem = { code: string; request_id: string };
type Agent = { id: string; slug: string; name: string; updated_at: string };

const agent = (slug = 'reviewer', more: object = {}) => ({ name: 'Reviewer', slug, ...more });
const codeOf = ({ body }: Answer): string => (body as Problem).code;
const create = (p: TestPlatform, key: string, body: unknown = agent(), more: { key?: string } = {}): Promise<Answer> =>
  p.send('POST', `${p.tenant}/agents`, { body, headers: { 'idempotency-key': key }, ...more });
const created = (p: TestPlatform) => p.eventsOf('AgentCreated').length;
const stableHeaders = ({ headers }: Answer) =>
  ['etag', 'location', 'consistency-token', 'content-type', 'cache-control'].map((name) => headers.get(name));

/**
 * Simulates a process that is killed before it appends an event of this type: the next append of such an event never
 * completes. @returns a promise that resolves when the process reaches this append
 */
const dieBefore = (p: TestPlatform, type: string): Promise<void> => {
  const { append } = p.log;
  const died = Promise.withResolvers<void>();
  let isAlive = true;
  Object.assign(p.log, {
    append: (...call: Parameters<typeof append>) => {
      if (!isAlive || !call[2].some((event) => event.type === type)) return append(...call);
      isAlive = false;
      died.resolve();
      return new Promise(() => {});
    },
  });
  return died.promise;
};
const clockAhead = (p: TestPlatform, ms: number): void => {
  p.clock.now = () => Date.now() + ms;
};

const foldEvents = (...events: IdempotencyEvent[]) => recorded('idempotency', events).reduce(evolve, initial);
const claimed: IdempotencyEvent = { type: 'IdempotencyKeyClaimed', data: { route: 'post /x', body_digest: 'd' } };

test('a process that claims an idempotency key holds it for 30 s, unless the process releases it earlier', () => {
  const after = (index: number, ms: number) => new Date(Date.parse(at(index)) + ms).toISOString();
  assert.ok(isClaimed(foldEvents(claimed), after(0, 29_999)));
  assert.not(isClaimed(foldEvents(claimed), after(0, 30_000)));
  assert.ok(isClaimed(foldEvents(claimed, { type: 'IdempotencyKeyTaken', data: {} }), after(1, 29_999)));
  assert.not(isClaimed(foldEvents(claimed, { type: 'IdempotencyKeyReleased', data: {} }), at(1)));
});

test('50 concurrent requests with the same idempotency key append one event; each gets 201, or 409 while the first one is in progress', async () => {
  const p = await createTestPlatform();
  const answers = await Promise.all(Array.from({ length: 50 }, () => create(p, 'once')));
  assert.is(created(p), 1);
  for (const answer of answers) assert.ok(answer.status === 201 || codeOf(answer) === 'idempotency_in_flight', answer.text);
  for (const answer of answers) if (answer.status === 409) assert.is(answer.headers.get('retry-after'), '1');
  assert.is((await create(p, 'once')).status, 201);
  assert.is(created(p), 1);
  await p.close();
});

test('repeating a request with the same idempotency key and body gets the same response, except for the request id', async () => {
  const p = await createTestPlatform();
  const first = await create(p, 'once');
  await p.send('PATCH', first.headers.get('location')!, { body: { name: 'Changed since' } });
  const again = await create(p, 'once');
  assert.is(again.status, 201);
  assert.is(again.text, first.text);
  assert.equal([first.headers.get('idempotent-replayed'), again.headers.get('idempotent-replayed')], [null, 'true']);
  assert.equal(stableHeaders(again), stableHeaders(first));
  assert.is.not(again.headers.get('x-request-id'), first.headers.get('x-request-id'));
  await p.close();
});

test('repeating a refused request with the same idempotency key gets the same refusal, and the request is not run again', async () => {
  const p = await createTestPlatform();
  await p.send('POST', `${p.tenant}/agents`, { body: agent() });
  const first = await create(p, 'once');
  const again = await create(p, 'once');
  assert.equal([first.status, codeOf(first)], [409, 'slug_taken']);
  const plain = ({ body }: Answer) => ({ ...(body as Problem), request_id: '' });
  assert.equal(plain(again), plain(first));
  assert.equal([first.headers.get('idempotent-replayed'), again.headers.get('idempotent-replayed')], [null, 'true']);
  await p.send('DELETE', `${p.tenant}/agents/${(p.eventsOf('AgentCreated')[0]! as { id: string }).id}`);
  assert.is((await create(p, 'once')).status, 409);
  await p.close();
});

test('a request with a known idempotency key and a different body gets 422 and has no effect', async () => {
  const p = await createTestPlatform();
  await create(p, 'once');
  const other = await create(p, 'once', agent('other'));
  assert.equal([other.status, codeOf(other), created(p)], [422, 'idempotency_mismatch', 1]);
  await p.close();
});

test('requests with the same idempotency key count as different if they go to different routes or tenants or have different callers', async () => {
  const p = await createTestPlatform();
  const { key } = await addMember(p, 'ADMIN');
  const { key: same } = await addMember(p, 'MEMBER');
  assert.is((await create(p, 'k', agent('a'))).status, 201);
  assert.is((await create(p, 'k', agent('b'), { key })).status, 201);
  assert.is((await create(p, 'k', agent('c'), { key: same })).status, 201);
  const id = (p.eventsOf('AgentCreated')[0]! as { id: string }).id;
  const runner = await p.send('POST', `${p.tenant}/agents/${id}/runner-keys`, { body: { name: 'a' }, headers: { 'idempotency-key': 'k' } });
  assert.is(runner.status, 201);
  await p.close();
});

test('repeating the creation of an API key gets 409 with the Location of the key, and does not show the secret again', async () => {
  const p = await createTestPlatform();
  const send = () => p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'CI' }, headers: { 'idempotency-key': 'once' } });
  const first = await send();
  const again = await send();
  assert.is(first.status, 201);
  assert.equal([again.status, codeOf(again)], [409, 'secret_already_shown']);
  assert.is(again.headers.get('location'), first.headers.get('location'));
  assert.not.ok(again.text.includes((first.body as { key: string }).key));
  assert.is(p.eventsOf('ApiKeyCreated').length, 2);
  await p.close();
});

test("if a process stops before it appends a request's event, a repeat gets 409 for 30 s and then appends one event", async () => {
  const p = await createTestPlatform();
  const died = dieBefore(p, 'AgentCreated');
  void create(p, 'once');
  await died;
  clockAhead(p, 29_000);
  assert.is(codeOf(await create(p, 'once')), 'idempotency_in_flight');
  clockAhead(p, 31_000);
  const answer = await create(p, 'once');
  assert.equal([answer.status, created(p)], [201, 1]);
  await p.close();
});

test('if a process stops after it has appended the event of a request, repeating the request after 30 s finds that event and appends no second one', async () => {
  const p = await createTestPlatform();
  const died = dieBefore(p, 'IdempotencyKeyFinished');
  void create(p, 'once');
  await died;
  const { id } = p.eventsOf('AgentCreated')[0]!;
  await p.send('PATCH', `${p.tenant}/agents/${id}`, { body: { name: 'Changed since' } });
  clockAhead(p, 31_000);
  const answers = await Promise.all([create(p, 'once'), create(p, 'once'), create(p, 'once')]);
  assert.is(created(p), 1);
  for (const answer of answers) assert.ok(answer.status === 201 || codeOf(answer) === 'idempotency_in_flight', answer.text);
  const mine = answers.find(({ status }) => status === 201)!;
  assert.equal([(mine.body as Agent).id, (mine.body as Agent).name, mine.headers.get('etag')], [id, 'Reviewer', '"0"']);
  await p.close();
});

test('if a process stops after it has created an API key, repeating the request returns the same API key', async () => {
  const p = await createTestPlatform();
  const send = () => p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'CI' }, headers: { 'idempotency-key': 'once' } });
  const died = dieBefore(p, 'IdempotencyKeyFinished');
  void send();
  await died;
  clockAhead(p, 31_000);
  const { body, status } = await send();
  assert.equal([status, p.eventsOf('ApiKeyCreated').length], [201, 2]);
  assert.is((await p.send('GET', `${p.tenant}/agents`, { key: (body as { key: string }).key })).status, 200);
  await p.close();
});

test("a repeated request that creates an agent with a deleted agent's slug returns the new agent, even if the first process stopped before it created the agent", async () => {
  const p = await createTestPlatform();
  const old = (await create(p, 'first')).body as Agent;
  await p.send('DELETE', `${p.tenant}/agents/${old.id}`);
  const died = dieBefore(p, 'AgentCreated');
  void create(p, 'second');
  await died;
  assert.is(p.eventsOf('AgentSlugReleased').length, 1);
  clockAhead(p, 31_000);
  const answers = [await create(p, 'second'), await create(p, 'second')];
  for (const { body, status } of answers) {
    assert.is(status, 201);
    assert.is.not((body as Agent).id, old.id);
  }
  assert.is(answers[0]!.text, answers[1]!.text);
  assert.equal([created(p), p.eventsOf('AgentSlugReleased').length], [2, 1]);
  await p.close();
});

test('repeating a change of a model chain gets the first response, even if the agent was deleted in between', async () => {
  const p = await createTestPlatform();
  const { id } = (await create(p, 'a')).body as Agent;
  const models = (await p.send('GET', `${p.tenant}/models`)).body as { id: string }[];
  const put = () =>
    p.send('PUT', `${p.tenant}/agents/${id}/models`, {
      body: { model_ids: models.map((model) => model.id) },
      headers: { 'idempotency-key': 'chain' },
    });
  const first = await put();
  await p.send('DELETE', `${p.tenant}/agents/${id}`);
  const again = await put();
  assert.equal([again.status, again.text], [200, first.text]);
  await p.close();
});

test('a repeated request gets the status of the first response: 201 if the first request created the resource, otherwise 200', async () => {
  const p = await createTestPlatform();
  const { id } = (await create(p, 'a')).body as Agent;
  const { user_id } = await addMember(p, 'MEMBER');
  const grant = (key: string) =>
    p.send('POST', `${p.tenant}/agents/${id}/grants`, { body: { user_id }, headers: { 'idempotency-key': key } });
  const statuses: number[] = [];
  for (const key of ['one', 'one', 'two', 'two']) {
    statuses.push((await grant(key)).status);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert.equal(statuses, [201, 201, 200, 200]);
  await p.close();
});

test('a request that fails because the log is down releases its idempotency key; repeated after the log is available again, it succeeds', async () => {
  const p = await createTestPlatform();
  await p.send('GET', '/me');
  const back = p.log.outage();
  const down = await create(p, 'once');
  assert.equal([down.status, codeOf(down)], [503, 'unavailable']);
  assert.ok(down.headers.get('retry-after'));
  back();
  assert.is((await create(p, 'once')).status, 201);
  await p.close();
});

test('a request is refused if its idempotency key does not have 1 to 255 printable ASCII characters', async () => {
  const p = await createTestPlatform();
  for (const key of ['', 'x'.repeat(256), 'ü', 'a\u007fb']) assert.is((await create(p, key)).status, 400, JSON.stringify(key));
  assert.is(created(p), 0);
  assert.is((await create(p, `${'x'.repeat(254)}~`)).status, 201);
  await p.close();
});

test.run();
