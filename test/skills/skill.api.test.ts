import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const path = `${p.tenant}/skills`;
let count = 0;
const fields = (more: Json = {}): Json => ({ name: 'Skill', slug: `s${count++}`, description: 'A skill', instructions: 'Do it', ...more });
const post = (body: unknown, key?: string): Promise<Answer> => p.send('POST', path, { body, ...(key ? { key } : {}) });
const createSkill = async (more: Json = {}): Promise<Json> => (await post(fields(more))).body as Json;
const createAgent = async (more: Json = {}): Promise<string> =>
  ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: `a${count++}`, ...more } })).body as Json).id as string;
const pointerOf = ({ body }: Answer) => (body as { errors?: { pointer: string }[] }).errors?.[0]?.pointer;
const idsOf = ({ body }: Answer) => (body as Json[]).map(({ id }) => id);
const token = () => tokenOf(p.log.events.at(-1)!.position);

const { key: member, user_id } = await addMember(p, 'MEMBER');
const { key: auditor } = await addMember(p, 'AUDITOR', p.tenant_id, 'auditor@example.com');
const { key: admin } = await addMember(p, 'ADMIN', p.tenant_id, 'admin@example.com');

test('a new skill has default values, version 1 and a digest, and reads return the same values', async () => {
  const answer = await post(fields({ slug: 'first' }));
  const { id, digest, created_at, updated_at, ...rest } = answer.body as Json;
  assert.is(answer.status, 201, answer.text);
  assert.equal(rest, {
    ...fields({ slug: 'first' }),
    tenant_id: p.tenant_id,
    visibility: 'private',
    config_schema: null,
    version: 1,
    is_exposed: false,
    source: 'authored',
    author_agent_id: null,
    package_digest: null,
    package_bytes: null,
    listing_id: null,
    listing_version: null,
  });
  assert.match(digest as string, /^[0-9a-f]{64}$/);
  assert.is(answer.headers.get('location'), `${path}/${id}`);
  assert.is(created_at, updated_at);
  const read = await p.send('GET', `${path}/${id}`);
  assert.equal([read.body, read.headers.get('etag')], [answer.body, answer.headers.get('etag')]);
});

test('creating a skill with an invalid or unknown field is refused, and the error points to the field', async () => {
  for (const [pointer, more] of [
    ['/name', { name: '' }],
    ['/name', { name: 'x'.repeat(65) }],
    ['/name', { name: 'two\nlines' }],
    ['/slug', { slug: 'Not a slug' }],
    ['/description', { description: '' }],
    ['/description', { description: 'x'.repeat(1025) }],
    ['/instructions', { instructions: '' }],
    ['/instructions', { instructions: 'x'.repeat(100_001) }],
    ['/visibility', { visibility: 'tenant' }],
    ['/config_schema', { config_schema: [] }],
    ['/config_schema/type', { config_schema: { type: 'text' } }],
    ['/config_schema/$ref', { config_schema: { $ref: 'https://example.com/schema' } }],
    ['/config_schema/properties/a/pattern', { config_schema: { properties: { a: { pattern: '(a)\\1' } } } }],
    ['/config_schema', { config_schema: { description: 'x'.repeat(65_536) } }],
    ['/version', { version: 2 }],
  ] as const) {
    const answer = await post(fields(more));
    assert.equal([answer.status, pointerOf(answer)], [422, pointer], answer.text);
  }
  assert.is((await post(fields({ instructions: '\u{1f600}'.repeat(100_000) }))).status, 201, 'the limit counts characters');
});

test('while a skill exists, creating another skill with its slug is refused; after it is deleted, a new skill with another id can have the slug', async () => {
  const first = await createSkill({ slug: 'again' });
  const taken = await post(fields({ slug: 'again' }));
  assert.equal([taken.status, (taken.body as Json).code], [409, 'slug_taken']);
  assert.is((await p.send('DELETE', `${path}/${first.id}`)).status, 204);
  assert.is((await p.send('GET', `${path}/${first.id}`)).status, 404);
  assert.is((await p.send('DELETE', `${path}/${first.id}`)).status, 404);
  const second = await post(fields({ slug: 'again' }));
  assert.is(second.status, 201);
  assert.is.not((second.body as Json).id, first.id);
  assert.is((await post(fields({ slug: 'again' }))).status, 409);
});

