import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { evolve, type IdempotencyEvent, initial, isClaimed } from '../../domain/idempotency-key.ts';
import { at, recorded } from '../fixtures/given.ts';
import { type Answer, createInMemoryPlatform } from '../fixtures/in-memory-platform.ts';
import { addMember, type InMemoryPlatform } from '../fixtures/users.ts';

type Problem = { code: string; request_id: string };
type Agent = { id: string; slug: string; name: string; updated_at: string };

const agent = (slug = 'reviewer', more: object = {}) => ({ name: 'Reviewer', slug, ...more });
const codeOf = ({ body }: Answer): string => (body as Problem).code;
const create = (p: InMemoryPlatform, key: string, body: unknown = agent(), more: { key?: string } = {}): Promise<Answer> =>
  p.send('POST', `${p.tenant}/agents`, { body, headers: { 'idempotency-key': key }, ...more });
const created = (p: InMemoryPlatform) => p.eventsOf('AgentCreated').length;
const kept = ({ headers }: Answer) =>
  ['etag', 'location', 'consistency-token', 'content-type', 'cache-control'].map((name) => headers.get(name));

/** The next append that writes such an event never happens: its process is dead. */
const dies = (p: InMemoryPlatform, type: string, times = 1): void => {
  const { append } = p.log;
  let left = times;
  Object.assign(p.log, {
    append: (...call: Parameters<typeof append>) => {
      if (left === 0 || !call[2].some((event) => event.type === type)) return append(...call);
      left--;
      return new Promise(() => {});
    },
  });
};
const clockAhead = (p: InMemoryPlatform, ms: number): void => {
  p.clock.now = () => Date.now() + ms;
};

const story = (...events: IdempotencyEvent[]) => recorded('idempotency', events).reduce(evolve, initial);
const claimed: IdempotencyEvent = { type: 'IdempotencyKeyClaimed', data: { route: 'post /x', body_digest: 'd' } };

test('a key is held for 30 s from its claim, from each time it is taken, and not once it is released', () => {
  const after = (index: number, ms: number) => new Date(Date.parse(at(index)) + ms).toISOString();
  assert.ok(isClaimed(story(claimed), after(0, 29_999)));
  assert.not(isClaimed(story(claimed), after(0, 30_000)));
  assert.ok(isClaimed(story(claimed, { type: 'IdempotencyKeyTaken', data: {} }), after(1, 29_999)));
  assert.not(isClaimed(story(claimed, { type: 'IdempotencyKeyReleased', data: {} }), at(1)));
});

test('50 parallel repeats make one event; each is answered 201, or 409 while the first is at work', async () => {
  const p = await createInMemoryPlatform();
  const answers = await Promise.all(Array.from({ length: 50 }, () => create(p, 'once')));
  assert.is(created(p), 1);
  for (const answer of answers) assert.ok(answer.status === 201 || codeOf(answer) === 'idempotency_in_flight', answer.text);
  for (const answer of answers) if (answer.status === 409) assert.is(answer.headers.get('retry-after'), '1');
  assert.is((await create(p, 'once')).status, 201);
  assert.is(created(p), 1);
  await p.close();
});

test('the same body under the same key has the same answer but for the request id', async () => {
  const p = await createInMemoryPlatform();
  const first = await create(p, 'once');
  await p.send('PATCH', first.headers.get('location')!, { body: { name: 'Changed since' } });
  const again = await create(p, 'once');
  assert.is(again.status, 201);
  assert.is(again.text, first.text);
  assert.equal(kept(again), kept(first));
  assert.is.not(again.headers.get('x-request-id'), first.headers.get('x-request-id'));
  await p.close();
});

