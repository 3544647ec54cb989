import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as SkillWebhook from '../../domain/skill-calls/skill-webhook.ts';
import { skillWebhookHiding } from '../../infra/skill-calls/hide-skill-webhooks.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { memoryPositions } from '../fixtures/memory-positions.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { createSkillPlatform, type Exposed } from '../fixtures/skill-platform.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { welchTest } from '../fixtures/welch-t-test.ts';

type Json = Record<string, unknown>;

const { p, succeed, expose, call, invocationsOf } = await createSkillPlatform();

/** Returns the body of a refusal without the fields that differ in each response. */
const comparable = ({ body }: Answer): string => JSON.stringify({ ...(body as Json), request_id: '', instance: '' });

test('an accepted call of a skill webhook is recorded with its caller and listed; the call can be read as a delivery with its payload', async () => {
  const exposed = await expose();
  const answer = await call(exposed.hook, exposed.token, '{"order": 7}');
  const { id, outcome } = answer.body as { id: string; outcome: string };
  assert.equal([answer.status, outcome], [202, 'accepted']);
  assert.match(answer.headers.get('consistency-token')!, /^\d+:\d+$/);
  const [invocation] = await invocationsOf(exposed);
  const { at, ...rest } = invocation as { at: string };
  assert.equal(rest, {
    id,
    skill_id: exposed.skill,
    agent_id: exposed.agent,
    caller: { ip: '127.0.0.1', user_agent: 'caller/1' },
    outcome: 'accepted',
    reason: null,
    count: 1,
    first_at: null,
  });
  assert.ok(Date.parse(at) > 0);
  const delivery = await succeed('GET', `${p.tenant}/deliveries/${id}`);
  assert.equal([delivery.payload, delivery.provider, delivery.status, delivery.replay_suspect], [{ order: 7 }, 'skill', 'waiting', false]);
  assert.is((await p.send('GET', `${p.tenant}/deliveries/${id}/body`)).text, '{"order": 7}');
  assert.is((await p.send('POST', `${p.tenant}/deliveries/${id}/redeliver`, { body: {} })).status, 202);
});

const refusedCall = async (prepare: (exposed: Exposed) => Promise<unknown>, token?: string) => {
  const exposed = await expose();
  await prepare(exposed);
  const answer = await call(exposed.hook, token ?? exposed.token);
  return { exposed, answer };
};

const noop = async () => undefined;

/**
 * Why the call of a skill webhook is refused: the reason, a function that brings it about, and the token that the call
 * sends (the right one if absent).
 */
const REFUSED: readonly [string, (exposed: Exposed) => Promise<unknown>, string?][] = [
  ['token_invalid', noop, `ann_skill_${'x'.repeat(40)}`],
  ['token_invalid', noop, 'x'],
  ['token_missing', noop, ''],
  ['hidden', ({ path }) => succeed('DELETE', `${path}/webhook`, undefined, 204)],
  ['skill_deleted', ({ path }) => succeed('DELETE', path, undefined, 204)],
  ['skill_revoked', ({ agent, skill }) => p.send('DELETE', `${p.tenant}/agents/${agent}/skills/${skill}`)],
  [
    'skill_disabled',
    ({ agent, skill }) => p.send('POST', `${p.tenant}/agents/${agent}/skills`, { body: { skill_id: skill, is_enabled: false } }),
  ],
  [
    'skill_disabled',
    ({ agent, skill }) =>
      p.send('PUT', `${p.tenant}/agents/${agent}/skill-permissions`, { body: { permissions: [{ skill_id: skill, allowed: false }] } }),
  ],
];