test('an update of a skill changes the fields that it names; null resets or clears a field; repeating the update appends no event', async () => {
  const skill = await createSkill({ visibility: 'public', config_schema: { type: 'object' } });
  const patch = (body: Json) => p.send('PATCH', `${path}/${skill.id}`, { body });
  const changed = (await patch({ instructions: 'Do more', visibility: null, config_schema: null, name: null })).body as Json;
  assert.equal(
    [changed.instructions, changed.visibility, changed.config_schema, changed.name, changed.version],
    ['Do more', 'private', null, 'Skill', 2],
  );
  assert.is.not(changed.digest, skill.digest);
  const events = p.log.events.length;
  assert.equal((await patch({ instructions: 'Do more' })).body, changed);
  assert.is(p.log.events.length, events);
  const slug = await patch({ slug: 'other' });
  assert.equal([slug.status, pointerOf(slug)], [422, '/slug']);
});

test('the list of skills shows an OWNER or ADMIN private skills and a Total-Count; other members see only public skills, without a Total-Count', async () => {
  const open = (await createSkill({ visibility: 'public' })).id as string;
  const closed = (await createSkill()).id as string;
  for (const [key, sees] of [
    [p.key, true],
    [admin, true],
    [member, false],
    [auditor, false],
  ] as const) {
    const list = await p.send('GET', `${path}?limit=200`, { key });
    assert.equal([idsOf(list).includes(open), idsOf(list).includes(closed)], [true, sees]);
    assert.is(list.headers.get('total-count') !== null, sees);
    if (sees) assert.is(Number(list.headers.get('total-count')), idsOf(list).length);
    assert.is((await p.send('GET', `${path}/${open}`, { key })).status, 200);
    assert.is((await p.send('GET', `${path}/${closed}`, { key })).status, sees ? 200 : 404);
  }
  assert.is((await post(fields(), member)).status, 403);
});

test('an as-of read shows the earlier content of a skill; if the skill is private now, a member does not see its earlier content', async () => {
  const { id } = await createSkill({ visibility: 'public' });
  const then = token();
  await p.send('PATCH', `${path}/${id}`, { body: { instructions: 'Do more' } });
  const read = (key: string) => p.send('GET', `${path}/${id}?as_of=${then}`, { key });
  for (const key of [p.key, member]) assert.is(((await read(key)).body as Json).instructions, 'Do it');
  await p.send('PATCH', `${path}/${id}`, { body: { visibility: 'private' } });
  assert.equal([(await read(p.key)).status, (await read(member)).status], [200, 404]);
});