test('a refusal is repeated as it was, and nothing is tried again', async () => {
  const p = await createInMemoryPlatform();
  await p.send('POST', `${p.tenant}/agents`, { body: agent() });
  const first = await create(p, 'once');
  const again = await create(p, 'once');
  assert.equal([first.status, codeOf(first)], [409, 'slug_taken']);
  const plain = ({ body }: Answer) => ({ ...(body as Problem), request_id: '' });
  assert.equal(plain(again), plain(first));
  await p.send('DELETE', `${p.tenant}/agents/${(p.eventsOf('AgentCreated')[0]! as { id: string }).id}`);
  assert.is((await create(p, 'once')).status, 409);
  await p.close();
});

test('another body under the same key is 422, and it changes nothing', async () => {
  const p = await createInMemoryPlatform();
  await create(p, 'once');
  const other = await create(p, 'once', agent('other'));
  assert.equal([other.status, codeOf(other), created(p)], [422, 'idempotency_mismatch', 1]);
  await p.close();
});

test('a key counts for one route, one tenant and one caller', async () => {
  const p = await createInMemoryPlatform();
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

test('a secret is shown once: the repeat is 409 with the place of the resource', async () => {
  const p = await createInMemoryPlatform();
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

test('died before its event: in flight for 30 s, then taken up again, one event', async () => {
  const p = await createInMemoryPlatform();
  dies(p, 'AgentCreated');
  void create(p, 'once');
  await new Promise((resolve) => setTimeout(resolve, 20));
  clockAhead(p, 29_000);
  assert.is(codeOf(await create(p, 'once')), 'idempotency_in_flight');
  clockAhead(p, 31_000);
  const answer = await create(p, 'once');
  assert.equal([answer.status, created(p)], [201, 1]);
  await p.close();
});

test('died behind its event: taken up after 30 s it finds its own event and writes no second one', async () => {
  const p = await createInMemoryPlatform();
  dies(p, 'IdempotencyKeyFinished');
  void create(p, 'once');
  await new Promise((resolve) => setTimeout(resolve, 20));
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

test('a key that was made by a request that died is the one that its repeat shows', async () => {
  const p = await createInMemoryPlatform();
  const send = () => p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'CI' }, headers: { 'idempotency-key': 'once' } });
  dies(p, 'IdempotencyKeyFinished');
  void send();
  await new Promise((resolve) => setTimeout(resolve, 20));
  clockAhead(p, 31_000);
  const { body, status } = await send();
  assert.equal([status, p.eventsOf('ApiKeyCreated').length], [201, 2]);
  assert.is((await p.send('GET', `${p.tenant}/agents`, { key: (body as { key: string }).key })).status, 200);
  await p.close();
});

test('a slug that is used again under a key answers the new agent, each time, dead in between or not', async () => {
  const p = await createInMemoryPlatform();
  const old = (await create(p, 'first')).body as Agent;
  await p.send('DELETE', `${p.tenant}/agents/${old.id}`);
  dies(p, 'AgentCreated');
  void create(p, 'second');
  await new Promise((resolve) => setTimeout(resolve, 20));
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

test('a chain is answered as it was set, though the agent is gone since', async () => {
  const p = await createInMemoryPlatform();
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

test('what was new at first is new in the repeat, and what was there already was there', async () => {
  const p = await createInMemoryPlatform();
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

test('while the log is down the key is let go, and the repeat is done once it is back', async () => {
  const p = await createInMemoryPlatform();
  await p.send('GET', '/me');
  const back = p.log.outage();
  const down = await create(p, 'once');
  assert.equal([down.status, codeOf(down)], [503, 'unavailable']);
  assert.ok(down.headers.get('retry-after'));
  back();
  assert.is((await create(p, 'once')).status, 201);
  await p.close();
});

test('a key is 1 to 255 printable characters', async () => {
  const p = await createInMemoryPlatform();
  for (const key of ['', 'x'.repeat(256), 'ü', 'a\u007fb']) assert.is((await create(p, key)).status, 400, JSON.stringify(key));
  assert.is(created(p), 0);
  assert.is((await create(p, `${'x'.repeat(254)}~`)).status, 201);
  await p.close();
});

test.run();
