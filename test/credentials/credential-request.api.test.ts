import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { outgoingMessage } from '../../commands/runners/relay.reactor.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const created = async (path: string, body: Json): Promise<Json> => {
  const answer = await p.send('POST', path, { body });
  if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
  return answer.body as Json;
};
const codeOf = ({ body }: Answer) => (body as Json).code;
const faultOf = ({ body }: Answer) => ((body as Json).errors as Json[])[0]!;
let count = 0;

/** Creates an agent with a skill and a runner key. */
const setUp = async (config_schema: Json | null = null) => {
  const slug = `a${++count}`;
  const agent_id = (await created(`${p.tenant}/agents`, { name: 'Agent', slug })).id as string;
  const agent = `${p.tenant}/agents/${agent_id}`;
  const skillFields = { name: 'Tracker', slug, description: 'Reads issues', instructions: 'Read them', config_schema };
  const skill_id = (await created(`${p.tenant}/skills`, skillFields)).id as string;
  await created(`${agent}/skills`, { skill_id });
  const runner = (await created(`${agent}/runner-keys`, { name: 'runner' })).key as string;
  const ask = async (body: Json = {}, key = runner) =>
    p.send('POST', `${agent}/credential-requests`, { key, body: { skill_id, config_key: 'token', prompt: 'A token', ...body } });
  const submit = (request_id: unknown, value = 'canary-of-a-submission', fields: Json = {}, headers = {}) =>
    p.send('POST', `${p.tenant}/credentials`, { body: { request_id, skill_id, config_key: 'token', value, ...fields }, headers });
  const config = async () => ((await p.send('GET', `${agent}/skills/${skill_id}/config`)).body as Json).config;
  const list = async () => {
    await p.waitForProjections();
    return (await p.send('GET', `${agent}/credential-requests`)).body as Json[];
  };
  return { agent, agent_id, skill_id, runner, ask, submit, config, list };
};

test('a runner that requests a credential value gets 201 with the credential request, which the list then shows as open for 7 days', async () => {
  const { agent_id, skill_id, ask, list, agent } = await setUp();
  const answer = await ask();
  const request = answer.body as Json;
  assert.is(answer.status, 201, answer.text);
  assert.is(answer.headers.get('location'), `${agent}/credential-requests/${request.id}`);
  const { id, created_at, updated_at, expires_at, ...rest } = request;
  assert.equal(rest, { tenant_id: p.tenant_id, agent_id, skill_id, config_key: 'token', prompt: 'A token', status: 'open' });
  assert.is(Date.parse(expires_at as string) - Date.parse(created_at as string), 7 * 86_400_000);
  assert.is(created_at, updated_at);
  assert.equal(await list(), [{ ...request, id }]);
});

test('a submission that names no credential request, in whatever form, gets 404', async () => {
  const { submit } = await setUp();
  for (const id of ['x', `c${'0'.repeat(24)}`, 'a.b', 'x'.repeat(10_000)]) assert.is((await submit(id)).status, 404, id.slice(0, 30));
  assert.is((await submit('')).status, 422);
  assert.is((await submit('x', 'value', { skill_id: 'y' })).status, 404);
});

test('a value of one line is stored without the line end that was copied with it, and other values as they are', async () => {
  for (const [pasted, stored] of [
    ['token\n', 'token'],
    ['\ufefftoken\r\n', 'token'],
    ['\u200btoken\u00a0', 'token'],
    [' words and blanks ', ' words and blanks '],
    ['-----BEGIN KEY-----\nabc\n-----END KEY-----\n', '-----BEGIN KEY-----\nabc\n-----END KEY-----\n'],
    ['\n', '\n'],
  ] as const) {
    const { ask, submit, config } = await setUp();
    assert.is((await submit(((await ask()).body as Json).id, pasted)).status, 204, JSON.stringify(pasted));
    assert.equal(await config(), { token: stored }, JSON.stringify(pasted));
  }
});