const manager = async (agent: string): Promise<string> => {
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${user_id}`, { body: { role: 'MANAGER' } });
  return member;
};

test('granting a skill to an agent gets 201, and the list then contains the skill; granting it again updates the grant and gets 200', async () => {
  const [agent, skill] = [await createAgent(), (await createSkill()).id as string];
  const grants = `${p.tenant}/agents/${agent}/skills`;
  const grant = (body: Json) => p.send('POST', grants, { body });
  const first = await grant({ skill_id: skill });
  const { created_at, ...rest } = first.body as Json;
  assert.equal([first.status, rest], [201, { agent_id: agent, skill_id: skill, is_enabled: true, has_config: false }]);
  const second = await grant({ skill_id: skill, is_enabled: false });
  assert.equal([second.status, second.body], [200, { ...(first.body as Json), is_enabled: false }]);
  const events = p.log.events.length;
  const same = await grant({ skill_id: skill, is_enabled: false });
  assert.equal([same.status, p.log.events.length], [200, events]);
  assert.equal((await p.send('GET', grants)).body, [second.body]);
  assert.is((await p.send('DELETE', `${grants}/${skill}`)).status, 204);
  assert.equal((await p.send('GET', grants)).body, []);
  assert.is((await p.send('DELETE', `${grants}/${skill}`)).status, 404);
  assert.ok(created_at);
});

test('a MANAGER can grant the agent public skills and private ones that this agent authored; granting an unknown, deleted or other private skill is refused', async () => {
  const agent = await createAgent({ can_author_skills: true });
  const key = await manager(agent);
  const runner = (await p.send('POST', `${p.tenant}/agents/${agent}/runner-keys`, { body: { name: 'r' } })).body as Json;
  const authored = await p.send('POST', `${p.tenant}/agents/${agent}/skills/author`, { key: runner.key as string, body: fields() });
  const deleted = (await createSkill({ visibility: 'public' })).id;
  await p.send('DELETE', `${path}/${deleted}`);
  const grant = (skill_id: unknown, as = key) => p.send('POST', `${p.tenant}/agents/${agent}/skills`, { key: as, body: { skill_id } });
  const closed = (await createSkill()).id;
  for (const wrong of [closed, deleted, agent, `c${'0'.repeat(24)}`]) {
    const answer = await grant(wrong);
    assert.equal([answer.status, pointerOf(answer)], [422, '/skill_id'], answer.text);
  }
  for (const right of [(await createSkill({ visibility: 'public' })).id, (authored.body as Json).id])
    assert.is((await grant(right)).status, 201);
  assert.is((await grant(closed, admin)).status, 201);
  assert.is((await grant(closed)).status, 200, 'the agent has the skill already');
});

test('deleting a skill removes the skill and the permissions on it from all agents', async () => {
  const [agent, skill] = [await createAgent(), (await createSkill()).id as string];
  const of = (what: string) => `${p.tenant}/agents/${agent}/${what}`;
  await p.send('POST', of('skills'), { body: { skill_id: skill } });
  await p.send('PUT', of('skill-permissions'), { body: { permissions: [{ skill_id: skill }] } });
  const before = token();
  await p.send('DELETE', `${path}/${skill}`);
  for (const what of ['skills', 'skill-permissions']) {
    assert.equal((await p.send('GET', of(what))).body, [], what);
    const then = (await p.send('GET', `${of(what)}?as_of=${before}`)).body as Json[];
    assert.equal([then.length, then[0]!.skill_id], [1, skill], what);
  }
  assert.is((await p.send('DELETE', `${of('skills')}/${skill}`)).status, 404);
});

test('setting the permissions on skills replaces all of them; a request is refused if an action is not `use`, or if a skill occurs twice', async () => {
  const [agent, a, b] = [await createAgent(), (await createSkill()).id, (await createSkill()).id];
  const put = (...permissions: unknown[]) => p.send('PUT', `${p.tenant}/agents/${agent}/skill-permissions`, { body: { permissions } });
  const first = await put({ skill_id: a }, { skill_id: b, allowed: false });
  assert.equal(
    (first.body as Json[]).map((rest) => omit(rest, 'created_at')),
    [
      { agent_id: agent, skill_id: a, action: 'use', allowed: true },
      { agent_id: agent, skill_id: b, action: 'use', allowed: false },
    ],
  );
  const events = p.log.events.length;
  await put({ skill_id: a, action: 'use' }, { skill_id: b, allowed: false });
  assert.is(p.log.events.length, events);
  const second = (await put({ skill_id: b, allowed: false })).body as Json[];
  assert.equal(second, [(first.body as Json[])[1]]);
  assert.equal((await p.send('GET', `${p.tenant}/agents/${agent}/skill-permissions`)).body, second);
  for (const [pointer, ...wrong] of [
    ['/permissions/0/action', { skill_id: a, action: 'run' }],
    ['/permissions/1', { skill_id: a }, { skill_id: a, allowed: false }],
    ['/permissions/1/skill_id', { skill_id: a }, { skill_id: agent }],
    ['/permissions/0/created_at', { skill_id: a, created_at: 'now' }],
    ['/permissions', ...Array.from({ length: 501 }, () => ({ skill_id: a }))],
  ] as [string, ...unknown[]][]) {
    const answer = await put(...wrong);
    assert.equal([answer.status, pointerOf(answer)], [422, pointer], answer.text.slice(0, 300));
  }
  assert.equal((await put()).body, []);
});

test('a runner can author skills only for its own agent, and only if can_author_skills is set; it can author public skills only if the scope allows it', async () => {
  const agent = await createAgent();
  const author = `${p.tenant}/agents/${agent}/skills/author`;
  const key = ((await p.send('POST', `${p.tenant}/agents/${agent}/runner-keys`, { body: { name: 'r' } })).body as Json).key as string;
  const send = (more: Json = {}, headers = {}) => p.send('POST', author, { key, body: fields(more), headers });
  assert.is((await send()).status, 403);
  await p.send('PUT', `${p.tenant}/agents/${agent}/can-author-skills`, { body: { can_author_skills: true } });
  const authored = await send();
  const skill = authored.body as Json;
  assert.equal(
    [authored.status, skill.author_agent_id, skill.source, skill.visibility],
    [201, agent, 'authored', 'private'],
    authored.text,
  );
  assert.equal(p.log.events.at(-1)!.actor.kind, 'agent');
  assert.is((await send({ visibility: 'public' })).status, 403);
  await p.send('PUT', `${p.tenant}/agents/${agent}/skill-visibility-scope`, { body: { skill_visibility_scope: 'tenant_allowed' } });
  assert.is((await send({ visibility: 'public' })).status, 201);
  assert.is((await send({ slug: skill.slug })).status, 409);
  for (const other of [p.key, admin]) assert.is((await p.send('POST', author, { key: other, body: fields() })).status, 403);
  const foreign = `${p.tenant}/agents/${await createAgent()}/skills/author`;
  assert.is((await p.send('POST', foreign, { key, body: fields() })).status, 403);
});

test('repeating a skill request with the same Idempotency-Key gets the same response, even if the agent may no longer author skills or the skill was deleted', async () => {
  const agent = await createAgent({ can_author_skills: true });
  const key = ((await p.send('POST', `${p.tenant}/agents/${agent}/runner-keys`, { body: { name: 'r' } })).body as Json).key as string;
  const body = fields();
  const headers = { 'idempotency-key': 'once' };
  const author = () => p.send('POST', `${p.tenant}/agents/${agent}/skills/author`, { key, body, headers });
  const first = await author();
  const grant = () => p.send('POST', `${p.tenant}/agents/${agent}/skills`, { body: { skill_id: (first.body as Json).id }, headers });
  const granted = await grant();
  await p.send('PUT', `${p.tenant}/agents/${agent}/can-author-skills`, { body: { can_author_skills: false } });
  await p.send('DELETE', `${path}/${(first.body as Json).id}`);
  const events = p.log.events.length;
  for (const [answer, again] of [
    [first, await author()],
    [granted, await grant()],
  ] as const)
    assert.equal([again.status, again.body], [201, answer.body], again.text);
  assert.is(p.log.events.length, events);
});

test('audit log entries about a skill contain the name of the skill and what changed', async () => {
  const skill = await createSkill({ name: 'Named' });
  await p.send('PATCH', `${path}/${skill.id}`, { body: { description: 'Better' } });
  await p.waitForProjections();
  const [entry] = (await p.send('GET', `${p.tenant}/audit-logs?resource_id=${skill.id}`)).body as Json[];
  assert.equal([entry!.action, entry!.resource_type, entry!.resource_name], ['skill.updated', 'skill', 'Named']);
  assert.equal(
    (entry!.changes as Json[]).find(({ pointer }) => pointer === '/description'),
    { pointer: '/description', from: 'A skill', to: 'Better' },
  );
  assert.match(entry!.summary as string, /changed description and version of the skill “Named”/);
});

afterLastTest(() => p.close());

test.run();
