import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSkillPlatform } from '../fixtures/skill-platform.ts';
import type { Answer } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const { p, succeed, createSkill, createAgent, expose, call, invocationsOf } = await createSkillPlatform();

const errorCodeOf = ({ body }: Answer): unknown => (body as { errors?: { code: string }[] }).errors?.[0]?.code;

test('exposing a skill returns a URL and a token, and no later response contains the token', async () => {
  const { path, hook, token, skill, agent } = await expose();
  assert.match(token, /^ann_skill_[0-9A-Za-z]{40}$/);
  assert.is(hook, `/hooks/skills/${skill}`);
  const read = await succeed('GET', `${path}/webhook`);
  assert.equal([read.skill_id, read.agent_id, read.url, 'token' in read], [skill, agent, `http://annals.test${hook}`, false]);
  const events = p.eventsOf('SkillWebhookExposed').length;
  const repeated = await succeed('PUT', `${path}/webhook`, { agent_id: agent });
  assert.equal([repeated.token, repeated.url], [null, read.url]);
  assert.is(p.eventsOf('SkillWebhookExposed').length, events, 'nothing changes');
  assert.not.match(JSON.stringify(p.log.events.map(({ data, meta }) => [data, meta])), new RegExp(token));
  assert.is((await call(hook, token)).status, 202);
});

test('repeating a request to expose a skill or rotate its token with the same Idempotency-Key is refused, because the token was already shown', async () => {
  const skill = await createSkill();
  const agent = await createAgent(skill);
  const path = `${p.tenant}/skills/${skill}/webhook`;
  const headers = { 'idempotency-key': `k-${skill}` };
  assert.is((await p.send('PUT', path, { body: { agent_id: agent }, headers })).status, 201);
  const again = await p.send('PUT', path, { body: { agent_id: agent }, headers });
  assert.equal([again.status, (again.body as Json).code, again.headers.get('location')], [409, 'secret_already_shown', path]);
  assert.is((await p.send('POST', `${path}/rotate-token`, { headers })).status, 200);
  assert.is((await p.send('POST', `${path}/rotate-token`, { headers })).status, 409);
});

test('exposing a skill is refused for an agent that does not have the skill', async () => {
  const skill = await createSkill();
  const other = await createAgent(await createSkill());
  const path = `${p.tenant}/skills/${skill}/webhook`;
  const put = (agent_id: unknown) => p.send('PUT', path, { body: { agent_id } });
  const notGranted = await put(other);
  assert.equal([notGranted.status, errorCodeOf(notGranted)], [422, 'skill_not_granted']);
  const unknown = await put('c00000000000000000000000x');
  assert.equal([unknown.status, errorCodeOf(unknown)], [422, 'unknown_agent']);
  assert.is((await p.send('PUT', path, { body: { agent_id: other, token: 'x' } })).status, 422);
  assert.is((await p.send('PUT', `${p.tenant}/skills/c00000000000000000000000x/webhook`, { body: { agent_id: other } })).status, 404);
  assert.is((await p.send('GET', path)).status, 404);
  assert.is((await p.send('DELETE', path)).status, 404);
  assert.is((await p.send('POST', `${path}/rotate-token`)).status, 404);
});

test('exposing a skill for another agent keeps the token of the skill webhook, and later calls go to that agent', async () => {
  const { path, hook, token, skill } = await expose();
  const other = await createAgent(skill);
  const answer = await succeed('PUT', `${path}/webhook`, { agent_id: other });
  assert.equal([answer.agent_id, answer.token], [other, null]);
  const { id } = (await call(hook, token)).body as { id: string };
  assert.is((await invocationsOf({ path })).find((one) => one.id === id)!.agent_id, other);
});

test('after a token rotation, only calls with the new token are accepted', async () => {
  const { path, hook, token } = await expose();
  const { token: rotated } = await succeed('POST', `${path}/webhook/rotate-token`);
  assert.is((await call(hook, token)).status, 401);
  assert.is((await call(hook, rotated as string)).status, 202);
});

test('reading a skill shows whether the skill is exposed; so do an as-of read and the response to an update', async () => {
  const { path, skill } = await expose();
  const before = p.eventsOf('SkillWebhookExposed').at(-1)!;
  assert.is((await succeed('GET', path)).is_exposed, true);
  const listed = (await succeed('GET', `${p.tenant}/skills?limit=200`)) as unknown as Json[];
  assert.is(listed.find(({ id }) => id === skill)!.is_exposed, true);
  assert.is((await succeed('PATCH', path, { name: 'Other' })).is_exposed, true);
  await succeed('DELETE', `${path}/webhook`, undefined, 204);
  assert.is((await succeed('GET', path)).is_exposed, false);
  const { commit, prepare } = before.position;
  assert.is((await succeed('GET', `${path}?as_of=${commit}:${prepare}`)).is_exposed, true);
});

test('exposing a skill again whose webhook was hidden gives it the same URL and a new token', async () => {
  const { path, hook, token, agent } = await expose();
  await succeed('DELETE', `${path}/webhook`, undefined, 204);
  assert.is((await call(hook, token)).status, 401);
  assert.is((await p.send('GET', `${path}/webhook`)).status, 404);
  const again = await succeed('PUT', `${path}/webhook`, { agent_id: agent }, 201);
  assert.equal([new URL(again.url as string).pathname, again.token === token], [hook, false]);
  assert.is((await call(hook, token)).status, 401);
  assert.is((await call(hook, again.token as string)).status, 202);
});

test('after these tests, the projections have applied every event, and no event is parked', () => assert.equal(p.unappliedEvents(), []));

afterLastTest(() => p.close());

test.run();
