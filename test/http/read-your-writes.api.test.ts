import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readYourWrites } from '../../api/http/read-your-writes.ts';
import type { Principal } from '../../domain/principal.ts';
import { Refusal } from '../../domain/refusal.ts';
import { loadFactor, repeatIfBusy } from '../fixtures/load-factor.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

const timed = async <T>(work: Promise<T>): Promise<{ result: T; ms: number }> => {
  const startedAt = performance.now();
  return { result: await work, ms: performance.now() - startedAt };
};

test('a caller reads its own writes in lists and single resources, even if the projections lag', () =>
  repeatIfBusy(async () => {
    const p = await createTestPlatform();
    // Apply each event to the read models with a delay of 25 ms. Several events take several times as long, but a read
    // waits for at most 250 ms.
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
  }));

test("a tenant's agent count includes an agent that the caller has just created, even if the projection is slow", async () => {
  const p = await createTestPlatform();
  p.projectionDelay.ms = 25;
  const path = `/admin/tenants/${p.tenant_id}`;
  const counted = async (headers = {}) => ((await p.send('GET', path, { headers })).body as { agent_count: number }).agent_count;
  await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } });
  assert.is(await counted(), 1);
  p.projectionDelay.ms = 300;
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Two', slug: 'two' } });
  assert.is(await counted({ 'consistency-token': created.headers.get('consistency-token')! }), 2);
  await p.close();
});

test('a read of several projections waits for each of them, and shows the lowest of their positions and the longest lag', async () => {
  const p = await createTestPlatform();
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } });
  const token = created.headers.get('consistency-token')!;
  const waited: string[] = [];
  Object.assign(p.reads, {
    passed: async (projection: string, position: string) => void waited.push(`${projection} ${position}`),
    position: (projection: string) => (projection === 'blackouts' ? '10:10' : '9999:9999'),
    behindMs: (projection: string) => (projection === 'blackouts' ? 3_000 : 0),
  });
  const path = `${p.tenant}/cron-occurrences?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z`;
  const { headers, status, text } = await p.send('GET', path, { headers: { 'consistency-token': token } });
  assert.is(status, 200, text);
  assert.equal(waited.toSorted(), [`blackouts ${token}`, `cron_jobs ${token}`]);
  assert.equal([headers.get('projection-position'), headers.get('projection-lag')], ['10:10', '3']);
  await p.close();
});

/**
 * Measures the work three times, because a busy machine can delay a single run. @returns the result, and the duration
 * of the fastest run in milliseconds
 */
const fastest = async <T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> => {
  const all = [await timed(work()), await timed(work()), await timed(work())];
  return all.toSorted((a, b) => a.ms - b.ms)[0]!;
};

test('a read by a caller without recent writes does not wait for the projections', async () => {
  const p = await createTestPlatform();
  const auditor = await addMember(p, 'AUDITOR');
  await p.waitForProjections();
  p.projectionDelay.ms = 3_000;
  await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } });
  const { result, ms } = await fastest(() => p.send('GET', `${p.tenant}/agents`, { key: auditor.key }));
  assert.equal([result.status, result.body], [200, []]);
  assert.ok(ms < 200 * loadFactor(), `${ms}`);
  await p.close();
});

test("if a projection is far behind, the first read of a list by a caller waits 250 ms, and the caller's next reads do not wait", async () => {
  const p = await createTestPlatform();
  await p.waitForProjections();
  p.projectionDelay.ms = 3_000;
  await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } });
  const first = await timed(p.send('GET', `${p.tenant}/agents`));
  assert.equal(first.result.body, []);
  assert.ok(first.ms > 240 && first.ms < 1_000 * loadFactor(), `${first.ms}`);
  const second = await fastest(() => p.send('GET', `${p.tenant}/agents`));
  assert.equal(second.result.body, []);
  assert.ok(second.ms < 200 * loadFactor(), `${second.ms}`);
  await p.close();
});

