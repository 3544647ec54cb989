import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readYourWrites } from '../../api/http/read-your-writes.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Answer, createInMemoryPlatform } from '../fixtures/in-memory-platform.ts';
import { addMember } from '../fixtures/users.ts';

const timed = async <T>(work: Promise<T>): Promise<{ result: T; ms: number }> => {
  const began = performance.now();
  return { result: await work, ms: performance.now() - began };
};

test('whoever has written something reads it next, in lists and by itself, however late the views are', async () => {
  const p = await createInMemoryPlatform();
  // Some events wait behind each other, and nobody is waited for longer than 250 ms.
  p.projectionDelay.ms = 25;
  for (let n = 0; n < 5; n++) {
    const { status, body } = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: `one-${n}` } });
    assert.is(status, 201);
    const path = `${p.tenant}/agents/${(body as { id: string }).id}`;
    assert.is((await p.send('GET', path)).status, 200);
    await p.send('PATCH', path, { body: { name: 'Between' } });
    const exported = await p.send('GET', `${p.tenant}/audit-logs/export`);
    assert.is(exported.text.split('"agent.updated"').length - 1, 2 * n + 1);
    await p.send('PATCH', path, { body: { name: 'Two' } });
    assert.is(((await p.send('GET', path)).body as { name: string }).name, 'Two');
    const listed = await p.send('GET', `${p.tenant}/agents?limit=1`);
    assert.is((listed.body as { name: string }[])[0]!.name, 'Two');
    assert.is(listed.headers.get('total-count'), String(n + 1));
    await p.send('DELETE', path);
    assert.is((await p.send('GET', path)).status, 404);
    await p.send('POST', `${path}/restore`, { body: {} });
    assert.is((await p.send('GET', path)).status, 200);
  }
  await p.close();
});

test('who has made an agent finds it counted in its tenant next, and waits for that by a token', async () => {
  const p = await createInMemoryPlatform();
  p.projectionDelay.ms = 25;
  const path = `/admin/tenants/${p.tenant_id}`;
  const counted = async (headers = {}) => ((await p.send('GET', path, { headers })).body as { agent_count: number }).agent_count;
  await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } });
  assert.is(await counted(), 1);
  p.projectionDelay.ms = 300;
  const made = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Two', slug: 'two' } });
  assert.is(await counted({ 'consistency-token': made.headers.get('consistency-token')! }), 2);
  await p.close();
});

/** The fastest of some of the same: a busy machine holds one up, but not all. */
const fastest = async <T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> => {
  const all = [await timed(work()), await timed(work()), await timed(work())];
  return all.toSorted((a, b) => a.ms - b.ms)[0]!;
};

test('who has written nothing waits for nobody', async () => {
  const p = await createInMemoryPlatform();
  const auditor = await addMember(p, 'AUDITOR');
  await p.waitForProjections();
  p.projectionDelay.ms = 3_000;
  await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } });
  const { result, ms } = await fastest(() => p.send('GET', `${p.tenant}/agents`, { key: auditor.key }));
  assert.equal([result.status, result.body], [200, []]);
  assert.ok(ms < 200, `${ms}`);
  await p.close();
});

test('a view that is far behind holds a list up for a quarter of a second, and those behind it not at all', async () => {
  const p = await createInMemoryPlatform();
  await p.waitForProjections();
  p.projectionDelay.ms = 3_000;
  await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } });
  const first = await timed(p.send('GET', `${p.tenant}/agents`));
  assert.equal(first.result.body, []);
  assert.ok(first.ms > 240 && first.ms < 1_000, `${first.ms}`);
  const second = await fastest(() => p.send('GET', `${p.tenant}/agents`));
  assert.equal(second.result.body, []);
  assert.ok(second.ms < 200, `${second.ms}`);
  await p.close();
});

/** Nothing comes to the views until what is given back is called. */
const halted = (p: Awaited<ReturnType<typeof createInMemoryPlatform>>) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  p.projectionDelay.until = promise;
  return () => {
    p.projectionDelay.until = undefined;
    resolve();
    return p.waitForProjections();
  };
};

const shown = ({ status, text, headers }: Answer) => [status, status === 200 ? text : '', headers.get('etag')];

