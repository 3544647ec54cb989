import * as assert from 'uvu/assert';
import type { GuardrailRule } from '../../domain/guardrails/guardrail-rule.ts';
import { omit } from '../../domain/omit.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

type Row = {
  preview: unknown;
  delivery_id: string;
  event: string | null;
  provider: string;
  received_at: string;
  verdict_now: string | null;
  verdict_then: string;
  rule: string | null;
  redactions: number;
  microseconds: number;
  times: { rule: string; microseconds: number }[];
};
type Platform = Awaited<ReturnType<typeof createWebhookPlatform>>;

const FROM = '2026-03-02T00:00:00.000Z';
const TO = '2026-03-03T00:00:00.000Z';

/** Sends these bodies as deliveries on 2 March 2026, one every minute. @returns the ids of the deliveries */
const deliverAll = async (given: Platform, bodies: readonly string[], id = given.hook): Promise<string[]> => {
  const ids: string[] = [];
  for (const [n, body] of bodies.entries()) {
    given.clock.now = () => Date.parse('2026-03-02T10:00:00.000Z') + n * 60_000;
    ids.push((await given.deliver(body, { 'x-github-delivery': `t-${id}-${n}` }, id)).json.id as string);
  }
  return ids;
};

const attempt = async (given: Platform, rules: readonly GuardrailRule[], more: object = {}): Promise<Row[]> => {
  const events = given.log.events.length;
  const answer = await given.call('POST', 'guardrails/try', { rules, from: FROM, to: TO, ...more });
  assert.is(answer.status, 200, answer.text);
  assert.is(given.log.events.length, events, 'a trial appends nothing');
  return JSON.parse(answer.text) as Row[];
};

const noKeys: GuardrailRule = { name: 'no keys', kind: 'pattern', options: { pattern: 'AKIA\\d+' }, action: 'redact' };

test('a trial of guardrails lists past deliveries, newest first, each with what the tried guardrails decide and what was decided when it arrived', async () => {
  const given = await createWebhookPlatform();
  await given.call('PUT', 'guardrails', [{ name: 'no z', kind: 'json_path', options: { path: '$.z' }, action: 'block' }]);
  const ids = await deliverAll(given, ['{"a":"AKIA1 AKIA2"}', '{"z":1}', '{"a":1}', '{"z":']);
  const rows = await attempt(given, [noKeys, { name: 'a', kind: 'json_path', options: { path: '$.a' }, action: 'label' }]);
  const previews: unknown[] = [];
  const decisions = rows.map((row) => {
    const { event, provider, received_at, preview, ...decision } = omit(row, 'microseconds', 'times');
    assert.equal([event, provider, Number.isNaN(Date.parse(received_at))], ['push', 'github', false]);
    previews.push(preview);
    return decision;
  });
  assert.equal(previews, [[], [{ name: 'a', value: '1' }], [{ name: 'z', value: '1' }], [{ name: 'a', value: 'AKIA1 AKIA2' }]]);
  assert.equal(decisions, [
    { delivery_id: ids[3], verdict_now: 'block', verdict_then: 'block', rule: 'json', redactions: 0 },
    { delivery_id: ids[2], verdict_now: 'label', verdict_then: 'pass', rule: 'a', redactions: 0 },
    { delivery_id: ids[1], verdict_now: 'pass', verdict_then: 'block', rule: null, redactions: 0 },
    { delivery_id: ids[0], verdict_now: 'redact', verdict_then: 'pass', rule: 'no keys', redactions: 2 },
  ]);
  await given.close();
});

test('a trial of guardrails decides on past bodies as the same rules and patterns would decide on new ones, and shows the time that each rule takes', async () => {
  const given = await createWebhookPlatform();
  const bodies = ['{"a":"AKIA1"}', '{"n":"CUST-1 and CUST-2"}', '{"z":1}', '{"n":1}'];
  const ids = await deliverAll(given, bodies);
  const rules: GuardrailRule[] = [noKeys, { name: 'no z', kind: 'json_path', options: { path: '$.z' }, action: 'block' }];
  const redaction_patterns = [{ pattern: 'CUST-\\d', tag: 'customer' }];
  const rows = await attempt(given, rules, { redaction_patterns });
  assert.equal(
    rows.map(({ delivery_id, rule, redactions }) => [delivery_id, rule, redactions]),
    [
      [ids[3], null, 0],
      [ids[2], 'no z', 0],
      [ids[1], 'redaction', 2],
      [ids[0], 'no keys', 1],
    ],
  );
  for (const { microseconds, times, verdict_now } of rows) {
    assert.equal(
      times.map(({ rule }) => rule),
      verdict_now === 'block' ? ['no keys', 'no z'] : ['no keys', 'no z', 'redaction'],
    );
    assert.is(
      times.reduce((sum, time) => sum + time.microseconds, 0),
      microseconds,
    );
  }
  await given.call('PUT', 'guardrails', rules);
  await given.call('PUT', 'redaction-patterns', redaction_patterns);
  const integration_id = (await given.connect({ label: 'Under the rules' })).json.id as string;
  await deliverAll(given, bodies, integration_id);
  const later = await attempt(given, [], { integration_id });
  assert.equal(
    later.map(({ verdict_then }) => verdict_then),
    rows.map(({ verdict_now }) => verdict_now),
  );
  await given.close();
});

