import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nextCursor } from '../../api/console/parts/pager.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSessionPlatform } from '../fixtures/session-platform.ts';
import { addMember } from '../fixtures/users.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

type Json = Record<string, unknown>;

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2126-03-20T10:30:00.000Z');

const p = await createSessionPlatform();
const at = (ago: number): void => {
  p.clock.now = () => NOW - ago;
};
at(48 * HOUR_MS);

const call = async (method: string, path: string, body?: unknown, key = p.key): Promise<Json> => {
  const answer = await p.send(method, `${p.tenant}/${path}`, { body, key });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer.body as Json;
};

let sent = 0;
let settled = 0;
type Made = { readonly id: string; readonly name: string };
/**
 * Creates an agent with deliveries, each received `hours` hours ago. The first `dead` of them were given up, the next `done`
 * acknowledged.
 */
const create = async (name: string, hours: readonly number[] = [], { dead = 0, done = 0 } = {}): Promise<Made> => {
  const id = (await call('POST', 'agents', { name, slug: name.toLowerCase() })).id as string;
  const hook = (
    await call('POST', 'webhook-integrations', { provider: 'github', agent_id: id, label: name, secret: SECRET, replay_guard: 'off' })
  ).id as string;
  for (const ago of hours) {
    at(ago * HOUR_MS + 1_000);
    const raw = JSON.stringify({ n: ++sent });
    const headers = { 'x-github-delivery': `d-${sent}`, 'x-github-event': 'push', 'x-hub-signature-256': sign(raw) };
    assert.is((await p.send('POST', `/hooks/inbound/${hook}`, { raw, key: '', headers })).status, 202);
  }
  const events = p.eventsOf('WebhookAccepted').slice(sent - hours.length);
  const notices = events.slice(0, dead + done).map((event, n) => ({
    ...{ delivery_id: event.id, event_id: event.event_id, at: event.at, attempts: 1, sequence: ++settled },
    outcome: n < dead ? ('max_deliveries' as const) : ('acknowledged' as const),
  }));
  await p.systemContext(p.tenant_id).transact(Acknowledgement, id, Acknowledgement.recordAdvisories('one', notices));
  return { id, name };
};

const busy = await create('Busy', [5, 4, 3, 2, 1], { done: 5 });
const failing = await create('Failing', [20, 19, 18], { dead: 2, done: 1 });
const queued = await create('Queued', [3, 2], {});
const old = await create('Old', [30], { done: 1 });
const idle = await create('Idle');
at(0);
await call('PATCH', `agents/${idle.id}`, { is_active: false });
const session = await p.startSession();
assert.is((await p.append(session, { prompt_tokens: 1_000, completion_tokens: 100, model_id: p.model })).status, 201);
await p.waitForProjections();

const names = async (query: string, key = p.key): Promise<string[]> =>
  ((await call('GET', `agents?${query}`, undefined, key)) as unknown as Json[]).map(({ name }) => name as string);

test('agents can be sorted by activity, queue, deliveries, failed deliveries and cost', async () => {
  assert.equal((await names('sort=-activity')).slice(0, 3), ['Busy', 'Queued', 'Failing']);
  assert.equal((await names('sort=-queue'))[0], 'Queued');
  assert.equal((await names('sort=-deliveries')).slice(0, 3), ['Busy', 'Failing', 'Queued']);
  assert.equal((await names('sort=-failed'))[0], 'Failing');
  assert.equal((await names('sort=-cost'))[0], 'Agent 0');
  assert.equal((await names('sort=deliveries')).slice(-3), ['Queued', 'Failing', 'Busy']);
});

test('for each sort order, the pages contain every agent once and in order, even if agents have equal values', async () => {
  for (const sort of ['activity', '-activity', 'queue', '-queue', '-deliveries', 'failed', '-cost', 'name']) {
    const whole = await names(`sort=${sort}&limit=200`);
    const found: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const answer = await p.send('GET', `${p.tenant}/agents?sort=${sort}&limit=2${cursor ? `&cursor=${cursor}` : ''}`);
      found.push(...(answer.body as Json[]).map(({ name }) => name as string));
      cursor = nextCursor(answer);
    }
    assert.equal(found, whole, sort);
    assert.is(new Set(found).size, 6, sort);
  }
});