test('only the runner of an agent can request a credential value, and only for a skill that the agent has', async () => {
  const { ask } = await setUp();
  const other = await setUp();
  assert.is((await ask({}, p.key)).status, 403);
  assert.is((await ask({}, other.runner)).status, 403);
  const foreign = await ask({ skill_id: other.skill_id });
  assert.equal([foreign.status, faultOf(foreign).pointer, faultOf(foreign).code], [422, '/skill_id', 'unknown_skill']);
});

test('a credential request gets 422 if a field exceeds its limit or is unknown', async () => {
  const { ask } = await setUp();
  for (const [fields, pointer] of [
    [{ config_key: '' }, '/config_key'],
    [{ config_key: 'k'.repeat(129) }, '/config_key'],
    [{ config_key: '__proto__' }, '/config_key'],
    [{ prompt: '' }, '/prompt'],
    [{ prompt: 'p'.repeat(1025) }, '/prompt'],
    [{ extra: 1 }, '/extra'],
  ] as const) {
    const answer = await ask(fields);
    assert.equal([answer.status, faultOf(answer).pointer], [422, pointer]);
  }
  assert.is((await ask({ config_key: 'k'.repeat(128), prompt: 'p'.repeat(1024) })).status, 201);
});

test("submitting a value for a credential request sets one field of the skill's configuration, keeps the other fields, and fulfils the request", async () => {
  const { agent, skill_id, ask, submit, config, list, runner } = await setUp();
  await p.send('PATCH', `${agent}/skills/${skill_id}/config`, { body: { config: { url: 'https://issues.example.com' } } });
  const { id } = (await ask()).body as Json;
  const answer = await submit(id);
  assert.equal([answer.status, answer.text], [204, '']);
  assert.equal(await config(), { url: 'https://issues.example.com', token: 'canary-of-a-submission' });
  assert.is((await list())[0]!.status, 'fulfilled');
  const runtime = (await p.send('GET', `${agent}/runtime`, { key: runner })).body as { skills: { config: Json }[] };
  assert.is(runtime.skills[0]!.config.token, 'canary-of-a-submission');
});

test('after a value is submitted for a credential request, the runner gets a message that says "fulfilled" and does not contain the value', async () => {
  const { agent_id, ask, submit } = await setUp();
  const { id } = (await ask()).body as Json;
  await submit(id);
  const event = p.eventsOf('CredentialSubmitted').at(-1)!;
  const { payload, subject, delivery } = outgoingMessage(event, 'https://annals.test', 65_536);
  const { specversion, time, ...message } = JSON.parse(Buffer.from(payload).toString()) as Json;
  assert.equal([subject, delivery], [`agents.${p.tenant_id}.${agent_id}.inbound`, null]);
  assert.equal(message, {
    id: event.event_id,
    source: `https://annals.test/tenant/${p.tenant_id}/agents/${agent_id}/credential-requests`,
    type: 'annals.credential.fulfilled',
    subject: id,
    datacontenttype: 'application/json',
    tenant: p.tenant_id,
    agent: agent_id,
    contenttrust: 'trusted',
    data: { status: 'fulfilled' },
  });
});

test('submitting a value for a credential request a second time gets 409 already_fulfilled and does not change the configuration', async () => {
  const { ask, submit, config } = await setUp();
  const { id } = (await ask()).body as Json;
  await submit(id, 'first');
  const second = await submit(id, 'second');
  assert.equal([second.status, codeOf(second), faultOf(second).code], [409, 'conflict', 'already_fulfilled']);
  assert.equal(await config(), { token: 'first' });
});

test('after 7 days, the list shows a credential request as expired, and submitting a value for it gets 409 expired', async () => {
  const { ask, submit, config, list } = await setUp();
  const { id } = (await ask()).body as Json;
  const now = Date.now() + 7 * 86_400_000;
  p.clock.now = () => now;
  const late = await submit(id);
  assert.equal([late.status, faultOf(late).code], [409, 'expired']);
  assert.is((await list())[0]!.status, 'expired');
  p.clock.now = Date.now;
  assert.is(await config(), null);
});

