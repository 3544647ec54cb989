import { performance } from 'node:perf_hooks';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { compileRules } from '../../domain/guardrails/guardrail-evaluation.ts';
import type { GuardrailRule } from '../../domain/guardrails/guardrail-rule.ts';
import { type RuleSet, ruleSetOf } from '../../domain/guardrails/rule-set.ts';
import { scanJson } from '../../domain/json-scanner.ts';
import { createRuleEvaluator } from '../../infra/guardrails/rule-evaluator.ts';
import { ruleTools } from '../../infra/guardrails/rule-tools.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const logger = { warn: () => {} };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const subject = { size: 10, event: 'push', causationDepth: 0 };
const contentOf = (text: string) => ({ body: bytes(text), media: 'json', json: 'json', needsChecks: false }) as const;

const pattern = (name: string, text: string, action: GuardrailRule['action'] = 'block'): GuardrailRule => ({
  name,
  kind: 'pattern',
  options: { pattern: text },
  action,
});
const setOf = (...rules: GuardrailRule[]): RuleSet =>
  ruleSetOf({ tenant: rules, integration: [], redactions: [] }, { tenant: 't', integration: 'i' });

/**
 * A rule that takes time quadratic in the length of the text: for each `a`, the matcher looks for a `b` in the whole
 * rest of the text.
 */
const SLOW = setOf(pattern('slow', 'a.*b|a', 'redact'));
const SLOW_BODY = JSON.stringify('a'.repeat(100_000));

const openEvaluator = (timeLimitMs?: number, maxWaitMs?: number) => {
  const limits = { ...(timeLimitMs === undefined ? {} : { timeLimitMs }), ...(maxWaitMs === undefined ? {} : { maxWaitMs }) };
  const evaluator = createRuleEvaluator({ logger: logger as never, ...limits });
  afterTest(evaluator.close);
  return evaluator.evaluate;
};

test('if guardrail rules exceed the time limit, they yield no result, and the next delivery is still evaluated', async () => {
  const evaluate = openEvaluator(200);
  assert.is(await evaluate('t', SLOW, subject, contentOf(SLOW_BODY)), null);
  const result = await evaluate('t', setOf(pattern('x', 'x')), subject, contentOf('"x"'));
  assert.equal(result!.reason, 'pattern');
  const again = await evaluate('t', SLOW, subject, contentOf('"a"'));
  assert.equal(again!.redactions, [{ tag: 'slow', count: 1 }]);
});

test('slow guardrail rules of one tenant delay a delivery of another tenant at most by the time that one slow delivery may take', async () => {
  const evaluate = openEvaluator(200);
  await evaluate('other', setOf(pattern('x', 'x')), subject, contentOf('"x"'));
  const slow = Array.from({ length: 3 }, () => evaluate('slow', SLOW, subject, contentOf(SLOW_BODY)));
  const startedAt = performance.now();
  const result = await evaluate('other', setOf(pattern('x', 'x')), subject, contentOf('"x"'));
  assert.is(result!.reason, 'pattern');
  const slowDone = await Promise.race([
    Promise.all(slow.map((one) => Promise.resolve(one).catch(() => null))).then(() => true),
    Promise.resolve(false),
  ]);
  assert.is(slowDone, false, `the other deliveries still wait after ${Math.round(performance.now() - startedAt)} ms`);
  await Promise.allSettled(slow);
});

/** Stops this thread for a time, as on a machine with too much work: messages of other threads arrive late. */
const stall = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

const CHEAP = setOf(pattern('x', 'x'));

test('a delivery is evaluated however long its thread takes to start, and however late the result arrives', async () => {
  const evaluate = openEvaluator(200);
  const first = evaluate('t', CHEAP, subject, contentOf('"x"'));
  stall(2_100);
  assert.is((await first)!.reason, 'pattern');
  const second = evaluate('t', CHEAP, subject, contentOf('"x"'));
  stall(400);
  assert.is((await second)!.reason, 'pattern');
});

