import { createHash } from 'node:crypto';
import * as assert from 'uvu/assert';
import { type DeliveryFacts, factsOf } from '../../domain/deliveries/delivery.ts';
import type { GuardrailRule } from '../../domain/guardrails/guardrail-rule.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { type Answer, createWebhookPlatform, sign } from '../fixtures/webhook-platform.ts';

type Platform = Awaited<ReturnType<typeof createWebhookPlatform>>;

const rule = (
  name: string,
  kind: GuardrailRule['kind'],
  options: GuardrailRule['options'],
  action: GuardrailRule['action'],
): GuardrailRule => ({
  name,
  kind,
  options,
  action,
});

const problemsOf = ({ text }: Answer): string[] => (JSON.parse(text).errors as { pointer: string }[]).map(({ pointer }) => pointer);

const setTenantRules = async (given: Platform, rules: readonly GuardrailRule[]): Promise<void> => {
  const answer = await given.call('PUT', 'guardrails', rules);
  assert.is(answer.status, 200, answer.text);
};
const setRules = async (given: Platform, rules: readonly GuardrailRule[], id = given.hook): Promise<void> => {
  const answer = await given.call('PUT', `webhook-integrations/${id}/guardrails`, rules);
  assert.is(answer.status, 200, answer.text);
};

let sent = 0;
/** Sends a body with a new delivery id. @returns the outcome of the delivery, and the facts in its event */
const deliver = async (given: Platform, body: string, headers: Record<string, string> = {}, id = given.hook) => {
  const answer = await given.deliver(body, { 'x-github-delivery': `g-${++sent}`, ...headers }, id);
  assert.is(answer.status, 202, answer.text);
  const event = given.ofType('WebhookAccepted', 'WebhookBlocked').find((one) => one.id === answer.json.id)!;
  const facts: DeliveryFacts = factsOf(event);
  assert.is(answer.json.outcome, event.type === 'WebhookAccepted' ? 'accepted' : 'blocked');
  const verdicts = facts.guardrails
    .map(({ rule: name, verdict }) => `${name} ${verdict}`)
    .filter((text) => !/^(json|depth) pass$/.test(text));
  return { id: event.id, outcome: answer.json.outcome, facts, verdicts };
};

test('the guardrails of a tenant and of an integration are stored as they were sent; sending them again appends no event', async () => {
  const given = await createWebhookPlatform();
  const rules = [
    rule('small', 'size', { max_bytes: 10 }, 'label'),
    rule('pushes', 'event_filter', { allow: ['push'] }, 'block'),
    rule('no bots', 'json_path', { path: '$.sender[?@.type == "Bot"]', when: 'present' }, 'block'),
    rule('keys', 'pattern', { pattern: 'AKIA[0-9A-Z]{16}' }, 'redact'),
    rule('secrets', 'pattern', { detectors: ['secrets'] }, 'redact'),
    rule('orders', 'injection', {}, 'block'),
    rule('busy', 'rate', { max: 10, per_seconds: 60 }, 'block'),
    rule('chain', 'loop', { max_depth: 0 }, 'label'),
  ];
  for (const path of ['guardrails', `webhook-integrations/${given.hook}/guardrails`]) {
    assert.equal(JSON.parse((await given.call('GET', path)).text), []);
    const before = given.log.events.length;
    const answer = await given.call('PUT', path, rules);
    assert.equal(JSON.parse(answer.text), rules);
    assert.equal((await given.call('PUT', path, rules)).status, 200);
    assert.is(given.log.events.length, before + 1);
    const read = await given.call('GET', path);
    assert.equal(JSON.parse(read.text), rules);
    assert.is(read.headers.get('etag'), answer.headers.get('etag'));
    assert.is((await given.call('PUT', path, [], { 'if-match': '"99"' })).status, 412);
  }
  assert.is(given.ofType('GuardrailsReplaced').length, 2);
  await given.close();
});

