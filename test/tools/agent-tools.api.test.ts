import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { createCpuBudgets } from '../../infra/threads/cpu-budget.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const post = async (path: string, body: Json): Promise<Json> => (await p.send('POST', path, { body })).body as Json;
const input_schema = {
  type: 'object',
  properties: { channel: { type: 'string', pattern: '^(#[a-z]+)+$' } },
  required: ['channel'],
  additionalProperties: false,
};
const register = async (name: string, more: Json = {}): Promise<string> =>
  (await post(`${p.tenant}/tools`, { name, display_name: name, description: '', ...more })).id as string;
const AGENT = `${p.tenant}/agents/${(await post(`${p.tenant}/agents`, { name: 'A', slug: 'a' })).id}`;
const grant = (body: Json): Promise<Answer> => p.send('POST', `${AGENT}/tools`, { body });
const list = async (query = ''): Promise<Json[]> => (await p.send('GET', `${AGENT}/tools${query}`)).body as Json[];
const issueOf = ({ body }: Answer) => (body as { errors: { pointer: string; code: string }[] }).errors[0]!;

test('granting a tool gets 201; granting it again with other settings gets 200, and with the same settings it appends no event', async () => {
  const tool_id = await register('send', { input_schema });
  const first = await grant({ tool_id, configuration: { channel: '#alerts' } });
  const { created_at, updated_at, ...rest } = first.body as Json;
  assert.equal(
    [first.status, rest],
    [201, { agent_id: AGENT.split('/').at(-1), tool_id, configuration: { channel: '#alerts' }, is_enabled: true }],
  );
  assert.is(first.headers.get('location'), `${AGENT}/tools/${tool_id}`);
  const start = p.log.events.length;
  assert.is((await grant({ tool_id, configuration: { channel: '#alerts' }, is_enabled: true })).status, 200);
  assert.is(p.log.events.length, start);
  const second = await grant({ tool_id, is_enabled: false });
  assert.equal(
    [second.status, (second.body as Json).configuration, (second.body as Json).is_enabled, (second.body as Json).created_at],
    [200, {}, false, created_at],
  );
  assert.ok(((second.body as Json).updated_at as string) >= (updated_at as string));
  assert.equal(await list(), [second.body]);
});

test('granting a tool is refused if the configuration does not match the input schema of the tool; the error points to the part that does not match', async () => {
  const tool_id = await register('strict', { input_schema });
  const faults: [unknown, string][] = [
    [{ channel: 5 }, '/configuration/channel'],
    [{ channel: '#alerts', more: 1 }, '/configuration/more'],
    [{}, '/configuration'],
    [[], '/configuration'],
    [{ channel: `${'#a'.repeat(5_000)}!` }, '/configuration/channel'],
  ];
  for (const [configuration, pointer] of faults) {
    const answer = await grant({ tool_id, configuration });
    assert.equal([answer.status, issueOf(answer).pointer], [422, pointer]);
  }
  assert.is((await grant({ tool_id, configuration: null })).status, 201);
  const free = await register('free');
  assert.is((await grant({ tool_id: free, configuration: { text: 'a'.repeat(16_384 - '{"text":""}'.length) } })).status, 201);
  assert.is((await grant({ tool_id: free, configuration: { text: 'a'.repeat(16_385 - '{"text":""}'.length) } })).status, 422);
});

test('granting a tool is refused if the tool does not exist, was removed or belongs to another tenant', async () => {
  const other = await createSecondTenant(p);
  const body = { name: 'foreign', display_name: 'F', description: '' };
  const foreign = ((await p.send('POST', `${other.tenant}/tools`, { key: other.key, body })).body as Json).id as string;
  const removed = await register('removed');
  await p.send('DELETE', `${p.tenant}/tools/${removed}`);
  for (const tool_id of ['c'.padEnd(25, '0'), foreign, removed]) {
    const answer = await grant({ tool_id });
    assert.equal([answer.status, issueOf(answer).code], [422, 'unknown_tool']);
  }
});

