import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as Json;
const path = `${p.tenant}/agents/${agent.id}`;
const put = (setting: string, body: Json, key?: string) => p.send('PUT', `${path}/${setting}`, { body, ...(key ? { key } : {}) });
const lastEvent = () => {
  const { type, data } = p.log.events.at(-1)!;
  return [type, data];
};

test('the settings can_author_skills and skill visibility of an agent are changed by an operation each; both operations return the agent', async () => {
  const authoring = await put('can-author-skills', { can_author_skills: true });
  assert.equal([authoring.status, (authoring.body as Json).can_author_skills], [200, true]);
  assert.equal(lastEvent(), ['AgentSkillAuthoringChanged', { can_author_skills: true }]);
  const scope = await put('skill-visibility-scope', { skill_visibility_scope: 'tenant_allowed' });
  assert.equal([scope.status, (scope.body as Json).skill_visibility_scope], [200, 'tenant_allowed']);
  assert.equal(lastEvent(), ['AgentSkillVisibilityScopeChanged', { skill_visibility_scope: 'tenant_allowed' }]);
  const read = (await p.send('GET', path)).body as Json;
  assert.equal([read.can_author_skills, read.skill_visibility_scope], [true, 'tenant_allowed']);
  const events = p.log.events.length;
  await put('can-author-skills', { can_author_skills: true });
  await put('skill-visibility-scope', { skill_visibility_scope: 'tenant_allowed' });
  assert.is(p.log.events.length, events, 'the same settings again append no event');
});

test('a new agent has no budget; a budget is stored in micro-dollars, is not changed by an update without fields, and is removed by null', async () => {
  assert.equal((await p.send('GET', `${path}/budget`)).body, { hourly_limit_usd: null });
  for (const [usd, micros] of [
    [2.5, 2_500_000],
    [0.000001, 1],
    [0, 0],
    [1_000_000_000, 1e15],
  ]) {
    const changed = await put('budget', { hourly_limit_usd: usd });
    assert.equal([changed.status, changed.body], [200, { hourly_limit_usd: usd }], changed.text);
    assert.equal(lastEvent(), ['AgentBudgetChanged', { hourly_limit_micros: micros }]);
    const read = await p.send('GET', `${path}/budget`);
    assert.equal([read.body, read.headers.get('etag')], [changed.body, changed.headers.get('etag')]);
  }
  const events = p.log.events.length;
  assert.equal((await put('budget', {})).body, { hourly_limit_usd: 1_000_000_000 });
  assert.is(p.log.events.length, events);
  assert.equal((await put('budget', { hourly_limit_usd: null })).body, { hourly_limit_usd: null });
});

test('a request to set a budget gets 422 if the amount is negative, too large, too precise or not a number', async () => {
  for (const hourly_limit_usd of [-0.01, 1_000_000_001, 0.0000001, '5', true])
    assert.is((await put('budget', { hourly_limit_usd })).status, 422, String(hourly_limit_usd));
  // JSON has no NaN, so the first body is not valid JSON. The number in the second body is too large and is read as
  // infinite.
  for (const [raw, status] of [
    ['{"hourly_limit_usd": NaN}', 400],
    ['{"hourly_limit_usd": 1e400}', 422],
  ] as const)
    assert.is((await p.send('PUT', `${path}/budget`, { raw })).status, status, raw);
  for (const hourly_limit_usd of [0, 0.000001, 1_000_000_000])
    assert.is((await put('budget', { hourly_limit_usd })).status, 200, String(hourly_limit_usd));
});

test('an as-of read returns the budget at that position, and restoring an earlier revision of the agent restores its budget', async () => {
  const first = await put('budget', { hourly_limit_usd: 1 });
  await put('budget', { hourly_limit_usd: 2 });
  const at = first.headers.get('consistency-token')!;
  assert.equal((await p.send('GET', `${path}/budget?as_of=${at}`)).body, { hourly_limit_usd: 1 });
  const revision = Number(/"(\d+)"/.exec(first.headers.get('etag')!)![1]);
  assert.is((await p.send('POST', `${path}/restore`, { body: { revision } })).status, 200);
  assert.equal((await p.send('GET', `${path}/budget`)).body, { hourly_limit_usd: 1 });
});

test('a MANAGER of an agent may set its budget and its skill visibility, but not can_author_skills', async () => {
  const { key, user_id } = await addMember(p, 'MEMBER');
  assert.is((await put(`roles/${user_id}`, { role: 'MANAGER' })).status, 200);
  assert.is((await put('budget', { hourly_limit_usd: 3 }, key)).status, 200);
  assert.is((await put('skill-visibility-scope', { skill_visibility_scope: 'private_only' }, key)).status, 200);
  assert.is((await put('can-author-skills', { can_author_skills: false }, key)).status, 403);
});

afterLastTest(() => p.close());

test.run();
