import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant, type TestPlatform } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const NULLS = ['description', 'description_prompt', 'image_ref', 'initial_greeting', 'iteration_warn_threshold', 'voice'];
const DEFAULTS: Json = {
  can_author_skills: false,
  environment_mode: 'shared',
  is_admin_only: false,
  kind: 'user',
  resource_class: 'small',
  ...Object.fromEntries(NULLS.map((name) => [name, null])),
};
/** The names of all fields in the representation of an agent (the schema AgentRead). */
const READ = [
  ...['id', 'tenant_id', 'name', 'slug', 'description', 'initial_greeting', 'is_active', 'is_admin_only', 'is_seed', 'can_author_skills'],
  ...['image_ref', 'resource_class', 'repo_url', 'code_ref', 'created_at', 'updated_at', 'created_by_agent_id', 'created_by_id'],
  ...['environment_mode', 'external_mail_enabled', 'iteration_warn_threshold', 'skill_visibility_scope', 'ssh_public_key', 'voice'],
  ...['zoom_managed', 'kind', 'description_prompt'],
];
const NOT_LISTED = ['environment_mode', 'external_mail_enabled', 'iteration_warn_threshold', 'skill_visibility_scope', 'ssh_public_key'];

const p = await createTestPlatform();
let count = 0;
const body = (fields: Json = {}): Json => ({ name: 'Reviewer', slug: `a${count++}`, ...fields });
const create = (fields: Json = {}, at: TestPlatform = p): Promise<Answer> => at.send('POST', `${at.tenant}/agents`, { body: body(fields) });
const createAgent = async (fields: Json = {}): Promise<Json> => (await create(fields)).body as Json;
const pathOf = ({ id }: Json): string => `${p.tenant}/agents/${id}`;
const patch = (agent: Json, changes: unknown, key = p.key) => p.send('PATCH', pathOf(agent), { body: changes, key });
const read = async (agent: Json): Promise<Json> => {
  await p.waitForProjections();
  return (await p.send('GET', pathOf(agent))).body as Json;
};
const pointersOf = ({ body }: Answer) => ((body as { errors?: { pointer: string }[] }).errors ?? []).map(({ pointer }) => pointer);
const assertInvalid = (answer: Answer, pointer: string) =>
  assert.equal([answer.status, ...pointersOf(answer)], [422, pointer], answer.text);