test('a call of a skill webhook without the right token gets the same response as a call of an unknown or hidden webhook', async () => {
  const [reference] = [await call('/hooks/skills/c00000000000000000000000x', 'x')];
  assert.equal([reference.status, reference.headers.get('content-type')], [401, 'application/problem+json']);
  assert.equal([(reference.body as Json).outcome, (reference.body as Json).code], ['rejected', 'unauthorized']);
  const same = [await call('/hooks/skills/x', 'x'), await call('/hooks/skills/c00000000000000000000000x', '')];
  for (const [reason, prepare, token] of REFUSED) {
    const { exposed, answer } = await refusedCall(prepare, token);
    same.push(answer);
    await p.recordPending();
    const recorded = p.eventsOf('SkillWebhookRefused').filter(({ id }) => id === exposed.skill) as unknown as { data: { calls: Json[] } }[];
    assert.equal(
      recorded.flatMap(({ data }) => data.calls).map((one) => [one.reason, one.ip, one.user_agent]),
      [[reason, '127.0.0.1', 'caller/1']],
    );
  }
  for (const answer of same) {
    assert.equal(comparable(answer), comparable(reference));
    assert.equal([...answer.headers.keys()], [...reference.headers.keys()]);
  }
});

test('while a tenant is suspended, calls of its skill webhooks get the same response as calls of unknown ones; after the tenant is resumed, they are accepted', async () => {
  const { hook, token, path } = await expose();
  await succeed('POST', `/admin/tenants/${p.tenant_id}/suspend`, { reason: 'a test' });
  const answer = await call(hook, token);
  await succeed('POST', `/admin/tenants/${p.tenant_id}/resume`, { reason: 'a test' });
  assert.is(comparable(answer), comparable(await call('/hooks/skills/c00000000000000000000000x', 'x')));
  assert.equal(
    (await invocationsOf({ path })).map(({ outcome, reason }) => [outcome, reason]),
    [['rejected', 'tenant_suspended']],
  );
  assert.is((await call(hook, token)).status, 202);
});

test('a call of a skill webhook whose agent is inactive or deleted gets 202 and is recorded as blocked, and no message is sent', async () => {
  for (const turnOff of [
    ({ agent }: Exposed) => p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { is_active: false } }),
    ({ agent }: Exposed) => p.send('DELETE', `${p.tenant}/agents/${agent}`),
  ]) {
    const { exposed, answer } = await refusedCall(turnOff);
    assert.equal([answer.status, (answer.body as Json).outcome], [202, 'blocked']);
    assert.equal(
      (await invocationsOf(exposed)).map(({ outcome, reason }) => [outcome, reason]),
      [['rejected', 'agent_inactive']],
    );
    assert.is(
      p.eventsOf('SkillWebhookCalled').some(({ id }) => id === (answer.body as Json).id),
      false,
    );
  }
});