test('setting a guardrail is refused if its name, kind, option or action is invalid, and the error points to the invalid field', async () => {
  const given = await createWebhookPlatform();
  const refused: readonly (readonly [string, unknown])[] = [
    ['/0/name', rule('', 'injection', {}, 'label')],
    ['/0/name', rule('a,b', 'injection', {}, 'label')],
    ['/0/name', rule('x'.repeat(65), 'injection', {}, 'label')],
    ['/0/name', rule('json', 'injection', {}, 'label')],
    ['/0/kind', { ...rule('a', 'size', {}, 'label'), kind: 'other' }],
    ['/0/options/max_bytes', rule('a', 'size', {}, 'label')],
    ['/0/options/max_bytes', rule('a', 'size', { max_bytes: 0 }, 'label')],
    ['/0/options/max_bytes', rule('a', 'size', { max_bytes: 26_214_401 }, 'label')],
    ['/0/options/pattern', rule('a', 'size', { max_bytes: 1, pattern: 'x' }, 'label')],
    ['/0/options/more', { ...rule('a', 'injection', {}, 'label'), options: { more: 1 } }],
    ['/0/more', { ...rule('a', 'injection', {}, 'label'), more: 1 }],
    ['/0/action', rule('a', 'size', { max_bytes: 1 }, 'redact')],
    ['/0/action', { ...rule('a', 'injection', {}, 'label'), action: 'drop' }],
    ['/0/action', rule('a', 'json_path', { path: '$.a', when: 'absent' }, 'redact')],
    ['/0/options', rule('a', 'event_filter', {}, 'block')],
    ['/0/options', rule('a', 'event_filter', { allow: ['a'], deny: ['b'] }, 'block')],
    ['/0/options/allow', rule('a', 'event_filter', { allow: [] }, 'block')],
    ['/0/options', rule('a', 'pattern', {}, 'block')],
    ['/0/options', rule('a', 'pattern', { pattern: 'a', detectors: ['cards'] }, 'block')],
    ['/0/options/pattern', rule('a', 'pattern', { pattern: '' }, 'block')],
    ['/0/options/pattern', rule('a', 'pattern', { pattern: 'x'.repeat(1025) }, 'block')],
    ['/0/options/pattern', rule('a', 'pattern', { pattern: '(?=a)' }, 'block')],
    ['/0/options/pattern', rule('a', 'pattern', { pattern: '(a)\\1' }, 'block')],
    ['/0/options/pattern', rule('a', 'pattern', { pattern: '(a{1,1000}){1,1000}' }, 'block')],
    ['/0/options/pattern', rule('a', 'pattern', { pattern: 'a*' }, 'block')],
    ['/0/options/path', rule('a', 'json_path', { path: 'a.b' }, 'block')],
    ['/0/options/path', rule('a', 'json_path', { path: '$[?search(@, "(?=a)")]' }, 'block')],
    ['/0/options/path', rule('a', 'json_path', { path: '$[?search(@, $.p)]' }, 'block')],
    ['/0/options/per_seconds', rule('a', 'rate', { max: 1 }, 'block')],
    ['/0/options/per_seconds', rule('a', 'rate', { max: 1, per_seconds: 86_401 }, 'block')],
    ['/0/options/max', rule('a', 'rate', { max: 100_001, per_seconds: 1 }, 'block')],
    ['/0/options/max_depth', rule('a', 'loop', { max_depth: 17 }, 'block')],
  ];
  for (const [pointer, one] of refused) {
    const answer = await given.call('PUT', 'guardrails', [one]);
    assert.is(answer.status, 422, JSON.stringify(one));
    assert.ok(problemsOf(answer).includes(pointer), `${pointer}: ${answer.text}`);
  }
  const twice = await given.call('PUT', 'guardrails', [rule('a', 'injection', {}, 'label'), rule('a', 'injection', {}, 'block')]);
  assert.equal([twice.status, problemsOf(twice)], [422, ['/1/name']]);
  const many = Array.from({ length: 51 }, (_, index) => rule(`r${index}`, 'injection', {}, 'label'));
  assert.is((await given.call('PUT', 'guardrails', many)).status, 422);
  assert.is((await given.call('PUT', 'guardrails', many.slice(1))).status, 200);
  assert.is((await given.call('PUT', 'guardrails', {})).status, 422);
  assert.is((await given.call('PUT', 'webhook-integrations/c000000000000000000000000/guardrails', [])).status, 404);
  await given.close();
});

