import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;
type Link = { model_id: string; access: string; priority: number; created_at: string };

const p = await createTestPlatform();
let count = 0;
const register = async (fields: Json = {}): Promise<string> => {
  const body = { provider: 'anthropic', slug: `m${count++}`, name: 'Model', ...fields };
  return ((await p.send('POST', '/admin/models', { body })).body as Json).id as string;
};
const patch = (id: string, body: Json): Promise<Answer> => p.send('PATCH', `/admin/models/${id}`, { body });
const pointerOf = ({ body }: Answer) => (body as { errors: { pointer: string; code: string }[] }).errors[0];
const createAgent = async (slug: string) =>
  ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug } })).body as Json).id as string;
const grant = (model: string, body: Json, key?: string) =>
  p.send('POST', `${p.tenant}/models/${model}/agents`, { body, ...(key ? { key } : {}) });
const chainOf = async (agent: string) =>
  ((await p.send('GET', `${p.tenant}/agents/${agent}/models`)).body as Link[]).map(({ model_id, access }) => [model_id, access]);
const typesSince = (index: number) => p.log.events.slice(index).map(({ type }) => type);

test('an update of a model changes the fields that it names, null resets a field, and a change of the status has its own event type', async () => {
  const id = await register({ description: 'Old', is_free: true });
  const start = p.log.events.length;
  const updated = await patch(id, { name: 'New', description: null, is_free: null, status: 'deprecated', pricing: { input_per_mtok: 3 } });
  const { name, description, is_free, status, pricing } = updated.body as Json;
  assert.equal(
    [updated.status, name, description, is_free, status, pricing],
    [200, 'New', null, false, 'deprecated', { input_per_mtok: 3 }],
  );
  assert.equal(typesSince(start), ['ModelUpdated', 'ModelStatusChanged']);
  await patch(id, { name: 'New', status: 'deprecated', description: null });
  assert.is(p.log.events.length, start + 2, 'the same update again appends no event');
  const listed = (await p.send('GET', '/admin/models?limit=200')).body as Json[];
  assert.equal(
    listed.find((model) => model.id === id),
    updated.body,
  );
  assert.is((await patch('c'.padEnd(25, '0'), { name: 'X' })).status, 404);
  assert.is((await patch(id, { slug: 'other' })).status, 422);
});

test('setting a failover chain is refused if the chain contains an unknown model, the same model twice or the model itself, or if it would form a cycle', async () => {
  const [a, b, c] = await Promise.all([register(), register(), register()]);
  assert.is((await patch(a, { failover_chain: [b] })).status, 200);
  assert.is((await patch(b, { failover_chain: [c] })).status, 200);
  const refused = async (id: string, failover_chain: string[], code: string) =>
    assert.is(pointerOf(await patch(id, { failover_chain }))?.code, code, code);
  await refused(a, [a], 'cycle');
  await refused(c, [a], 'cycle');
  await refused(c, [b], 'cycle');
  await refused(a, [b, b], 'duplicate');
  await refused(a, ['c'.padEnd(25, '0')], 'unknown_model');
  assert.is((await patch(b, { failover_chain: null })).status, 200);
  assert.is((await patch(c, { failover_chain: [a] })).status, 200, 'without the link from b to c, there is no cycle');
});

test('if two requests at the same time set failover chains that together would form a cycle, one of the requests is refused', async () => {
  for (let round = 0; round < 5; round++) {
    const [a, b, c] = await Promise.all([register(), register(), register()]);
    const ring: [string, string][] = [
      [a, b],
      [b, c],
      [c, a],
    ];
    const answers = await Promise.all(ring.map(([id, next]) => patch(id, { failover_chain: [next] })));
    assert.equal(answers.map(({ status }) => status).sort(), [200, 200, 422]);
    assert.equal(
      answers.filter(({ status }) => status === 422).map((answer) => pointerOf(answer)!.code),
      ['cycle'],
    );
  }
});

test('setting the present failover chain again appends no event; a repeated request with the same Idempotency-Key gets the same response', async () => {
  const [a, b] = await Promise.all([register(), register()]);
  const send = () => p.send('PATCH', `/admin/models/${a}`, { body: { failover_chain: [b] }, headers: { 'idempotency-key': `chain-${a}` } });
  const first = await send();
  const start = p.log.events.length;
  const again = await send();
  assert.equal([again.status, again.body, again.headers.get('etag')], [200, first.body, first.headers.get('etag')]);
  assert.is((await patch(a, { failover_chain: [b] })).status, 200);
  assert.is(p.log.events.length, start);
});

test('registering a model is refused unless its token prices are numbers from 0 to 1,000,000; other entries of its pricing can have any form', async () => {
  const id = await register();
  const price = async (pricing: Json) => (await patch(id, { pricing })).status;
  for (const value of [0, 0.0001, 1_000_000]) assert.is(await price({ input_per_mtok: value }), 200, String(value));
  assert.is(await price({ images: { small: 'free' } }), 200);
  for (const value of [-0.0001, 1_000_000.1, '3', null, [3]]) {
    const answer = await patch(id, { pricing: { output_per_mtok: value } });
    assert.equal([answer.status, pointerOf(answer)?.pointer], [422, '/pricing/output_per_mtok'], String(value));
  }
});

