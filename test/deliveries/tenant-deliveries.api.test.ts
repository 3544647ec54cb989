import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Publication from '../../domain/runners/publication.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();

const created = async (path: string, body: Json): Promise<string> => {
  const answer = await p.send('POST', `${p.tenant}/${path}`, { body });
  assert.is(answer.status, 201, answer.text);
  return (answer.body as Json).id as string;
};
const createHook = (agent_id: string, more: Json = {}) =>
  created('webhook-integrations', { provider: 'github', agent_id, label: 'Code', secret: SECRET, ...more });

let sent = 0;
const deliver = async (hook: string, raw: string, event = 'push', headers: Record<string, string> = {}): Promise<void> => {
  const identity = { 'x-github-delivery': `d-${sent++}`, 'x-github-event': event, 'x-hub-signature-256': sign(raw) };
  await p.send('POST', `/hooks/inbound/${hook}`, { raw, key: '', headers: { ...identity, ...headers } });
};
const list = async (query = '', key?: string): Promise<Json[]> => {
  const answer = await p.send('GET', `${p.tenant}/deliveries${query}`, key === undefined ? {} : { key });
  assert.is(answer.status, 200, answer.text);
  return answer.body as Json[];
};

const first = await created('agents', { name: 'First', slug: 'first' });
const second = await created('agents', { name: 'Second', slug: 'second' });
const ofFirst = await createHook(first);
const ofSecond = await createHook(second, { event_filter: ['push'], replay_guard: 'off' });
for (const n of [1, 2, 3]) await deliver(ofFirst, `{"n":${n}}`);
await deliver(ofFirst, '{"n":1}', 'issues');
await deliver(ofSecond, '{"n":1}');
await deliver(ofSecond, '{"n":1}', 'ping');

test("the tenant's list of deliveries contains the deliveries of all integrations, newest first, each with its provider", async () => {
  const found = await list();
  assert.equal(
    found.map(({ integration_id, event, provider }) => [integration_id, event, provider]),
    [
      [ofSecond, 'ping', 'github'],
      [ofSecond, 'push', 'github'],
      [ofFirst, 'issues', 'github'],
      [ofFirst, 'push', 'github'],
      [ofFirst, 'push', 'github'],
      [ofFirst, 'push', 'github'],
    ],
  );
  const page = await p.send('GET', `${p.tenant}/deliveries?limit=4&sort=received_at`);
  const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link')!)![1]!;
  const rest = (await p.send('GET', next)).body as Json[];
  assert.equal([...(page.body as Json[]), ...rest].reverse(), found);
});

test("the tenant's list of deliveries marks body replays, except those to an integration that does not mark replays", async () => {
  assert.equal(
    (await list()).map(({ replay_suspect }) => replay_suspect),
    [false, false, true, false, false, false],
  );
  const ofHook = (await p.send('GET', `${p.tenant}/webhook-integrations/${ofFirst}/deliveries`)).body as Json[];
  assert.equal(
    ofHook.map(({ replay_suspect }) => replay_suspect),
    [true, false, false, false],
  );
});

test("each filter of the tenant's list of deliveries, and all filters together, select only matching deliveries", async () => {
  const [newest] = await list();
  const queries: readonly (readonly [string, number])[] = [
    [`integration_id=${ofFirst}`, 4],
    [`agent_id=${second}`, 2],
    ['provider=github', 6],
    ['provider=slack', 0],
    ['event=push', 4],
    ['outcome=blocked', 1],
    ['status=waiting', 5],
    ['state=waiting', 5],
    ['state=blocked', 1],
    ['state=blocked&rule=event_filter', 1],
    ['state=blocked&rule=other', 0],
    ['state=acknowledged', 0],
    ['problem=none', 6],
    ['status=running', 0],
    ['status=dead', 0],
    ['status=dead&outcome=accepted', 0],
    [`to=${newest!.received_at}`, 5],
    [`from=${newest!.received_at}`, 1],
    [
      `integration_id=${ofFirst}&agent_id=${first}&provider=github&event=issues&outcome=accepted&status=waiting&from=2020-01-01T00:00:00Z`,
      1,
    ],
    [`agent_id=c${'a'.repeat(24)}`, 0],
  ];
  for (const [query, count] of queries) assert.is((await list(`?${query}`)).length, count, query);
  for (const wrong of [
    'provider=none',
    'agent_id=x',
    'outcome=lost',
    'status=lost',
    'state=lost',
    'state=dead&status=dead',
    'event=',
    'sort=event',
    'colour=red',
    'from=now',
  ])
    assert.is((await p.send('GET', `${p.tenant}/deliveries?${wrong}`)).status, 422, wrong);
});

test('a member without tenant:integrations:read sees deliveries only of agents whose chats the member may read, and none of them after that permission ends', async () => {
  const { user_id, key } = await addMember(p, 'MEMBER');
  assert.equal(await list('', key), []);
  const role = (method: string, body?: Json) => p.send(method, `${p.tenant}/agents/${second}/roles/${user_id}`, body ? { body } : {});
  await role('PUT', { role: 'VIEWER' });
  const found = await list('', key);
  assert.equal([found.length, new Set(found.map(({ agent_id }) => agent_id))], [2, new Set([second])]);
  assert.equal(await list(`?agent_id=${first}`, key), []);
  await role('DELETE');
  assert.equal(await list('', key), []);
});

/** Records that the messages of this and all earlier deliveries were published. */
const recordPublished = async ({ id }: Json): Promise<void> => {
  const { position } = p.eventsOf('WebhookAccepted').find((event) => event.id === id)!;
  const published = Publication.recordPublished(position);
  await p.systemContext('platform').transact(Publication, Publication.STREAM_ID, published);
};

test('deliveries that were published and that no runner has are listed as queued, with and without a filter by status', async () => {
  const [, newestOfSecond, , third] = await list();
  await recordPublished(third!);
  const statuses = async (query = '') => (await list(query)).map(({ status }) => status);
  assert.equal(await statuses(), [null, 'waiting', 'waiting', 'queued', 'queued', 'queued']);
  assert.equal(await statuses('?status=waiting'), ['waiting', 'waiting']);
  assert.equal(await statuses('?status=queued'), ['queued', 'queued', 'queued']);
  assert.equal([await statuses('?status=running'), await statuses('?status=held')], [[], []]);
  assert.ok((await list('?status=queued')).every(({ published_at }) => typeof published_at === 'string'));
  await recordPublished(newestOfSecond!);
  assert.equal(await list('?status=waiting'), []);
});

test("reading a page of the tenant's deliveries takes four database queries, however many of the deliveries are published", async () => {
  const counts: number[] = [];
  const { rows, page } = p.reads;
  for (const limit of [1, 5]) {
    let queries = 0;
    p.reads.rows = (query, args) => {
      queries++;
      return rows(query, args);
    };
    p.reads.page = (query, args, window) => {
      queries++;
      return page(query, args, window);
    };
    assert.is((await list(`?limit=${limit}&event=push`)).length, Math.min(limit, 4));
    counts.push(queries);
  }
  Object.assign(p.reads, { rows, page });
  assert.equal(counts, [4, 4]);
});

afterLastTest(p.close);

test.run();