test('each kind of guardrail blocks a delivery just above the limit, but not one exactly at the limit', async () => {
  const given = await createWebhookPlatform();
  const cases: readonly (readonly [GuardrailRule, string, boolean, Record<string, string>?])[] = [
    [rule('r', 'size', { max_bytes: 7 }, 'block'), '{"a":1}', false],
    [rule('r', 'size', { max_bytes: 6 }, 'block'), '{"a":1}', true],
    [rule('r', 'event_filter', { allow: ['push', 'ping'] }, 'block'), '{}', false],
    [rule('r', 'event_filter', { allow: ['ping'] }, 'block'), '{}', true],
    [rule('r', 'event_filter', { deny: ['push'] }, 'block'), '{}', true],
    [rule('r', 'event_filter', { deny: ['pus'] }, 'block'), '{}', false],
    [rule('r', 'json_path', { path: '$.a.b' }, 'block'), '{"a":{"b":null}}', true],
    [rule('r', 'json_path', { path: '$.a.b' }, 'block'), '{"a":{"c":1}}', false],
    [rule('r', 'json_path', { path: '$.a.b', when: 'absent' }, 'block'), '{"a":{"c":1}}', true],
    [rule('r', 'json_path', { path: '$.a.b', when: 'absent' }, 'block'), '{"a":{"b":1}}', false],
    [rule('r', 'json_path', { path: '$..[?match(@, "b.*t")]' }, 'block'), '{"a":["x",{"t":"bot"}]}', true],
    [rule('r', 'json_path', { path: '$.__proto__' }, 'block'), '{"a":1}', false],
    [rule('r', 'pattern', { pattern: '^ab$' }, 'block'), '{"x":["\\u0061b"]}', true],
    [rule('r', 'pattern', { pattern: '^ab$' }, 'block'), '{"x":"abc"}', false],
    [rule('r', 'pattern', { pattern: '^ab$' }, 'block'), '{"ab":1}', true],
    [rule('r', 'pattern', { pattern: '^42$' }, 'block'), '[42]', true],
    [rule('r', 'pattern', { pattern: '(a+)+$' }, 'block'), JSON.stringify('a'.repeat(50_000)), true],
    [rule('r', 'pattern', { pattern: '(a+)+$' }, 'block'), JSON.stringify(`${'a'.repeat(50_000)}!`), false],
    [rule('r', 'pattern', { detectors: ['cards'] }, 'block'), '{"card":"4111 1111 1111 1111"}', true],
    [rule('r', 'pattern', { detectors: ['cards'] }, 'block'), '{"card":"4111 1111 1111 1112"}', false],
    [rule('r', 'pattern', { detectors: ['cards'] }, 'block'), '{"text":"卡号4111111111111111有效期"}', true],
    [rule('r', 'pattern', { detectors: ['cards'] }, 'block'), '{"text":"карта４１１１１１１１１１１１１１１１"}', true],
    [rule('r', 'pattern', { detectors: ['phones'] }, 'block'), '{"text":"电话+4915112345678号"}', true],
    [rule('r', 'pattern', { pattern: '(?:^|\\PL)Петров(?:\\PL|$)' }, 'block'), '{"text":"для (Петров)"}', true],
    [rule('r', 'pattern', { pattern: '(?:^|\\PL)Петров(?:\\PL|$)' }, 'block'), '{"text":"для Петрова"}', false],
  ];
  for (const [one, body, applies] of cases) {
    await setRules(given, [one]);
    const { outcome, facts, verdicts } = await deliver(given, body);
    assert.equal(
      [outcome, facts.reason, verdicts.filter((text) => text.startsWith('r '))],
      applies ? ['blocked', one.kind, ['r block']] : ['accepted', null, ['r pass']],
      JSON.stringify([one, body]),
    );
  }
  await given.close();
});

