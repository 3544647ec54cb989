import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Item = { user_id: string; created_at: string };

const p = await createTestPlatform();
const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).headers.get('location')!;
const own = ((await p.send('GET', `${agent}/roles`)).body as Item[])[0]!.user_id;

/**
 * The lists that are computed from the events of one stream instead of the read model. Each has its path, a function
 * that adds an item for a user, and a function that returns the path for removing it.
 */
const LISTS = [
  { path: `${p.tenant}/members`, add: null, remove: (id: string) => `${p.tenant}/members/${id}` },
  {
    path: `${agent}/roles`,
    add: (id: string) => p.send('PUT', `${agent}/roles/${id}`, { body: { role: 'VIEWER' } }),
    remove: (id: string) => `${agent}/roles/${id}`,
  },
  {
    path: `${agent}/grants`,
    add: (id: string) => p.send('POST', `${agent}/grants`, { body: { user_id: id } }),
    remove: (id: string) => `${agent}/grants/${id}`,
  },
];

const nextOf = ({ headers }: Answer): string | undefined => /<(.+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];

const idsOf = (answer: Answer): string[] => {
  assert.is(answer.status, 200, answer.text);
  return (answer.body as Item[]).map(({ user_id }) => user_id);
};

/**
 * Reads a list in pages. After each page, calls `between` with the id of the last item on the page. @returns the ids of
 * all items
 */
const walk = async (path: string, between: (last: string) => Promise<unknown>): Promise<string[]> => {
  const seen: string[] = [];
  for (let next: string | undefined = path; next; ) {
    const page = await p.send('GET', next);
    seen.push(...idsOf(page));
    next = nextOf(page);
    if (next) await between(seen.at(-1)!);
  }
  return seen;
};

let memberCount = 0;

// If `same` is true, all items are created in the same millisecond, and the list sorts them by their ids.
for (const { path, add, remove } of LISTS)
  for (const sort of ['created_at', '-created_at'])
    for (const same of [false, true])
      test(`if ${path.split('/').at(-1)} are listed by ${sort}${same ? ' and were all created at the same time' : ''}, the next page starts after the last item of the previous page, even if that item was removed`, async () => {
        const start = Date.now() + ++memberCount * 1_000;
        let tick = 0;
        p.clock.now = () => start + (same ? 0 : tick++);
        for (let n = 0; n < 5; n++) {
          const { user_id } = await addMember(p, 'MEMBER', p.tenant_id, `m${++memberCount}@example.com`);
          await add?.(user_id);
        }
        const all = idsOf(await p.send('GET', `${path}?sort=${sort}`));
        assert.ok(all.length >= 5);
        const removed: string[] = [];
        const seen = await walk(`${path}?sort=${sort}&limit=2`, async (last) => {
          if (last === own) return;
          assert.is((await p.send('DELETE', remove(last))).status, 204);
          removed.push(last);
        });
        assert.equal(seen, all);
        assert.ok(removed.length > 0);
        assert.equal(
          idsOf(await p.send('GET', `${path}?sort=${sort}`)),
          all.filter((id) => !removed.includes(id)),
        );
      });

test("the next page of an agent's history starts where the previous one ended, even if the agent changes in between", async () => {
  for (const name of ['B', 'C', 'D']) await p.send('PATCH', agent, { body: { name } });
  const ids = ({ body }: Answer) => (body as { event_id: string }[]).map(({ event_id }) => event_id);
  const all = ids(await p.send('GET', `${agent}/history?limit=200`));
  const seen: string[] = [];
  for (let next: string | undefined = `${agent}/history?limit=5`; next; ) {
    const page: Answer = await p.send('GET', next);
    seen.push(...ids(page));
    next = nextOf(page);
    await p.send('PATCH', agent, { body: { name: `Agent ${seen.length}` } });
  }
  assert.equal(seen, all);
});