test('if too many deliveries wait, or others take too much processor time, the rules yield no result, and nothing is thrown', async () => {
  const evaluate = openEvaluator(100, 150);
  const many = Array.from({ length: 1_001 }, () => evaluate('many', CHEAP, subject, contentOf('"x"')));
  assert.is(await many.at(-1), null);
  assert.is((await many[0])!.reason, 'pattern');
  await Promise.all(many);
  const slow = Array.from({ length: 3 }, () => evaluate('slow', SLOW, subject, contentOf(SLOW_BODY)));
  const late = evaluate('slow', CHEAP, subject, contentOf('"x"'));
  assert.equal(await Promise.all([...slow, late]), [null, null, null, null]);
  assert.is((await evaluate('slow', CHEAP, subject, contentOf('"x"')))!.reason, 'pattern');
});

test('slow guardrail rules do not block the thread that accepts deliveries', async () => {
  const evaluate = openEvaluator(400);
  const evaluating = evaluate('t', SLOW, subject, contentOf(SLOW_BODY));
  let turns = 0;
  const timer = setInterval(() => turns++, 5);
  await evaluating;
  clearInterval(timer);
  assert.ok(turns > 10, `${turns} turns`);
});

test('a match that continues in the next chunk of a large body is found; a large body in which a match would have to be redacted is blocked', async () => {
  const evaluate = openEvaluator();
  const text = JSON.stringify('.'.repeat(899_990) + 'SECRET'.repeat(3) + '.'.repeat(10_000));
  const whole = bytes(text);
  const body = {
    length: whole.length,
    chunks: [whole.slice(0, 900_000), new Uint8Array([...whole.slice(900_000), ...new Uint8Array(64)])],
  };
  const content = { ...contentOf(''), body };
  assert.is((await evaluate('t', setOf(pattern('s', 'SECRETSECRETSECRET')), subject, content))!.reason, 'pattern');
  const redacted = await evaluate('t', setOf(pattern('s', 'SECRET', 'redact')), subject, content);
  assert.equal([redacted!.reason, redacted!.bytes], ['rules_failed', null]);
});

const RULES: readonly GuardrailRule[] = [
  { name: 'path', kind: 'json_path', options: { path: '$..[?@.a == 1 || search(@, "x+")]' }, action: 'redact' },
  { name: 'deep', kind: 'json_path', options: { path: '$..*' }, action: 'label' },
  { name: 'absent', kind: 'json_path', options: { path: '$["__proto__"]', when: 'absent' }, action: 'label' },
  { name: 'any', kind: 'json_path', options: { path: '$[*]' }, action: 'redact' },
  pattern('letters', '[a-z]{2,}', 'redact'),
  pattern('digits', '\\d', 'redact'),
  { name: 'detectors', kind: 'pattern', options: { detectors: ['secrets', 'cards', 'emails', 'phones'] }, action: 'redact' },
  { name: 'injection', kind: 'injection', options: {}, action: 'label' },
];

/**
 * Generates JSON texts that often cause errors: names such as __proto__, numbers that lose digits, and lone surrogates.
 */
const hostileJson = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom('1e400', '-0', '12345678901234567890', '"\\ud800"', '"\\u0000"', '"__proto__"', 'null', '4111111111111111', '""'),
    fc.string().map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
    fc
      .array(fc.tuple(fc.constantFrom('a', '__proto__', 'constructor', 'toString', '', 'length'), tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`),
  ),
})).value;

test('evaluating guardrail rules on any JSON never throws, and a redacted JSON body is still valid JSON', () => {
  const evaluate = compileRules(RULES, [{ pattern: 'a', tag: 't' }], ruleTools);
  fc.assert(
    fc.property(hostileJson, (json) => {
      const body = bytes(json);
      assert.is(scanJson(body), 'json');
      const result = evaluate(subject, { bytes: body, media: 'json', json: 'json' });
      assert.is(result.reason, null);
      if (result.bytes) assert.is(scanJson(result.bytes), 'json');
    }),
    { numRuns: 500 },
  );
});

test('evaluating guardrail rules on any form-encoded body never throws', () => {
  const evaluate = compileRules(RULES, [{ pattern: 'a', tag: 't' }], ruleTools);
  fc.assert(
    fc.property(
      fc.oneof(fc.uint8Array(), fc.string().map(bytes)),
      (body) => void evaluate(subject, { bytes: body, media: 'form', json: 'form' }),
    ),
  );
});

test.run();