test('submitting a value gets 422 if its skill or key differs from those of the credential request', async () => {
  const { ask, submit } = await setUp();
  const { id } = (await ask()).body as Json;
  const key = await submit(id, 'v', { config_key: 'other' });
  assert.equal([key.status, faultOf(key).pointer, faultOf(key).code], [422, '/config_key', 'wrong_key']);
  const skill = await submit(id, 'v', { skill_id: (await setUp()).skill_id });
  assert.equal([skill.status, faultOf(skill).pointer], [422, '/skill_id']);
  assert.is((await submit(id, '')).status, 422);
});

test('submitting a value needs agent:skills:write on the agent of the credential request; a caller without a role on the agent gets 404', async () => {
  const { agent, ask, skill_id } = await setUp();
  const { id } = (await ask()).body as Json;
  const member = await addMember(p, 'MEMBER');
  const body = { request_id: id, skill_id, config_key: 'token', value: 'v' };
  const send = (fields: Json = {}) => p.send('POST', `${p.tenant}/credentials`, { key: member.key, body: { ...body, ...fields } });
  const hidden = await send();
  const unknown = await send({ request_id: `c${'x'.repeat(24)}` });
  assert.equal([hidden.status, unknown.status], [404, 404]);
  const withoutId = ({ body: problem }: Answer) => ({ ...(problem as Json), request_id: '' });
  assert.equal(withoutId(hidden), withoutId(unknown));
  await p.send('PUT', `${agent}/roles/${member.user_id}`, { body: { role: 'VIEWER' } });
  assert.is((await send()).status, 403);
  await p.send('PUT', `${agent}/roles/${member.user_id}`, { body: { role: 'MANAGER' } });
  assert.is((await send()).status, 204);
});

test("submitting a value that violates the skill's schema gets 422 with the pointer /value; other required fields of the configuration may still be missing", async () => {
  const schema = { type: 'object', properties: { token: { type: 'string', minLength: 5 } }, required: ['token', 'url'] };
  const { ask, submit, config } = await setUp(schema);
  const { id } = (await ask()).body as Json;
  const short = await submit(id, 'p@ss');
  assert.equal([short.status, faultOf(short).pointer], [422, '/value']);
  assert.not.ok(short.text.includes('p@ss'));
  assert.is((await submit(id, 'abcdef')).status, 204);
  assert.equal(await config(), { token: 'abcdef' });
});

test('if two values are submitted for one credential request at the same time, one of them is stored completely, and a single event fulfils the request', async () => {
  const { ask, submit, config } = await setUp();
  const { id } = (await ask()).body as Json;
  const before = p.eventsOf('CredentialSubmitted').length;
  const statuses = (await Promise.all(['one', 'two', 'three'].map((value) => submit(id, value)))).map(({ status }) => status);
  assert.ok(
    statuses.every((status) => status === 204 || status === 409),
    statuses.join(),
  );
  assert.is(p.eventsOf('CredentialSubmitted').length, before + 1);
  assert.ok(['one', 'two', 'three'].includes(((await config()) as Json).token as string));
});

test('if values are submitted at the same time for several credential requests of one skill, all of them are stored', async () => {
  const { ask, submit, config } = await setUp();
  const keys = ['a', 'b', 'c', 'd', 'e'];
  const ids = await Promise.all(keys.map(async (config_key) => ((await ask({ config_key })).body as Json).id));
  const statuses = await Promise.all(keys.map((config_key, n) => submit(ids[n], `value ${config_key}`, { config_key })));
  assert.equal(
    statuses.map(({ status }) => status),
    [204, 204, 204, 204, 204],
  );
  assert.equal(
    Object.entries((await config()) as Json).sort(),
    keys.map((key) => [key, `value ${key}`]),
  );
});

test('repeating the submission of a value with the same Idempotency-Key gets 204 again and appends no event', async () => {
  const { ask, submit } = await setUp();
  const { id } = (await ask()).body as Json;
  const headers = { 'idempotency-key': `key-${id}` };
  assert.is((await submit(id, 'once', {}, headers)).status, 204);
  const count = p.log.events.length;
  assert.is((await submit(id, 'once', {}, headers)).status, 204);
  assert.is(p.log.events.length, count);
  assert.is((await submit(id, 'other', {}, headers)).status, 422);
});

test.run();