test('reading the first page of a long history reads each event at most once; reading a later page reads the events of that page and at most 200 earlier ones', async () => {
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Old', slug: 'old' } });
  const long = created.headers.get('location')!;
  const CHANGES = 500;
  for (let n = 0; n < CHANGES; n++) await p.send('PATCH', long, { body: { voice: `voice ${n}` } });
  const { read } = p.log;
  let reads = 0;
  p.log.read = async function* (...call) {
    for await (const event of read(...call)) {
      if (event.category === 'agent') reads++;
      yield event;
    }
  };
  type Entry = { revision: number; changes: { pointer: string; from: unknown; to: unknown }[] };
  const seen: Entry[] = [];
  const cost: number[] = [];
  for (let next: string | undefined = `${long}/history?limit=25`; next; cost.push(reads)) {
    reads = 0;
    const page: Answer = await p.send('GET', next);
    assert.is(page.headers.get('total-count'), String(CHANGES + 1));
    seen.push(...(page.body as Entry[]));
    next = nextOf(page);
  }
  p.log.read = read;
  const voice = (n: number) => (n < 0 ? null : `voice ${n}`);
  for (const [n, { revision, changes }] of seen.slice(0, -1).entries()) {
    const at = CHANGES - n - 1;
    assert.equal([revision, changes], [at + 1, [{ pointer: '/voice', from: voice(at - 1), to: voice(at) }]]);
  }
  assert.is(seen.length, CHANGES + 1);
  assert.ok(cost[0]! <= CHANGES + 1, `${cost}`);
  for (const pages of cost.slice(1)) assert.ok(pages <= 225, `${cost}`);
});

test('if a cursor is invalid, the request is refused and the error points to the cursor', async () => {
  const written = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const wrong = [
    'x',
    'e30',
    'W10',
    '%00',
    own,
    ...[[], ['-created_at']].flatMap((order) => [
      written([0.5, own, ...order]),
      written(['yesterday', own, ...order]),
      written(['2026-01-01T00:00:00.000Z', null, ...order]),
    ]),
  ];
  for (const path of [...LISTS.map((list) => list.path), `${agent}/history`])
    for (const cursor of wrong) {
      const { status, body, text } = await p.send('GET', `${path}?cursor=${cursor}`);
      assert.equal([status, (body as { errors: { pointer: string }[] }).errors?.[0]?.pointer], [422, '/query/cursor'], `${cursor} ${text}`);
    }
});

test('a cursor is refused in another order of its list; another limit or filter is allowed', async () => {
  const cursorOf = (answer: Answer): string => new URL(nextOf(answer)!, 'http://annals.test').searchParams.get('cursor')!;
  const lists: readonly (readonly [path: string, same: readonly string[], others: readonly string[]])[] = [
    [`${p.tenant}/members?`, ['', 'sort=-created_at', 'limit=7'], ['sort=created_at']],
    [`${p.tenant}/audit-logs?`, ['', 'sort=-created_at', 'by=people'], ['sort=created_at']],
    [`${p.tenant}/agents?`, ['', 'sort=-created_at', 'q=a'], ['sort=created_at', 'sort=name', 'sort=-name', 'sort=-queue']],
    [`${p.tenant}/agents?sort=name&`, ['q=a'], []],
    [`${p.tenant}/agents?sort=-queue&`, ['', 'limit=7'], []],
  ];
  for (const [path, same, others] of lists) {
    const cursor = cursorOf(await p.send('GET', `${path}limit=1`));
    for (const query of same) {
      const { status, text } = await p.send('GET', `${path}${query}&cursor=${cursor}`);
      assert.is(status, 200, `${path}${query}: ${text}`);
    }
    for (const query of others) {
      const { status, body } = await p.send('GET', `${path}${query}&cursor=${cursor}`);
      assert.equal([status, (body as { errors: { pointer: string }[] }).errors?.[0]?.pointer], [422, '/query/cursor'], path + query);
    }
  }
  const byQueue = cursorOf(await p.send('GET', `${p.tenant}/agents?sort=-queue&limit=1`));
  assert.is((await p.send('GET', `${p.tenant}/agents?sort=-activity&cursor=${byQueue}`)).status, 422);
});

afterLastTest(() => p.close());

test.run();