test("the list of an agent's tools does not contain a revoked tool, but a list as of an earlier position does; revoking the tool again gets 404", async () => {
  const tool_id = await register('leaving');
  await grant({ tool_id });
  const before = tokenOf(p.log.events.at(-1)!.position);
  assert.is((await p.send('DELETE', `${AGENT}/tools/${tool_id}`)).status, 204);
  assert.is((await p.send('DELETE', `${AGENT}/tools/${tool_id}`)).status, 404);
  const has = (items: Json[]) => items.some((item) => item.tool_id === tool_id);
  assert.equal([has(await list()), has(await list(`?as_of=${before}`))], [false, true]);
});

test('after a tool is removed from the tenant, the list of tools of an agent to which it was granted does not contain it', async () => {
  const tool_id = await register('vanishing');
  await grant({ tool_id });
  assert.ok((await list()).some((item) => item.tool_id === tool_id));
  await p.send('DELETE', `${p.tenant}/tools/${tool_id}`);
  assert.not.ok((await list()).some((item) => item.tool_id === tool_id));
  assert.is((await p.send('DELETE', `${AGENT}/tools/${tool_id}`)).status, 204);
});

test('an agent can have 100 tools, and granting one more is refused; the list of its tools has pages', async () => {
  const agent = `${p.tenant}/agents/${(await post(`${p.tenant}/agents`, { name: 'B', slug: 'b' })).id}`;
  const names = Array.from({ length: 101 }, (_, index) => ({
    name: `many${index}`,
    display_name: 'M',
    description: '',
    description_long: '',
  }));
  const tools = (await p.send('PUT', `${p.tenant}/connectors/many/tools`, { body: names })).body as Json[];
  const statuses: number[] = [];
  for (const { id } of tools) statuses.push((await p.send('POST', `${agent}/tools`, { body: { tool_id: id } })).status);
  assert.equal(statuses, [...Array.from({ length: 100 }, () => 201), 409]);
  const last = { tool_id: tools[100]!.id };
  await p.send('PUT', `${p.tenant}/connectors/many/tools`, { body: names.slice(1) });
  assert.is((await p.send('POST', `${agent}/tools`, { body: last })).status, 201, 'the grant of a removed tool makes room');
  const page = await p.send('GET', `${agent}/tools?limit=60`);
  const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link')!)![1]!;
  const rest = await p.send('GET', next);
  const ids = [...(page.body as Json[]), ...(rest.body as Json[])].map(({ tool_id }) => tool_id);
  assert.equal([ids.length, new Set(ids).size, rest.headers.get('link')], [100, 100, null]);
});

afterLastTest(() => p.close());
/** A schema that doubles at each of 28 levels. */
const doubling = {
  $defs: Object.fromEntries([
    ...Array.from({ length: 28 }, (_, level) => [`a${level}`, { allOf: [1, 2].map(() => ({ $ref: `#/$defs/a${level + 1}` })) }]),
    ['a28', { type: 'object' }],
  ]),
  $ref: '#/$defs/a0',
};

test('a tenant whose checks of configurations take too much processor time gets 429, and another tenant is served', async () => {
  let used = 0;
  const budgets = createCpuBudgets({ burstMs: 500, perSecond: 1, now: () => 0, used: () => (used += 50) });
  const platform = await createTestPlatform({ budgets });
  const other = await createSecondTenant(platform);
  const grants = async (path: string, key?: string) => {
    const options = key === undefined ? {} : { key };
    const idOf = ({ body }: Answer): string => (body as { id: string }).id;
    const agent = idOf(await platform.send('POST', `${path}/agents`, { body: { name: 'B', slug: 'b' }, ...options }));
    const tool = { name: 'costly', display_name: 'Costly', description: '', input_schema: doubling };
    const tool_id = idOf(await platform.send('POST', `${path}/tools`, { body: tool, ...options }));
    return () => platform.send('POST', `${path}/agents/${agent}/tools`, { body: { tool_id, configuration: {} }, ...options });
  };
  const [greedy, calm] = [await grants(platform.tenant), await grants(other.tenant, other.key)];
  const statuses: number[] = [];
  for (let count = 0; count < 12; count++) statuses.push((await greedy()).status);
  assert.equal([statuses.slice(0, 9), statuses.slice(9)], [Array(9).fill(422), [429, 429, 429]]);
  const refused = await greedy();
  assert.equal([refused.headers.get('retry-after'), (refused.body as Json).code], ['1', 'rate_limited']);
  assert.equal(issueOf(await calm()).code, 'too_complex');
  await platform.close();
});

test.run();
