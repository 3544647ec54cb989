import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
let count = 0;
const post = async (path: string, body: object): Promise<Json> => (await p.send('POST', p.tenant + path, { body })).body as Json;
const SCHEMA = {
  type: 'object',
  properties: { token: { type: 'string', pattern: '^[a-z0-9-]+$' }, retries: { type: 'integer', maximum: 5 } },
  required: ['token'],
  additionalProperties: false,
};

/** Creates an agent that has a skill. @returns their ids, and the path of the skill's configuration */
const givenSkill = async (config_schema: object | null = null) => {
  const skill = await post('/skills', { name: 'Skill', slug: `s${count++}`, description: 'A skill', instructions: 'Do it', config_schema });
  const agent = await post('/agents', { name: 'Agent', slug: `a${count++}` });
  await post(`/agents/${agent.id}/skills`, { skill_id: skill.id });
  return { agent: agent.id, skill: skill.id, path: `${p.tenant}/agents/${agent.id}/skills/${skill.id}/config` };
};
const patch = (path: string, config?: unknown): Promise<Answer> => p.send('PATCH', path, { body: config === undefined ? {} : { config } });
const configOf = ({ body }: Answer) => (body as Json).config;
const errorOf = ({ body }: Answer) => (body as { errors: { pointer: string; message: string }[] }).errors[0]!;
const hasConfig = async (agent: unknown): Promise<unknown> =>
  ((await p.send('GET', `${p.tenant}/agents/${agent}/skills`)).body as Json[])[0]!.has_config;

test('setting a configuration of a skill replaces the whole configuration; a read returns it decrypted; null or an absent field clears it', async () => {
  const { agent, skill, path } = await givenSkill();
  assert.equal((await p.send('GET', path)).body, { agent_id: agent, skill_id: skill, config: null });
  const set = await patch(path, { token: 'one', nested: { list: [1, 'x', null] } });
  assert.equal(
    [set.status, set.body],
    [200, { agent_id: agent, skill_id: skill, config: { token: 'one', nested: { list: [1, 'x', null] } } }],
  );
  const read = await p.send('GET', path);
  assert.equal([read.body, read.headers.get('etag')], [set.body, set.headers.get('etag')]);
  assert.is(await hasConfig(agent), true);
  assert.equal(configOf(await patch(path, { other: true })), { other: true });
  assert.equal(configOf(await p.send('GET', path)), { other: true });
  assert.is(configOf(await patch(path, null)), null);
  assert.equal([configOf(await p.send('GET', path)), await hasConfig(agent)], [null, false]);
  await patch(path, { token: 'two' });
  assert.is(configOf(await patch(path)), null);
});

test('setting the present configuration again, or clearing one that does not exist, appends no event', async () => {
  const { path } = await givenSkill();
  await patch(path, { token: 'one' });
  const events = p.log.events.length;
  assert.equal(configOf(await patch(path, { token: 'one' })), { token: 'one' });
  assert.is(p.log.events.length, events);
  await patch(path, null);
  assert.is((await patch(path, null)).status, 200);
  assert.is(p.log.events.length, events + 1);
});

test('each read of a stored configuration appends an event that names the reader; the ETag of the agent does not change', async () => {
  const { agent, skill, path } = await givenSkill();
  const disclosures = () => p.eventsOf('SkillConfigDisclosed').filter(({ data }) => (data as Json).agent_id === agent);
  await p.send('GET', path);
  assert.is(disclosures().length, 0, 'there was nothing to disclose');
  const set = await patch(path, { token: 'one' });
  assert.is(disclosures().length, 0);
  for (const times of [1, 2]) {
    const read = await p.send('GET', path, { headers: { 'if-none-match': set.headers.get('etag')! } });
    assert.equal([read.status, read.headers.get('etag'), disclosures().length], [200, set.headers.get('etag'), times]);
  }
  const [event] = disclosures();
  assert.equal([event!.data, event!.actor.kind, event!.tenant], [{ agent_id: agent, skill_id: skill }, 'user', p.tenant_id]);
  await p.waitForProjections();
  const [entry] = (await p.send('GET', `${p.tenant}/audit-logs?action=skill_config.disclosed&agent_id=${agent}`)).body as Json[];
  assert.equal([entry!.resource_type, entry!.resource_id, entry!.resource_name], ['agent', agent, 'Agent']);
  assert.match(entry!.summary as string, /read the configuration of the skill “Skill” of the agent “Agent”\.$/);
});

test('setting a configuration is refused if it does not match the schema of the skill; the error points to the wrong part and contains none of the values', async () => {
  const { path } = await givenSkill(SCHEMA);
  assert.is((await patch(path, { token: 'a-token', retries: 5 })).status, 200);
  for (const [pointer, config] of [
    ['/config', {}],
    ['/config/token', { token: 'A Canary Of This Test' }],
    ['/config/token', { token: 7 }],
    ['/config/retries', { token: 'x', retries: 6 }],
    ['/config/more', { token: 'x', more: 1 }],
    ['/config', []],
    ['/config', 'text'],
    ['/config', { token: 'x'.repeat(65_536) }],
  ] as const) {
    const answer = await patch(path, config);
    assert.equal([answer.status, errorOf(answer).pointer], [422, pointer], answer.text.slice(0, 300));
    assert.not.match(answer.text, /Canary/);
  }
  assert.equal(configOf(await p.send('GET', path)), { token: 'a-token', retries: 5 });
  assert.is(configOf(await patch(path, null)), null, 'clearing needs no match');
});