test('the guardrails of the tenant apply before those of the integration, each group in its order; after a guardrail that blocks, no further one applies', async () => {
  const given = await createWebhookPlatform();
  await setTenantRules(given, [rule('t1', 'size', { max_bytes: 1 }, 'label'), rule('t2', 'pattern', { pattern: 'b' }, 'label')]);
  await setRules(given, [
    rule('i1', 'event_filter', { allow: ['push'] }, 'block'),
    rule('i2', 'json_path', { path: '$.a' }, 'block'),
    rule('i3', 'size', { max_bytes: 1 }, 'block'),
  ]);
  const { verdicts, facts } = await deliver(given, '{"a":"b"}');
  assert.equal(verdicts, ['t1 label', 't2 label', 'i1 pass', 'i2 block']);
  assert.is(facts.reason, 'json_path');
  assert.equal((await deliver(given, '{"c":"c"}')).verdicts, ['t1 label', 't2 pass', 'i1 pass', 'i2 pass', 'i3 block']);
  await given.close();
});

test('a change of guardrails applies from the next delivery on, and does not affect other tenants and integrations', async () => {
  const given = await createWebhookPlatform();
  const other = await given.connectInOtherTenant();
  const second = (await given.connect({ label: 'Second' })).json.id as string;
  await setTenantRules(given, [rule('t', 'size', { max_bytes: 1 }, 'block')]);
  assert.is((await deliver(given, '{}')).outcome, 'blocked');
  assert.is((await deliver(given, '{}', {}, other)).outcome, 'accepted');
  await setTenantRules(given, []);
  await setRules(given, [rule('i', 'size', { max_bytes: 1 }, 'block')]);
  assert.is((await deliver(given, '{}')).outcome, 'blocked');
  assert.is((await deliver(given, '{}', {}, second)).outcome, 'accepted');
  await setRules(given, []);
  assert.is((await deliver(given, '{}')).outcome, 'accepted');
  await given.close();
});

test("matches of guardrails and of the tenant's redaction patterns are removed before a delivery is stored; its facts name what was removed", async () => {
  const given = await createWebhookPlatform();
  await given.call('PUT', 'redaction-patterns', [{ pattern: 'CUST-\\d+', tag: 'customer' }]);
  await setRules(given, [
    rule('keys', 'pattern', { pattern: 'AKIA\\d+' }, 'redact'),
    rule('mail', 'json_path', { path: '$..email' }, 'redact'),
    rule('seen', 'pattern', { pattern: 'AKIA' }, 'label'),
  ]);
  const sentBody = '{ "n": 12345678901234567890, "k": "AKIA1 AKIA2", "by": {"email": {"x": 1}, "id": "CUST-7"} }';
  const { facts, verdicts, id } = await deliver(given, sentBody);
  const { text: body } = await given.call('GET', `deliveries/${id}/body`);
  assert.is(
    body,
    '{"n":12345678901234567890,"k":"[redacted:keys] [redacted:keys]","by":{"email":"[redacted:mail]","id":"[redacted:customer]"}}',
  );
  assert.equal(verdicts, ['keys redact', 'mail redact', 'seen pass', 'redaction redact']);
  assert.equal(facts.redactions, [
    { tag: 'keys', count: 2 },
    { tag: 'mail', count: 1 },
    { tag: 'customer', count: 1 },
  ]);
  assert.is(facts.sha256, createHash('sha256').update(sentBody).digest('hex'));
  assert.is(facts.size_bytes, sentBody.length);
  const shown = await given.call('GET', `deliveries/${id}`);
  assert.is(shown.json.redactions, 4);
  assert.not.match(shown.text, /AKIA1|CUST-7/);
  const again = await given.deliver(sentBody, { 'x-github-delivery': `g-${sent}` });
  assert.is(again.json.outcome, 'duplicate');
  await given.close();
  assert.is(given.ofType('WebhookRedeliveryDiffered').length, 0);
});