test('an agent created with only name and slug has the default values and all fields of AgentRead', async () => {
  const answer = await create();
  const agent = answer.body as Json;
  assert.equal([answer.status, answer.headers.get('location'), answer.headers.get('etag')], [201, pathOf(agent), '"0"']);
  assert.equal(Object.keys(agent).sort(), [...READ].sort());
  for (const [name, value] of Object.entries(DEFAULTS)) assert.is(agent[name], value, name);
  assert.equal([agent.is_active, agent.is_seed, agent.zoom_managed, agent.external_mail_enabled], [true, false, false, true]);
  assert.equal([agent.code_ref, agent.repo_url, agent.skill_visibility_scope], ['main', null, 'private_only']);
  assert.match(String(agent.created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.equal(await read(agent), agent);
});

test('the name of an agent has letters and digits of every script; a refusal names the first other character', async () => {
  for (const name of ['Prüfer', 'Проверка 2', '審査-担当', 'مراجع', 'a'.repeat(255)])
    assert.is((await createAgent({ name })).name, name, name);
  assert.is((await createAgent({ name: 'Pru\u0308fer' })).name, 'Prüfer');
  for (const [name, character] of [
    ['R&D', '"&"'],
    ["Alice's bot", `"'"`],
    ['Desk (DE)', '"("'],
    ['QA/Release', '"/"'],
  ] as const) {
    const answer = await create({ name });
    assertInvalid(answer, '/name');
    assert.match(answer.text, `${JSON.stringify(character).slice(1, -1)} is none of them`);
  }
});

test('an agent in the list of agents has the field is_favorite, but not the fields that this file names as not listed', async () => {
  const agent = await createAgent();
  await p.waitForProjections();
  const listed = ((await p.send('GET', `${p.tenant}/agents?q=${agent.slug}`)).body as Json[])[0]!;
  assert.equal(Object.keys(listed).sort(), [...READ.filter((name) => !NOT_LISTED.includes(name)), 'is_favorite'].sort());
  assert.is(listed.is_favorite, false);
});

test('creating and updating an agent store every field of the request', async () => {
  const full = {
    ...{ can_author_skills: true, description: 'd', description_prompt: '', environment_mode: 'isolated', image_ref: 'i', kind: 'dba' },
    ...{ initial_greeting: 'Hi \u{1f44b}', is_admin_only: true, iteration_warn_threshold: 1, resource_class: 'x', voice: 'v' },
  };
  const agent = await createAgent(full);
  for (const [name, value] of Object.entries(full)) assert.is(agent[name], value, name);
  const changeable = omit(full, 'kind');
  const changes = { ...changeable, name: 'Critic', external_mail_enabled: false, is_active: false, ssh_public_key: 'ssh-ed25519 AAAA' };
  const plain = await createAgent();
  const answer = await patch(plain, changes);
  assert.is(answer.status, 200, answer.text);
  for (const [name, value] of Object.entries(changes)) assert.is((answer.body as Json)[name], value, name);
  assert.equal(await read(plain), answer.body);
});

test('an update does not change fields that it does not name; null clears a field or resets it to its default, but for name and is_active null is refused', async () => {
  const agent = await createAgent({
    description: 'd',
    voice: 'v',
    resource_class: 'big',
    environment_mode: 'isolated',
    can_author_skills: true,
  });
  await patch(agent, { is_active: false, ssh_public_key: 'k', external_mail_enabled: false });
  const same = (await patch(agent, { voice: 'w' })).body as Json;
  assert.equal([same.description, same.resource_class, same.is_active], ['d', 'big', false]);
  const names = ['can_author_skills', 'description', 'description_prompt', 'environment_mode', 'external_mail_enabled', 'image_ref'];
  const fields = [
    'initial_greeting',
    'is_active',
    'is_admin_only',
    'iteration_warn_threshold',
    'name',
    'resource_class',
    'ssh_public_key',
    'voice',
  ];
  const answer = await patch(agent, Object.fromEntries([...names, ...fields].map((name) => [name, null])));
  const cleared = answer.body as Json;
  assert.is(answer.status, 200, answer.text);
  const defaults = omit(DEFAULTS, 'kind');
  for (const [name, value] of Object.entries(defaults)) assert.is(cleared[name], value, name);
  assert.equal([cleared.name, cleared.is_active, cleared.ssh_public_key, cleared.external_mail_enabled], ['Reviewer', false, null, true]);
});

test('an update of an agent that changes nothing gets 200 with the same ETag, and appends no event', async () => {
  const agent = await createAgent();
  const before = p.log.events.length;
  for (const changes of [{}, { name: 'Reviewer', voice: null }, { is_admin_only: false, is_active: null }]) {
    const answer = await patch(agent, changes);
    assert.equal([answer.status, answer.headers.get('etag'), answer.body], [200, '"0"', agent]);
    assert.ok(answer.headers.get('consistency-token'));
  }
  assert.is(p.log.events.length, before);
});

test('length limits of texts count Unicode code points: a text of the maximum length is accepted, and a text with one more code point is refused', async () => {
  const wide = (length: number) => '\u{1f44b}'.repeat(length);
  const limits: [string, number, (length: number) => unknown][] = [
    ['name', 255, (length) => 'n'.repeat(length)],
    ['voice', 128, wide],
    ['resource_class', 64, wide],
  ];
  for (const [field, limit, of] of limits) {
    for (const length of [limit - 1, limit]) assert.is((await create({ [field]: of(length) })).status, 201, `${field} of ${length}`);
    assertInvalid(await create({ [field]: of(limit + 1) }), `/${field}`);
    assertInvalid(await patch(await createAgent(), { [field]: of(limit + 1) }), `/${field}`);
  }
  for (const length of [63, 64]) assert.is((await create({ slug: String(length).padEnd(length, 's') })).status, 201);
  assertInvalid(await create({ slug: 's'.repeat(65) }), '/slug');
  for (const [threshold, status] of [
    [0, 422],
    [1, 201],
    [2, 201],
    [-1, 422],
    [1.5, 422],
    ['1', 422],
  ] as const)
    assert.is((await create({ iteration_warn_threshold: threshold })).status, status, `${threshold}`);
  for (const field of ['name', 'slug', 'resource_class']) assertInvalid(await create({ [field]: '' }), `/${field}`);
});

test('creating an agent is refused unless its name and its slug match their patterns', async () => {
  for (const slug of ['-a', 'A', 'a_b', 'a.b', 'a b', '\u0430gent', 'a\n', 'é', '\u{1f44b}', '.', ' a'])
    assertInvalid(await create({ slug }), '/slug');
  for (const slug of ['0', 'a-', 'a--b', '9-9']) assert.is((await create({ slug })).status, 201, slug);
  for (const name of ['a\u202eb', `a${'\u0301'.repeat(9)}`, 'a_b', 'a\tb', 'a\n', 'a.b', '\u{1f44b}'])
    assertInvalid(await create({ name }), '/name');
  for (const name of ['a', '0-9 Z', ' ']) assert.is((await create({ name })).status, 201, name);
});

test('creating an agent with an unknown kind or environment mode gets 422, and the error points to the field', async () => {
  for (const kind of ['user', 'coding', 'analyst', 'dba']) assert.is((await create({ kind })).status, 201);
  for (const kind of ['USER', 'seed', '', null, 1]) assertInvalid(await create({ kind }), '/kind');
  assertInvalid(await create({ environment_mode: 'none' }), '/environment_mode');
  assertInvalid(await patch(await createAgent(), { kind: 'dba' }), '/kind');
});

test('a request with a field that is read-only or unknown is refused and changes nothing', async () => {
  const agent = await createAgent();
  const before = p.log.events.length;
  for (const field of [
    'id',
    'tenant_id',
    'is_seed',
    'created_at',
    'is_super_admin',
    'zoom_managed',
    'repo_url',
    'code_ref',
    'constructor',
  ]) {
    assertInvalid(await create({ [field]: 'x' }), `/${field}`);
    assertInvalid(await patch(agent, { [field]: 'x' }), `/${field}`);
  }
  assertInvalid(await patch(agent, { slug: 'other' }), '/slug');
  assert.is(p.log.events.length, before);
});

test('changing can_author_skills or is_admin_only needs the permission agent:roles:write; creating an agent with is_admin_only needs the role ADMIN', async () => {
  const { key, user_id } = await addMember(p, 'MEMBER');
  const own = (await p.send('POST', `${p.tenant}/agents`, { key, body: body({ can_author_skills: true }) })).body as Json;
  assert.is((await patch(own, { can_author_skills: false }, key)).status, 200, 'the owner of the agent may');
  assert.is((await p.send('POST', `${p.tenant}/agents`, { key, body: body({ is_admin_only: true }) })).status, 403);
  const other = await createAgent();
  await p.send('PUT', `${pathOf(other)}/roles/${user_id}`, { body: { role: 'MANAGER' } });
  assert.is((await patch(other, { voice: 'v', can_author_skills: true }, key)).status, 403);
  assert.is((await patch(other, { voice: 'v', can_author_skills: false }, key)).status, 200, 'an unchanged value needs no permission');
  await patch(other, { is_admin_only: true });
  assert.is((await patch(other, { voice: 'w' }, key)).status, 404, 'only OWNER and ADMIN can see it');
});

test('every operation on a deleted agent gets 404, and lists and counts do not include it', async () => {
  const at = await createTestPlatform();
  const remaining = (await create({}, at)).body as Json;
  const agent = (await create({}, at)).body as Json;
  const path = `${at.tenant}/agents/${agent.id}`;
  assert.equal([(await at.send('DELETE', path)).status, (await at.send('DELETE', path)).status], [204, 404]);
  await at.waitForProjections();
  for (const [method, suffix, sent] of [
    ['GET', '', undefined],
    ['GET', '/models', undefined],
    ['PATCH', '', { voice: 'v' }],
    ['PUT', '/models', { model_ids: [agent.id] }],
    ['POST', '/runner-keys', { name: 'k' }],
  ] as const)
    assert.is((await at.send(method, path + suffix, sent ? { body: sent } : {})).status, 404, `${method} ${suffix}`);
  const list = await at.send('GET', `${at.tenant}/agents`);
  assert.equal(
    (list.body as Json[]).map(({ id }) => id),
    [remaining.id],
  );
  assert.is(list.headers.get('total-count'), '1');
  assert.equal(at.unappliedEvents(), []);
  await at.close();
});

test('if 50 requests create an agent with the same slug at once, exactly one succeeds; another tenant can use the same slug', async () => {
  const slug = 'contested';
  const statuses = (await Promise.all(Array.from({ length: 50 }, () => create({ slug })))).map(({ status }) => status);
  assert.equal([statuses.filter((status) => status === 201).length, statuses.filter((status) => status === 409).length], [1, 49]);
  const { tenant, key } = await createSecondTenant(p);
  assert.is((await p.send('POST', `${tenant}/agents`, { key, body: body({ slug }) })).status, 201);
  assert.equal(pointersOf(await create({ slug })), ['/slug']);
});

test('if many requests use the slug of a deleted agent at once, one succeeds, and the new agent has a new id', async () => {
  const slug = 'again';
  const ids = new Set<unknown>();
  for (let generation = 0; generation < 4; generation++) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ slug })));
    const [winner, ...fields] = answers.filter(({ status }) => status === 201);
    assert.is(fields.length, 0);
    ids.add((winner!.body as Json).id);
    await p.send('DELETE', pathOf(winner!.body as Json));
  }
  assert.is(ids.size, 4);
  assert.is(p.eventsOf('AgentSlugReleased').length, 3);
  assert.equal(p.unappliedEvents(), []);
});

afterLastTest(() => p.close());

test.run();