test('setting a configuration is refused within a second if the schema is made so that its validation takes too long', async () => {
  const level = (n: number) => ({ allOf: [{ $ref: `#/$defs/l${n}` }, { $ref: `#/$defs/l${n}` }] });
  const $defs = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`l${n}`, n === 39 ? { type: 'object' } : level(n + 1)]));
  const { path } = await givenSkill({ $defs, $ref: '#/$defs/l0' });
  const start = performance.now();
  const answer = await patch(path, { token: 'x' });
  assert.is(answer.status, 422, answer.text);
  assert.ok(performance.now() - start < 2_000, 'it took too long');
});

test('a VIEWER of an agent can neither read nor set the configuration of a skill; a MANAGER can do both', async () => {
  const { agent, path } = await givenSkill();
  const { key, user_id } = await addMember(p, 'MEMBER');
  await patch(path, { token: 'one' });
  for (const [role, status] of [
    ['VIEWER', 403],
    ['MANAGER', 200],
  ] as const) {
    await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${user_id}`, { body: { role } });
    assert.is((await p.send('GET', path, { key })).status, status, role);
    assert.is((await p.send('PATCH', path, { key, body: { config: { token: role } } })).status, status, role);
  }
});

test('revoking a skill from an agent, or deleting the skill, also removes its configuration', async () => {
  const { agent, skill, path } = await givenSkill();
  await patch(path, { token: 'one' });
  await p.send('DELETE', `${p.tenant}/agents/${agent}/skills/${skill}`);
  assert.equal([(await p.send('GET', path)).status, (await patch(path, {})).status], [404, 404]);
  await post(`/agents/${agent}/skills`, { skill_id: skill });
  assert.is(configOf(await p.send('GET', path)), null);
  await patch(path, { token: 'two' });
  await p.send('DELETE', `${p.tenant}/skills/${skill}`);
  assert.equal([(await p.send('GET', path)).status, (await patch(path, {})).status], [404, 404]);
});

test('an as-of read returns the configuration of a skill that was stored at that position', async () => {
  const { path } = await givenSkill();
  const tokens: string[] = [];
  for (const token of ['one', 'two', null]) {
    await patch(path, token && { token });
    tokens.push(tokenOf(p.log.events.at(-1)!.position));
  }
  const then = async (as_of: string | undefined) => configOf(await p.send('GET', `${path}?as_of=${as_of}`));
  assert.equal([await then(tokens[0]), await then(tokens[1]), await then(tokens[2])], [{ token: 'one' }, { token: 'two' }, null]);
});

test('repeating a configuration request with the same Idempotency-Key gets the same response and appends nothing, even if the skill was deleted in between', async () => {
  const { skill, path } = await givenSkill(SCHEMA);
  const send = () => p.send('PATCH', path, { body: { config: { token: 'once' } }, headers: { 'idempotency-key': 'config' } });
  const first = await send();
  await p.send('DELETE', `${p.tenant}/skills/${skill}`);
  const events = p.log.events.length;
  const again = await send();
  assert.equal([again.status, again.body, p.log.events.length], [200, first.body, events]);
});

/** Returns the forms in which a text could occur in a file or response: unchanged, and in several encodings. */
const encodings = (text: string): string[] => {
  const bytes = Buffer.from(text);
  const base64 = [0, 1, 2].map((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    return shifted.slice(offset === 0 ? 0 : offset + 1, -2);
  });
  return [
    text,
    bytes.toString('hex'),
    encodeURIComponent(text),
    ...base64,
    ...base64.map((one) => one.replaceAll('+', '-').replaceAll('/', '_')),
  ];
};

test('no event, row or response contains the values of a configuration, except responses to callers who may read or set it', async () => {
  const { agent, skill, path } = await givenSkill();
  const canaries = Array.from({ length: 40 }, (_, n) => `canary/${n}+${Math.random().toString(36).slice(2)}~`);
  for (const canary of canaries) await p.send('PATCH', path, { body: { config: { token: canary, list: [canary] } } });
  await p.send('PATCH', path, { body: { config: { token: canaries[0] } }, headers: { 'idempotency-key': 'canary' } });
  assert.equal(configOf(await p.send('GET', path)), { token: canaries[0] });
  await p.waitForProjections();
  const log = p.log.events.map(
    ({ data, meta }) => (data instanceof Uint8Array ? Buffer.from(data).toString('latin1') : JSON.stringify(data)) + JSON.stringify(meta),
  );
  const reads = [
    `/agents/${agent}`,
    `/agents/${agent}/skills`,
    `/agents/${agent}/skill-permissions`,
    `/agents/${agent}/history?limit=200`,
    `/agents/${agent}/diff?from=0:0`,
    `/skills/${skill}`,
    '/skills',
    '/audit-logs?limit=200',
    '/audit-logs/export',
  ];
  const answers = await Promise.all(reads.map(async (one) => (await p.send('GET', p.tenant + one)).text));
  const wrong = await p.send('PATCH', path, { body: { config: { token: canaries[1] }, more: canaries[1] } });
  const rows = ['agents', 'skills', 'audit'].map((name) =>
    JSON.stringify([...p.foldedRows(name, name === 'audit' ? 'audit_logs' : name)], (_, one) =>
      typeof one === 'bigint' ? String(one) : one,
    ),
  );
  const text = [...log, ...answers, ...rows, wrong.text].join('\n');
  assert.is(wrong.status, 422);
  assert.ok(text.includes(String(skill)), 'the search has texts to find');
  for (const canary of canaries) for (const form of encodings(canary)) assert.not.ok(text.includes(form), `${canary} occurs as ${form}`);
});

afterLastTest(() => p.close());

test.run();