test('a trial of rate guardrails counts the past deliveries in the order in which they arrived', async () => {
  const given = await createWebhookPlatform();
  const ids = await deliverAll(given, ['{"n":0}', '{"n":1}', '{"n":2}', '{"n":3}']);
  const rows = await attempt(given, [{ name: 'busy', kind: 'rate', options: { max: 2, per_seconds: 180 }, action: 'block' }]);
  assert.equal(
    rows.map(({ delivery_id, verdict_now }) => [delivery_id, verdict_now]),
    [
      [ids[3], 'pass'],
      [ids[2], 'block'],
      [ids[1], 'pass'],
      [ids[0], 'pass'],
    ],
  );
  await given.close();
});

test('a trial of guardrails covers only deliveries of the tenant that belong to the requested integration and the requested period', async () => {
  const given = await createWebhookPlatform();
  const second = (await given.connect({ label: 'Second' })).json.id as string;
  const other = await given.connectInOtherTenant();
  const [first] = await deliverAll(given, ['{"n":0}']);
  const [ofSecond] = await deliverAll(given, ['{"n":0}'], second);
  await deliverAll(given, ['{"n":0}'], other);
  const idsOf = async (more: object) => (await attempt(given, [noKeys], more)).map(({ delivery_id }) => delivery_id).toSorted();
  assert.equal(await idsOf({}), [first, ofSecond].toSorted());
  assert.equal(await idsOf({ integration_id: second }), [ofSecond]);
  const foreign = await given.call('POST', 'guardrails/try', { rules: [noKeys], from: FROM, to: TO, integration_id: other });
  assert.is(foreign.status, 422);
  assert.equal(await idsOf({ from: '2026-03-02T10:00:00.001Z' }), []);
  assert.equal(await idsOf({ to: '2026-03-02T10:00:00.000Z' }), []);
  await given.close();
});

test('a request for a trial of guardrails with invalid rules, or without a period, is refused', async () => {
  const given = await createWebhookPlatform();
  for (const [body, pointer] of [
    [{ rules: [{ ...noKeys, options: { pattern: '(?=a)' } }], from: FROM, to: TO }, '/rules/0/options/pattern'],
    [{ rules: [noKeys, noKeys], from: FROM, to: TO }, '/rules/1/name'],
    [{ rules: [{ ...noKeys, options: { pattern: '(a{1000}){1000}' } }], from: FROM, to: TO }, '/rules/0/options/pattern'],
    [{ rules: [], redaction_patterns: [{ pattern: '(a{1000}){1000}', tag: 't' }], from: FROM, to: TO }, '/redaction_patterns/0/pattern'],
    [{ rules: [noKeys], from: FROM }, '/to'],
    [{ rules: [noKeys], from: FROM, to: TO, more: 1 }, '/more'],
  ] as const) {
    const answer = await given.call('POST', 'guardrails/try', body);
    assert.equal([answer.status, (answer.json.errors as { pointer: string }[])[0]?.pointer], [422, pointer], answer.text);
  }
  await given.close();
});

test('a trial of guardrails shows no decision for a delivery on which the rules exceed the time limit, and continues with the other deliveries', async () => {
  const given = await createWebhookPlatform();
  await deliverAll(given, [JSON.stringify('a'.repeat(60_000)), '{"n":1}']);
  const slow: GuardrailRule = { name: 'slow', kind: 'pattern', options: { pattern: 'a.*b|a' }, action: 'redact' };
  const rows = await attempt(given, [slow]);
  assert.equal(
    rows.map(({ verdict_now }) => verdict_now),
    ['pass', null],
  );
  await given.close();
});

test.run();
