import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { projections } from '../../projections/registry.ts';
import { createAnswerCheck } from '../fixtures/documented-answers.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import type { TestPlatform } from '../fixtures/users.ts';

const createAgent = (p: TestPlatform, slug: string) => p.send('POST', `${p.tenant}/agents`, { body: { name: slug, slug } });
const slugsOf = async (p: TestPlatform): Promise<string[]> =>
  ((await p.send('GET', `${p.tenant}/agents?sort=slug`)).body as { slug: string }[]).map(({ slug }) => slug);

test('after the test platform has answered a request, every projection is at the end of the log, and lists contain what the request created', async () => {
  const p = await createTestPlatform();
  for (const slug of ['a', 'b', 'c']) {
    assert.is((await createAgent(p, slug)).status, 201);
    const end = tokenOf(p.log.events.at(-1)!.position);
    for (const { name } of projections) assert.is(p.reads.position(name), end, name);
  }
  assert.equal(await slugsOf(p), ['a', 'b', 'c']);
  await Promise.all(['d', 'e', 'f', 'g'].map((slug) => createAgent(p, slug)));
  assert.equal(await slugsOf(p), ['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  await p.close();
});

test("test platforms that run at the same time, or one after the other, do not see each other's rows", async () => {
  const [one, two] = [await createTestPlatform(), await createTestPlatform()];
  await createAgent(one, 'one');
  await createAgent(two, 'two');
  assert.equal([await slugsOf(one), await slugsOf(two)], [['one'], ['two']]);
  for (const p of [one, two]) await p.close();
  const next = await createTestPlatform();
  const tenants = (await next.send('GET', '/admin/tenants')).body as { id: string }[];
  assert.equal([await slugsOf(next), tenants.map(({ id }) => id)], [[], [next.tenant_id]]);
  await next.close();
});

test('events that a test holds back reach the read models only when the test releases them', async () => {
  const p = await createTestPlatform();
  const held = Promise.withResolvers<void>();
  p.projectionDelay.until = held.promise;
  const before = p.reads.position('agents');
  assert.is((await createAgent(p, 'late')).status, 201);
  await sleep(50);
  assert.is(p.reads.position('agents'), before);
  p.projectionDelay.until = undefined;
  held.resolve();
  await p.waitForProjections();
  assert.equal(await slugsOf(p), ['late']);
  await p.close();
});

test('after the test platform is closed, an append fails instead of waiting forever', async () => {
  const p = await createTestPlatform();
  await p.close();
  assert.is((await createAgent(p, 'closed')).status, 500);
});

test('a test fails if the OpenAPI document does not allow a response that it gets', async () => {
  const p = await createTestPlatform();
  const check = createAnswerCheck(p.operations);
  const json = new Headers({ 'content-type': 'application/json' });
  const hook = { method: 'POST', path: '/hooks/inbound/x?a=1', headers: json };
  const allowed = { ...hook, status: 200, text: '{"type":1}' };
  check(allowed);
  const list = { method: 'GET', path: `${p.tenant}/agents`, headers: json, status: 200 };
  check({ ...list, text: '[]' });
  check({ ...list, path: '/no/such/path', status: 299, text: '1' });
  const wrong = [
    { ...allowed, text: '{"type":2}' },
    { ...allowed, text: '{"type":1,"more":1}' },
    { ...allowed, status: 206 },
    { ...allowed, headers: new Headers({ 'content-type': 'application/vnd.x+json' }) },
    { ...list, text: '[{"id":1}]' },
  ];
  for (const one of wrong) assert.throws(() => check(one), /does not allow/, JSON.stringify(one));
  await p.close();
});

test.run();
