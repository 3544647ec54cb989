import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;
type Link = { agent_id: string; model_id: string; access: string; priority: number; created_at: string };

const p = await createTestPlatform();
let count = 0;
const postModel = (fields: Json = {}) =>
  p.send('POST', '/admin/models', { body: { provider: 'anthropic', slug: `m${count++}`, name: 'Model', ...fields } });
const registerModel = async (fields: Json = {}): Promise<string> => ((await postModel(fields)).body as Json).id as string;
const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as Json;
const path = `${p.tenant}/agents/${agent.id}/models`;
const put = (...model_ids: unknown[]): Promise<Answer> => p.send('PUT', path, { body: { model_ids } });
const idsOf = ({ body }: Answer) => (body as Link[]).map(({ model_id }) => model_id);
const pointerOf = ({ body }: Answer) => (body as { errors: { pointer: string }[] }).errors[0]!.pointer;
const assertInvalid = (answer: Answer, pointer: string) => assert.equal([answer.status, pointerOf(answer)], [422, pointer], answer.text);

const [a, b, c, d, e, f] = await Promise.all(Array.from({ length: 6 }, () => registerModel()));

test('a model chain has the order of the request, with priorities from 0, in the response and in later reads', async () => {
  const answer = await put(a, b, c);
  const links = answer.body as Link[];
  assert.equal([answer.status, idsOf(answer)], [200, [a, b, c]]);
  assert.equal(
    links.map(({ priority, access, agent_id }) => [priority, access, agent_id]),
    [0, 1, 2].map((n) => [n, 'full', agent.id]),
  );
  await p.waitForProjections();
  const read = await p.send('GET', path);
  assert.equal([read.body, read.headers.get('etag')], [links, answer.headers.get('etag')]);
});

test('reordering a model chain keeps the date on which each model was added; sending the present order appends no event', async () => {
  const before = (await put(a, b, c)).body as Link[];
  const events = p.log.events.length;
  assert.equal((await put(a, b, c)).body, before);
  assert.is(p.log.events.length, events);
  const after = (await put(c, a)).body as Link[];
  const since = (links: Link[], id: string | undefined) => links.find(({ model_id }) => model_id === id)!.created_at;
  for (const id of [a, c]) assert.is(since(after, id), since(before, id));
});

test('setting a model chain is refused unless the chain contains 1 to 5 models, all different', async () => {
  assert.is((await put(a, b, c, d, e)).status, 200);
  for (const [ids, pointer] of [
    [[], '/model_ids'],
    [[a, b, c, d, e, f], '/model_ids'],
    [[a, b, a], '/model_ids'],
    [['x'], '/model_ids/0'],
    [[a, null], '/model_ids/1'],
    [[a, `${a}\n`], '/model_ids/1'],
    [[a, a!.toUpperCase()], '/model_ids/1'],
  ] as const)
    assertInvalid(await put(...ids), pointer);
  assert.is((await p.send('PUT', path, { body: {} })).status, 422);
  assert.equal(idsOf(await p.send('GET', path)).length, 5);
});

test('setting a chain is refused if one of its models is unknown, disabled or not available to the tenant, and the error points to that model', async () => {
  const wrong = [
    `c${'0'.repeat(24)}`,
    await registerModel({ status: 'disabled' }),
    await registerModel({ available_to_all_tenants: false }),
    String(agent.id),
  ];
  for (const id of wrong) assertInvalid(await put(a, id), '/model_ids/1');
  for (const status of ['experimental', 'deprecated']) assert.is((await put(a, await registerModel({ status }))).status, 200, status);
});

test('each response to simultaneous changes of a model chain shows its own change; that with the highest ETag stays', async () => {
  const chains = [[a, b], [c, d, e], [b, a], [e]];
  const answers = await Promise.all(chains.map((chain) => put(...chain)));
  for (const [index, answer] of answers.entries()) assert.equal(idsOf(answer), chains[index]);
  await p.waitForProjections();
  assert.ok(chains.some((chain) => JSON.stringify(chain) === JSON.stringify(idsOf(answers.at(-1)!))));
  const last = answers
    .toSorted((one, other) => Number(one.headers.get('etag')!.slice(1, -1)) - Number(other.headers.get('etag')!.slice(1, -1)))
    .at(-1)!;
  assert.equal(idsOf(await p.send('GET', path)), idsOf(last));
});

test("registering a second model with the same provider and slug gets 409; a tenant's list of models contains only those it may use, without their field config", async () => {
  assert.equal((await postModel({ slug: 'm0' })).status, 409);
  assert.is((await postModel({ slug: 'm0', provider: 'openai' })).status, 201);
  const secret = await registerModel({ config: { region: 'eu-hidden' }, pricing: { input_per_mtok: 3 } });
  const closed = await registerModel({ available_to_all_tenants: false });
  await p.waitForProjections();
  const { key, tenant } = await createSecondTenant(p);
  const seen = (await p.send('GET', `${tenant}/models?limit=200`, { key })).body as Json[];
  const shown = seen.find(({ id }) => id === secret)!;
  assert.equal([shown.pricing, 'config' in shown], [{ input_per_mtok: 3 }, false]);
  assert.not.ok(seen.some(({ id }) => id === closed));
  const all = (await p.send('GET', '/admin/models?limit=200')).body as Json[];
  assert.equal(all.find(({ id }) => id === secret)!.config, { region: 'eu-hidden' });
  assert.ok(all.some(({ id }) => id === closed));
});

test('a new model has default values for optional fields that the request lacks; a request with a value that is too long or has a wrong type is refused', async () => {
  const { body } = await postModel();
  const rest = omit(body as Json, 'id', 'created_at', 'updated_at', 'slug');
  const empty = { config: {}, pricing: {}, description: null, failover_chain: [] };
  assert.equal(rest, { provider: 'anthropic', name: 'Model', available_to_all_tenants: true, is_free: false, status: 'active', ...empty });
  for (const [field, limit] of [
    ['name', 128],
    ['provider', 64],
  ] as const) {
    assert.is((await postModel({ [field]: 'é'.repeat(limit) })).status, 201);
    assertInvalid(await postModel({ [field]: 'é'.repeat(limit + 1) }), `/${field}`);
  }
  for (const [field, value] of [
    ['status', 'gone'],
    ['config', []],
    ['pricing', null],
    ['failover_chain', ['x']],
    ['is_free', 1],
  ] as const)
    assert.is((await postModel({ [field]: value })).status, 422, field);
});

afterLastTest(() => p.close());

test.run();