test("only tenants for which a model is open can list it and add it to chains; closing the model for a tenant does not change that tenant's existing chains", async () => {
  const id = await register({ available_to_all_tenants: false });
  const other = await createSecondTenant(p);
  const agent = await createAgent('opened');
  const lists = async (tenant: string, key?: string) =>
    ((await p.send('GET', `${tenant}/models?limit=200`, key ? { key } : {})).body as Json[]).some((model) => model.id === id);
  assert.equal([await lists(p.tenant), (await grant(id, { agent_id: agent })).status], [false, 404]);
  const start = p.log.events.length;
  assert.is((await p.send('PUT', `/admin/models/${id}/tenants/${p.tenant_id}`)).status, 204);
  assert.is((await p.send('PUT', `/admin/models/${id}/tenants/${p.tenant_id}`)).status, 204);
  assert.equal(typesSince(start), ['ModelOpenedToTenant']);
  assert.equal([await lists(p.tenant), await lists(other.tenant, other.key)], [true, false]);
  assert.is((await grant(id, { agent_id: agent })).status, 201);
  assert.is((await p.send('DELETE', `/admin/models/${id}/tenants/${p.tenant_id}`)).status, 204);
  assert.equal([await lists(p.tenant), await chainOf(agent)], [false, [[id, 'full']]]);
  assert.is((await p.send('PUT', `/admin/models/${id}/tenants/${'c'.padEnd(25, '0')}`)).status, 404);
});

test('granting a model to an agent inserts the model into the chain at the given priority; granting it again moves it; revoking it moves the models after it up', async () => {
  const agent = await createAgent('chain');
  const [a, b, c] = await Promise.all([register(), register(), register()]);
  assert.is((await grant(a, { agent_id: agent })).status, 201);
  assert.is((await grant(b, { agent_id: agent })).status, 201);
  const granted = await grant(c, { agent_id: agent, access: 'read_only', priority: 1 });
  const { model_id, access, priority, agent_id } = granted.body as Json;
  assert.equal([granted.status, model_id, access, priority, agent_id], [201, c, 'read_only', 1, agent]);
  assert.equal(await chainOf(agent), [
    [b, 'full'],
    [c, 'read_only'],
    [a, 'full'],
  ]);
  const events = p.log.events.length;
  assert.is((await grant(c, { agent_id: agent, access: 'read_only', priority: 1 })).status, 200);
  assert.is(p.log.events.length, events, 'the same grant again appends no event');
  await grant(b, { agent_id: agent, priority: 4 });
  assert.equal(
    (await chainOf(agent)).map(([id]) => id),
    [c, a, b],
  );
  assert.is((await p.send('DELETE', `${p.tenant}/models/${a}/agents/${agent}`)).status, 204);
  assert.equal(
    (await chainOf(agent)).map(([id]) => id),
    [c, b],
  );
  assert.is((await p.send('DELETE', `${p.tenant}/models/${a}/agents/${agent}`)).status, 404);
});

test('a model can be granted with a priority from 0 to 4; a request with any other priority is refused', async () => {
  const agent = await createAgent('priorities');
  const id = await register();
  for (const priority of [0, 4]) assert.ok((await grant(id, { agent_id: agent, priority })).status < 300, String(priority));
  for (const priority of [-1, 5, 1.5, '1', null, true]) {
    const answer = await grant(id, { agent_id: agent, priority });
    assert.equal([answer.status, pointerOf(answer)?.pointer], [422, '/priority'], String(priority));
  }
  for (const access of ['full', 'read_only']) assert.is((await grant(id, { agent_id: agent, access })).status < 300, true, access);
  assert.is((await grant(id, { agent_id: agent, access: 'write' })).status, 422);
});

test('granting a sixth model to an agent gets 409', async () => {
  const agent = await createAgent('full');
  const models = await Promise.all(Array.from({ length: 6 }, () => register()));
  for (const [index, id] of models.entries()) assert.is((await grant(id, { agent_id: agent })).status, index < 5 ? 201 : 409);
});

test('granting a model to an agent is refused if the caller may not change the settings of the agent', async () => {
  const agent = await createAgent('guarded');
  const member = await addMember(p, 'MEMBER', p.tenant_id, 'grants@example.com');
  const id = await register();
  assert.is((await grant(id, { agent_id: agent }, member.key)).status, 404);
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${member.user_id}`, { body: { role: 'VIEWER' } });
  assert.is((await grant(id, { agent_id: agent }, member.key)).status, 403);
  assert.is((await patch(id, { status: 'disabled' })).status, 200);
  assert.is((await grant(id, { agent_id: agent })).status, 422, 'a disabled model');
});

afterLastTest(() => p.close());

test.run();