const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
const padded = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`;

test('a call of a skill webhook is accepted if its body is a JSON object of at most 1 MiB and 64 levels; a call with another body is recorded as refused', async () => {
  const exposed = await expose();
  const { hook, token } = exposed;
  const statusOf = async (raw: string, headers?: Record<string, string>) => (await call(hook, token, raw, headers)).status;
  assert.is(await statusOf(nested(64)), 202);
  assert.is(await statusOf(` \n{}`), 202);
  assert.is(await statusOf(padded(1_048_576)), 202);
  assert.is(await statusOf('{"a":"\\u0000","__proto__":{},"constructor":{"prototype":1}}'), 202);
  assert.is(await statusOf('{}', { 'content-type': 'application/json; charset=utf-8' }), 202);
  const refused: [string, number, string, Record<string, string>?][] = [
    [nested(65), 422, 'invalid'],
    ['[{}]', 422, 'invalid'],
    ['"text"', 422, 'invalid'],
    ['null', 422, 'invalid'],
    ['', 400, 'malformed'],
    ['{"a":1', 400, 'malformed'],
    ['{"a":1}}', 400, 'malformed'],
    ['{"a":NaN}', 400, 'malformed'],
    ['{}//', 400, 'malformed'],
    [padded(1_048_577), 413, 'too_large'],
    ['{}', 415, 'unsupported_media_type', { 'content-type': 'text/plain' }],
    ['{}', 415, 'unsupported_media_type', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['{}', 415, 'unsupported_media_type', { 'content-encoding': 'gzip' }],
    ['{}', 400, 'malformed', { 'idempotency-key': 'x'.repeat(256) }],
  ];
  for (const [raw, status, , headers] of refused)
    assert.is(await statusOf(raw, headers), status, `${raw.slice(0, 30)} ${JSON.stringify(headers)}`);
  const listed = await invocationsOf(exposed, '?outcome=rejected');
  assert.equal(listed.map(({ reason }) => reason).sort(), refused.map(([, , reason]) => reason).sort());
  assert.is((await invocationsOf(exposed, '?outcome=accepted')).length, 5);
});

test('a call whose body has 10,000 or a million nested levels gets 422 within a second; a call whose body has very many or repeated names is accepted', async () => {
  const { hook, token } = await expose();
  for (const depth of [10_000, 500_000]) {
    const startedAt = performance.now();
    assert.is((await call(hook, token, nested(depth))).status, 422, String(depth));
    assert.ok(performance.now() - startedAt < 1_000 * loadFactor(), String(depth));
  }
  assert.is((await call(hook, token, '['.repeat(1_000_000))).status, 422, 'brackets that are not closed');
  const names = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [index, 1]));
  for (const raw of ['{"a":1,"a":2}', '{"a":"\\ud800"}', '{"a":9007199254740993,"b":1e400,"c":-0}', JSON.stringify(names)])
    assert.is((await call(hook, token, raw)).status, 202, raw.slice(0, 40));
});

test('the body of a large call of a skill webhook, which is stored in chunks, can be read completely', async () => {
  const { hook, token } = await expose();
  const raw = padded(1_048_576);
  const { id } = (await call(hook, token, raw)).body as { id: string };
  assert.ok((await p.send('GET', `${p.tenant}/deliveries/${id}/body`)).text === raw);
});

test('the guardrails of the tenant block and redact calls of skill webhooks, and the runner gets the redacted body', async () => {
  const rules = [
    { name: 'no passwords', kind: 'pattern', options: { pattern: 'password' }, action: 'block' },
    { name: 'orders', kind: 'pattern', options: { pattern: 'order-[0-9]+' }, action: 'redact' },
  ];
  await succeed('PUT', `${p.tenant}/guardrails`, rules);
  const exposed = await expose();
  const blocked = await call(exposed.hook, exposed.token, '{"a":"my password"}');
  assert.equal([blocked.status, (blocked.body as Json).outcome], [202, 'blocked']);
  const redacted = await call(exposed.hook, exposed.token, '{"a":"order-17"}');
  assert.equal([redacted.status, (redacted.body as Json).outcome], [202, 'accepted']);
  await succeed('PUT', `${p.tenant}/guardrails`, []);
  const listed = await invocationsOf(exposed);
  assert.equal(
    listed.map(({ outcome, reason }) => [outcome, reason]),
    [
      ['accepted', null],
      ['rejected', 'pattern'],
    ],
  );
  const { payload } = await succeed('GET', `${p.tenant}/deliveries/${(redacted.body as Json).id}`);
  assert.equal(payload, { a: '[redacted:orders]' });
});

test('repeating a call of a skill webhook with the same Idempotency-Key gets the first response; another body with that key is refused', async () => {
  const exposed = await expose();
  const { hook, token } = exposed;
  const headers = { 'idempotency-key': 'order 7' };
  const first = await call(hook, token, '{"order":7}', headers);
  const again = await call(hook, token, '{"order":7}', headers);
  assert.equal([again.status, again.text, again.headers.get('idempotent-replayed')], [202, first.text, 'true']);
  assert.is(first.headers.get('idempotent-replayed'), null);
  const other = await call(hook, token, '{"order":8}', headers);
  assert.equal([other.status, (other.body as Json).code], [422, 'idempotency_mismatch']);
  const elsewhere = await expose();
  const separate = await call(elsewhere.hook, elsewhere.token, '{"order":7}', headers);
  assert.equal([separate.status, separate.text === first.text], [202, false]);
  assert.is((await invocationsOf(exposed, '?outcome=accepted')).length, 1);
});

test('the invocations of a skill webhook are listed newest first, in pages, and can be filtered by outcome and time', async () => {
  const exposed = await expose();
  const ids: unknown[] = [];
  for (let n = 0; n < 5; n++) ids.unshift(((await call(exposed.hook, exposed.token)).body as Json).id);
  const first = await p.send('GET', `${exposed.path}/invocations?limit=2`);
  assert.equal(
    (first.body as Json[]).map(({ id }) => id),
    ids.slice(0, 2),
  );
  const next = /<([^>]+)>/.exec(first.headers.get('link')!)![1]!;
  assert.equal(
    ((await succeed('GET', next)) as unknown as Json[]).map(({ id }) => id),
    ids.slice(2, 4),
  );
  const all = await invocationsOf(exposed);
  const middle = all[2]!.at as string;
  assert.equal(
    (await invocationsOf(exposed, `?from=${middle}`)).map(({ id }) => id),
    all.filter(({ at }) => (at as string) >= middle).map(({ id }) => id),
  );
  assert.equal(
    (await invocationsOf(exposed, `?to=${middle}`)).map(({ id }) => id),
    all.filter(({ at }) => (at as string) < middle).map(({ id }) => id),
  );
  assert.is((await p.send('GET', `${exposed.path}/invocations?outcome=dead`)).status, 422);
  assert.is((await p.send('GET', `${p.tenant}/skills/c00000000000000000000000x/invocations`)).status, 404);
});

test('after a skill is deleted or revoked, a reactor hides the webhook of the skill, even if the process of the reactor was restarted in between', async () => {
  const [deleted, revoked, kept] = [await expose(), await expose(), await expose()];
  const logger = { warn: () => {}, debug: () => {} } as never;
  const isExposed = async ({ skill }: Exposed) => (await p.systemContext().load(SkillWebhook, skill)).state.status === 'exposed';
  const parts = { log: p.log, logger, positions: memoryPositions() };
  const first = skillWebhookHiding.start(parts);
  await succeed('DELETE', deleted.path, undefined, 204);
  await waitUntil(async () => !(await isExposed(deleted)));
  await first.close();
  await succeed('DELETE', `${p.tenant}/agents/${revoked.agent}/skills/${revoked.skill}`, undefined, 204);
  const second = skillWebhookHiding.start(parts);
  await waitUntil(async () => !(await isExposed(revoked)));
  await second.close();
  assert.is(await isExposed(kept), true);
  const hidden = p.eventsOf('SkillWebhookHidden').filter(({ id }) => [deleted.skill, revoked.skill].includes(id));
  assert.equal(
    hidden.map(({ data }) => (data as { reason: string }).reason),
    ['skill_deleted', 'skill_revoked'],
  );
  assert.is((await succeed('GET', revoked.path)).is_exposed, false);
  assert.is((await call(kept.hook, kept.token)).status, 202);
});

test('the time that a refused call takes does not reveal whether the skill webhook exists or is hidden', async () => {
  const [known, off] = [await expose(), await expose()];
  await succeed('DELETE', `${off.path}/webhook`, undefined, 204);
  const hooks = [known.hook, off.hook, '/hooks/skills/c00000000000000000000000x'];
  const times: number[][] = [[], [], []];
  for (let n = 0; n < 120; n++) {
    const startedAt = performance.now();
    await call(hooks[n % 3]!, 'x');
    times[n % 3]!.push(performance.now() - startedAt);
  }
  const [ofKnown, ...others] = times as [number[], number[], number[]];
  for (const other of others) {
    const { t, share } = welchTest(ofKnown, other);
    console.log(`t = ${t.toFixed(1)} (${(share * 100).toFixed(1)} %)`);
    assert.ok(Math.abs(t) < 4.5 || share < 0.05, `t = ${t}, ${share}`);
  }
  assert.ok(Math.min(...times.flat()) > 20, 'refusals wait');
});

test('after these tests, the projections have applied every event, and no event is parked', () => assert.equal(p.unappliedEvents(), []));

afterLastTest(() => p.close());

test.run();