test('what has just been written to an agent is answered from memory, and the view says the same when it has come there', async () => {
  const p = await createInMemoryPlatform();
  const admin = await addMember(p, 'ADMIN');
  const models = ((await p.send('GET', `${p.tenant}/models`)).body as { id: string }[]).map(({ id }) => id);
  let path = '';
  const steps = [
    () => p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one', description: 'Line\nand "quotes"' } }),
    () => p.send('PATCH', path, { body: { name: 'Two', description: null } }),
    () => p.send('PUT', `${path}/models`, { body: { model_ids: models } }),
    () => p.send('PUT', `${path}/roles/${admin.user_id}`, { body: { role: 'VIEWER' } }),
    () => p.send('DELETE', path),
    () => p.send('POST', `${path}/restore`, { body: {} }),
  ];
  const asked = async (token: string): Promise<Answer[]> => {
    const answers = [];
    for (const url of [path, `${path}/models`])
      answers.push(await p.send('GET', url), await p.send('GET', url, { key: admin.key, headers: { 'consistency-token': token } }));
    return answers;
  };
  await p.waitForProjections();
  for (const step of steps) {
    const release = halted(p);
    const written = await step();
    path ||= `${p.tenant}/agents/${(written.body as { id: string }).id}`;
    const token = written.headers.get('consistency-token')!;
    const early = await asked(token);
    for (const { status, headers } of early) if (status === 200) assert.is(headers.get('projection-position'), token);
    const etag = early[0]!.headers.get('etag');
    if (etag) assert.is((await p.send('GET', path, { headers: { 'if-none-match': etag } })).status, 304);
    await release();
    assert.equal(early.map(shown), (await asked(token)).map(shown));
  }
  await p.close();
});

test('nobody waits for an agent that another has written to since; for what a token names beyond that, the view is waited for', async () => {
  const p = await createInMemoryPlatform();
  const admin = await addMember(p, 'ADMIN');
  await p.waitForProjections();
  const release = halted(p);
  const made = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } });
  const path = `${p.tenant}/agents/${(made.body as { id: string }).id}`;
  const changed = await p.send('PATCH', path, { key: admin.key, body: { name: 'Two' } });
  const naming = (answer: Answer) => ({ headers: { 'consistency-token': answer.headers.get('consistency-token')! } });
  for (const sent of [naming(made), {}]) {
    const { body, headers } = await p.send('GET', path, sent);
    assert.is((body as { name: string }).name, 'Two');
    assert.is(headers.get('projection-position'), changed.headers.get('consistency-token'));
  }
  const beyond = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Other', slug: 'other' } });
  const found = p.send('GET', path, naming(beyond));
  assert.is(await Promise.race([found, sleep(100, 'waiting')]), 'waiting');
  await release();
  assert.is((await found).status, 200);
  await p.close();
});

const somebody: Principal = { kind: 'user', user_id: 'u', key_id: null, bound_to: null, super_admin: false };

test('the furthest of what was written at once is waited for, for two seconds', async () => {
  const asked: string[] = [];
  let clock = 0;
  const own = readYourWrites({ passed: async (view, token) => void asked.push(`${view} ${token}`) }, () => clock);
  own.recordWrite(somebody, { commit: 20n, prepare: 20n });
  own.recordWrite(somebody, { commit: 10n, prepare: 10n });
  own.recordWrite({ kind: 'system', name: 'annals' }, { commit: 30n, prepare: 30n });
  await own.waitForOwnWrites(somebody, ['agents', 'audit'], undefined);
  await own.waitForOwnWrites({ kind: 'system', name: 'annals' }, ['agents'], undefined);
  assert.equal(asked.splice(0), ['agents 20:20', 'audit 20:20']);
  clock = 2_001;
  await own.waitForOwnWrites(somebody, ['agents'], undefined);
  assert.equal(asked, []);
});

test('a view that was waited for in vain is waited for again after a second', async () => {
  let clock = 0;
  let asked = 0;
  const late = async () => {
    asked++;
    throw new Refusal('not_caught_up', 'not yet');
  };
  const own = readYourWrites({ passed: late }, () => clock);
  own.recordWrite(somebody, { commit: 20n, prepare: 20n });
  for (clock of [0, 1, 999]) await own.waitForOwnWrites(somebody, ['agents'], undefined);
  assert.is(asked, 1);
  clock = 1_001;
  await own.waitForOwnWrites(somebody, ['agents'], undefined);
  assert.is(asked, 2);
});

test.run();