test('agents that get deliveries while a list is read keep their places for five seconds', async () => {
  const page = async (query: string) => {
    const answer = await p.send('GET', `${p.tenant}/agents?sort=-deliveries&${query}`);
    return { found: (answer.body as Json[]).map(({ name }) => name as string), next: nextCursor(answer) };
  };
  const [whole, first] = [await names('sort=-deliveries'), await page('limit=3')];
  const late = await create('Late', Array(9).fill(0), { done: 9 });
  at(0);
  await p.waitForProjections();
  const { found } = await page(`limit=100&cursor=${first.next}`);
  assert.equal([...first.found, ...found].toSorted(), [...whole, 'Late'].toSorted());
  at(-5_000);
  assert.equal((await names('sort=-deliveries'))[0], 'Late');
  assert.is((await p.send('DELETE', `${p.tenant}/agents/${late.id}`)).status, 204);
  at(0);
  await p.waitForProjections();
});

test('sorting by activity can be combined with filters; deleted agents have no activity', async () => {
  assert.equal(await names('sort=-deliveries&q=ueue'), ['Queued']);
  assert.equal(await names('sort=-deliveries&is_active=false'), ['Idle']);
  const refused = await p.send('GET', `${p.tenant}/agents?sort=-queue&deleted=true`);
  assert.equal([refused.status, ((refused.body as Json).errors as Json[])[0]!.pointer], [422, '/query/deleted']);
});

test('the activity of agents contains, by hour, the numbers by which agents are sorted, with cost and budget', async () => {
  await call('PUT', `agents/${busy.id}/budget`, { hourly_limit_usd: 2 });
  const ids = [busy, failing, queued, old].map(({ id }) => id);
  const found = (await call('GET', `agents/activity?agent_id=${[...ids, p.agent.id].join(',')}`)) as unknown as Json[];
  const of = (id: string): Json => found.find(({ agent_id }) => agent_id === id)!;
  const numbers = (id: string) => ['deliveries', 'failed', 'queue'].map((name) => of(id)[name]);
  assert.equal(ids.map(numbers), [
    [5, 0, 0],
    [3, 2, 0],
    [2, 0, 2],
    [0, 0, 0],
  ]);
  assert.equal((of(busy.id).buckets as number[]).slice(18), [1, 1, 1, 1, 1, 0]);
  assert.equal([of(busy.id).budget_usd, of(busy.id).used_usd, of(old.id).budget_usd], [2, 0, null]);
  assert.ok((of(p.agent.id).cost_usd as number) > 0);
  assert.is(of(busy.id).last_at, new Date(NOW - HOUR_MS - 1_000).toISOString());
});

test('the summary counts the agents of each kind, and those that need attention can be listed', async () => {
  const { user_id, key } = await addMember(p, 'MEMBER');
  const gone = await create('Gone', [1], { dead: 1 });
  at(0);
  await call('PUT', `agents/${busy.id}/favorite`);
  assert.is((await p.send('DELETE', `${p.tenant}/agents/${gone.id}`)).status, 204);
  await p.waitForProjections();
  // A deleted agent with deliveries that were given up needs no attention.
  const { attention_ids, ...counts } = await call('GET', 'agents/summary');
  assert.equal(counts, { all: 6, attention: 2, active: 5, paused: 1, favorites: 1, deleted: 2 });
  assert.equal((attention_ids as string[]).toSorted(), [failing.id, queued.id].toSorted());
  assert.equal(await names(`agent_id=${(attention_ids as string[]).join(',')}&sort=name`), ['Failing', 'Queued']);
  assert.equal(await call('GET', 'agents/summary', undefined, key), {
    all: 0,
    attention: 0,
    attention_ids: [],
    active: 0,
    paused: 0,
    favorites: 0,
    deleted: 0,
  });
  await call('PUT', `agents/${failing.id}/roles/${user_id}`, { role: 'VIEWER' });
  await p.waitForProjections();
  assert.equal(await names('sort=-failed', key), ['Failing']);
  assert.equal(await call('GET', 'agents/summary', undefined, key), {
    all: 1,
    attention: 1,
    attention_ids: [failing.id],
    active: 1,
    paused: 0,
    favorites: 0,
    deleted: 0,
  });
  const [seen] = (await call('GET', `agents/activity?agent_id=${failing.id},${busy.id}`, undefined, key)) as unknown as Json[];
  assert.equal([seen!.agent_id, seen!.failed, seen!.cost_usd], [failing.id, 2, null]);
});

afterLastTest(() => p.close());

test.run();