/** Stops the projections. @returns a function that lets them continue */
const stopProjections = (p: Awaited<ReturnType<typeof createTestPlatform>>) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  p.projectionDelay.until = promise;
  return () => {
    p.projectionDelay.until = undefined;
    resolve();
    return p.waitForProjections();
  };
};

const shown = ({ status, text, headers }: Answer) => [status, status === 200 ? text : '', headers.get('etag')];

test('an agent whose change the projection has not applied yet is read from the aggregate cache; when the projection has applied it, the read model shows the same', async () => {
  const p = await createTestPlatform();
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
  const readAll = async (token: string): Promise<Answer[]> => {
    const answers = [];
    for (const url of [path, `${path}/models`])
      answers.push(await p.send('GET', url), await p.send('GET', url, { key: admin.key, headers: { 'consistency-token': token } }));
    return answers;
  };
  await p.waitForProjections();
  for (const step of steps) {
    const release = stopProjections(p);
    const written = await step();
    path ||= `${p.tenant}/agents/${(written.body as { id: string }).id}`;
    const token = written.headers.get('consistency-token')!;
    const early = await readAll(token);
    for (const { status, headers } of early) if (status === 200) assert.is(headers.get('projection-position'), token);
    const etag = early[0]!.headers.get('etag');
    if (etag) assert.is((await p.send('GET', path, { headers: { 'if-none-match': etag } })).status, 304);
    await release();
    assert.equal(early.map(shown), (await readAll(token)).map(shown));
  }
  await p.close();
});

test('a read of a cached agent does not wait, unless the request has a consistency token beyond the cached state', async () => {
  const p = await createTestPlatform();
  const admin = await addMember(p, 'ADMIN');
  await p.waitForProjections();
  const release = stopProjections(p);
  const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'One', slug: 'one' } });
  const path = `${p.tenant}/agents/${(created.body as { id: string }).id}`;
  const changed = await p.send('PATCH', path, { key: admin.key, body: { name: 'Two' } });
  const naming = (answer: Answer) => ({ headers: { 'consistency-token': answer.headers.get('consistency-token')! } });
  for (const sent of [naming(created), {}]) {
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

const user: Principal = { kind: 'user', user_id: 'u', key_id: null, bound_to: null, super_admin: false };

test("a read waits until the projections that it uses include the caller's latest write, unless that write is more than two seconds old", async () => {
  const waits: string[] = [];
  let clock = 0;
  const ownWrites = readYourWrites({ passed: async (view, token) => void waits.push(`${view} ${token}`) }, () => clock);
  ownWrites.recordWrite(user, { commit: 20n, prepare: 20n });
  ownWrites.recordWrite(user, { commit: 10n, prepare: 10n });
  ownWrites.recordWrite({ kind: 'system', name: 'annals' }, { commit: 30n, prepare: 30n });
  await ownWrites.waitForOwnWrites(user, ['agents', 'audit'], undefined);
  await ownWrites.waitForOwnWrites({ kind: 'system', name: 'annals' }, ['agents'], undefined);
  assert.equal(waits.splice(0), ['agents 20:20', 'audit 20:20']);
  clock = 2_001;
  await ownWrites.waitForOwnWrites(user, ['agents'], undefined);
  assert.equal(waits, []);
});

test('after a read has waited for a projection without success, reads by the caller do not wait for it for a second', async () => {
  let clock = 0;
  let waits = 0;
  const late = async () => {
    waits++;
    throw new Refusal('not_caught_up', 'not yet');
  };
  const ownWrites = readYourWrites({ passed: late }, () => clock);
  ownWrites.recordWrite(user, { commit: 20n, prepare: 20n });
  for (clock of [0, 1, 999]) await ownWrites.waitForOwnWrites(user, ['agents'], undefined);
  assert.is(waits, 1);
  clock = 1_001;
  await ownWrites.waitForOwnWrites(user, ['agents'], undefined);
  assert.is(waits, 2);
});

test.run();
