import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

const p = await createTestPlatform();

/** Creates a plan with these limits, and a tenant that has this plan. */
const tenantWith = async (slug: string, limits: { agents?: number; members?: number }) => {
  const all = { agents: 3, members: 3, cron_jobs: 1, webhooks_per_minute: 1, ...limits };
  const plan = await p.send('POST', '/admin/plans', { body: { slug, name: slug, monthly_usd: 0, limits: all } });
  const plan_id = (plan.body as { id: string }).id;
  const created = await p.send('POST', '/admin/tenants', { body: { name: slug, slug, plan_id, owner_email: `${slug}@example.com` } });
  const { id, owner_key: key } = created.body as { id: string; owner_key: string };
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    p.send(method, `/tenant/${id}${path}`, { key, headers, ...(body === undefined ? {} : { body }) });
  const create = (name: string, headers?: Record<string, string>) => send('POST', '/agents', { name, slug: name }, headers);
  return { id, plan_id, send, create };
};

const problemOf = ({ status, body }: Answer) => [status, (body as { code?: string }).code, (body as { limit?: string }).limit];
const LIMIT_REACHED = [409, 'plan_limit', 'agents'];

test('if a hundred requests create an agent at the same time, exactly as many of them succeed as the plan allows', async () => {
  const { create, send } = await tenantWith('many', { agents: 7 });
  const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => create(`agent-${n}`)));
  assert.is(answers.filter(({ status }) => status === 201).length, 7);
  for (const answer of answers) if (answer.status !== 201) assert.equal(problemOf(answer), LIMIT_REACHED);
  await p.waitForProjections();
  assert.is(((await send('GET', '/agents')).body as unknown[]).length, 7);
});

test('a deleted agent no longer counts against the agent limit of the plan; a restored agent counts again', async () => {
  const { create, send } = await tenantWith('room', { agents: 2 });
  const first = await create('first');
  await create('second');
  assert.equal(problemOf(await create('third')), LIMIT_REACHED);
  assert.equal(problemOf(await create('second')).slice(0, 2), [409, 'slug_taken'], 'slug_taken comes before plan_limit');
  const path = `/agents/${(first.body as { id: string }).id}`;
  assert.is((await send('DELETE', path)).status, 204);
  assert.is((await create('third')).status, 201);
  assert.equal(problemOf(await send('POST', `${path}/restore`, {})), LIMIT_REACHED);
  assert.is(
    (await send('PATCH', `/agents/${((await send('GET', '/agents')).body as { id: string }[])[0]!.id}`, { name: 'Other' })).status,
    200,
  );
});

test('creating an agent beyond the limit of the plan is refused; the slug of a deleted agent stays reserved, and the deleted agent can still be restored', async () => {
  const { create, send } = await tenantWith('refused', { agents: 1 });
  const first = `/agents/${((await create('first')).body as { id: string }).id}`;
  await send('DELETE', first);
  const second = `/agents/${((await create('second')).body as { id: string }).id}`;
  assert.equal(problemOf(await create('first')), LIMIT_REACHED);
  await send('DELETE', second);
  assert.is((await send('POST', `${first}/restore`, {})).status, 200);
});

test('a repeated request to create an agent with the same Idempotency-Key gets the first response, even if the limit of the plan was reached in between', async () => {
  const { create } = await tenantWith('again', { agents: 1 });
  const key = { 'idempotency-key': 'one' };
  const created = await create('only', key);
  assert.is(created.status, 201);
  assert.equal(problemOf(await create('next')), LIMIT_REACHED);
  assert.is((await create('only', key)).text, created.text);
});

test('an invitation beyond the member limit of the plan is refused, and no user is registered', async () => {
  const { send } = await tenantWith('people', { members: 3 });
  const invite = (name: string) => send('POST', '/members', { email: `${name}@people.example` });
  const answers = await Promise.all(['a', 'b', 'c', 'd'].map(invite));
  assert.equal(answers.map(({ status }) => status).sort(), [201, 201, 409, 409]);
  const before = p.eventsOf('UserRegistered').length;
  assert.equal(problemOf(await invite('e')), [409, 'plan_limit', 'members']);
  assert.is(p.eventsOf('UserRegistered').length, before);
});

test('after a change to a larger plan, more agents can be created; a change to a smaller plan deletes no agent', async () => {
  const { id, create } = await tenantWith('larger', { agents: 1 });
  const { plan_id } = await tenantWith('roomy', { agents: 5 });
  const { plan_id: none } = await tenantWith('none', { agents: 0 });
  await create('one');
  assert.equal(problemOf(await create('two')), LIMIT_REACHED);
  assert.is((await p.send('PATCH', `/admin/tenants/${id}`, { body: { plan_id, reason: 'more' } })).status, 200);
  assert.is((await create('two')).status, 201);
  await p.send('PATCH', `/admin/tenants/${id}`, { body: { plan_id: none, reason: 'less' } });
  assert.equal(problemOf(await create('three')), LIMIT_REACHED);
});

afterLastTest(() => p.close());

test.run();