test('a redelivery of a known delivery does not count against a rate guardrail', async () => {
  const given = await createWebhookPlatform();
  await setRules(given, [rule('busy', 'rate', { max: 2, per_seconds: 60 }, 'block')]);
  await deliver(given, '{"n":1}');
  for (let n = 0; n < 5; n++) assert.is((await given.deliver('{"n":1}', { 'x-github-delivery': `g-${sent}` })).status, 200);
  assert.is((await deliver(given, '{"n":2}')).outcome, 'accepted');
  assert.is((await deliver(given, '{"n":3}')).outcome, 'blocked');
  await given.close();
});

test('a rate guardrail blocks or labels deliveries above its maximum in any sliding window; only deliveries that reach the agent are counted', async () => {
  const given = await createWebhookPlatform();
  let now = Date.parse('2026-03-02T10:00:00.000Z');
  given.clock.now = () => now;
  await setTenantRules(given, [
    rule('busy', 'rate', { max: 2, per_seconds: 60 }, 'block'),
    rule('often', 'rate', { max: 1, per_seconds: 60 }, 'label'),
    rule('no z', 'pattern', { pattern: 'z' }, 'block'),
  ]);
  assert.equal((await deliver(given, '{"z":1}')).verdicts, ['no z block']);
  assert.equal((await deliver(given, '{"n":1}')).verdicts, ['no z pass', 'busy pass', 'often pass']);
  now += 30_000;
  assert.equal((await deliver(given, '{"n":2}')).verdicts, ['no z pass', 'busy pass', 'often label']);
  now += 29_999;
  const third = await deliver(given, '{"n":3}');
  assert.equal([third.outcome, third.facts.reason, third.verdicts], ['blocked', 'rate', ['no z pass', 'busy block']]);
  now += 1;
  assert.equal((await deliver(given, '{"n":4}')).verdicts, ['no z pass', 'busy pass', 'often pass']);
  assert.is((await deliver(given, '{"n":5}')).outcome, 'blocked');
  await given.close();
});

test('a delivery that contains the id of an earlier delivery counts as caused by the earlier one; in a chain of such deliveries, the 17th is blocked', async () => {
  const given = await createWebhookPlatform();
  let previous = await deliver(given, '{"n":0}');
  for (let depth = 1; depth <= 16; depth++) {
    const next = await deliver(given, JSON.stringify({ n: depth, text: `Done.\n\nAnnals-Delivery: ${previous.id}\n` }));
    assert.equal(next.facts.cause, { delivery_id: previous.id, depth });
    assert.equal(next.verdicts, ['loop pass']);
    previous = next;
  }
  const last = await deliver(given, '{"n":17}', { 'annals-delivery': previous.id });
  assert.equal([last.outcome, last.facts.reason, last.facts.cause?.depth, last.verdicts], ['blocked', 'loop', 17, ['loop block']]);
  await given.close();
});

test('a loop guardrail blocks a delivery if the chain of its causes, all of this tenant, exceeds the maximum depth', async () => {
  const given = await createWebhookPlatform();
  const other = await given.connectInOtherTenant();
  const foreign = await deliver(given, '{"n":1}', {}, other);
  await setRules(given, [rule('no echo', 'loop', { max_depth: 0 }, 'block')]);
  const first = await deliver(given, `{"text":"Annals-Delivery: c000000000000000000000000 Annals-Delivery: ${foreign.id}"}`);
  assert.equal([first.outcome, first.verdicts, first.facts.cause], ['accepted', ['no echo pass'], undefined]);
  const echo = await deliver(given, JSON.stringify({ text: `a ${foreign.id} Annals-Delivery:${first.id}!` }));
  assert.equal([echo.outcome, echo.verdicts, echo.facts.reason], ['blocked', ['loop pass', 'no echo block'], 'loop']);
  const form = `payload=${encodeURIComponent(JSON.stringify({ text: `Annals-Delivery: ${first.id}` }))}`;
  const posted = await given.deliver(form, {
    'x-github-delivery': `g-${++sent}`,
    'content-type': 'application/x-www-form-urlencoded',
    'x-hub-signature-256': sign(form),
  });
  assert.is(posted.json.outcome, 'blocked');
  await given.close();
});

test.run();
