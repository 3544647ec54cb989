import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

type Problem = { errors: { pointer: string; code: string; message: string }[] };

const p = await createTestPlatform();
const path = `${p.tenant}/redaction-patterns`;
const CUSTOMER = { pattern: 'CUST-\\d{6}', tag: 'customer' };
const put = (body: unknown): Promise<Answer> => p.send('PUT', path, { body });
const tryOut = (body: unknown): Promise<Answer> => p.send('POST', `${path}/test`, { body });

test('a new tenant has no redaction patterns; a read returns the present patterns, and an as-of read returns those of an earlier time', async () => {
  assert.equal((await p.send('GET', path)).body, []);
  const set = await put([CUSTOMER]);
  assert.equal([set.status, set.body], [200, [CUSTOMER]]);
  await put([{ pattern: 'b', tag: 'b' }, CUSTOMER]);
  assert.equal((await p.send('GET', path)).body, [{ pattern: 'b', tag: 'b' }, CUSTOMER]);
  await p.waitForProjections();
  assert.equal((await p.send('GET', `${path}?as_of=${set.headers.get('consistency-token')}`)).body, [CUSTOMER]);
});

test('setting the same redaction patterns again appends no event; an empty list removes all', async () => {
  await put([CUSTOMER]);
  const count = p.log.events.length;
  assert.is((await put([CUSTOMER])).status, 200);
  assert.is(p.log.events.length, count);
  assert.equal((await put([])).body, []);
  assert.is(p.log.events.length, count + 1);
});

const REFUSED: readonly (readonly [name: string, pattern: string, code: string])[] = [
  ['empty', '', 'too_small'],
  ['with 1025 characters', 'a'.repeat(1025), 'too_big'],
  ['with look-ahead', 'a(?=b)', 'invalid_pattern'],
  ['with negative look-ahead', 'a(?!b)', 'invalid_pattern'],
  ['with look-behind', '(?<=a)b', 'invalid_pattern'],
  ['with a back reference', '(a)\\1', 'invalid_pattern'],
  ['with a named back reference', '(?P<x>a)\\k<x>', 'invalid_pattern'],
  ['with nested repetitions of a thousand', '(a{1,1000}){1,1000}', 'invalid_pattern'],
  ['with a group that is not closed', '(a', 'invalid_pattern'],
  ['that matches the empty text', 'a*', 'invalid_pattern'],
];

for (const [name, pattern, code] of REFUSED)
  test(`setting a redaction pattern ${name} gets 422, and the error points to the pattern`, async () => {
    for (const [body, pointer] of [
      [await put([CUSTOMER, { pattern, tag: 't' }]), '/1/pattern'],
      [await tryOut({ text: '', patterns: [{ pattern, tag: 't' }] }), '/patterns/0/pattern'],
    ] as const) {
      const { errors } = body.body as Problem;
      assert.equal([body.status, errors[0]!.pointer, errors[0]!.code], [422, pointer, code]);
    }
  });

test('50 redaction patterns are stored; a request with 51 patterns, a repeated pattern, an unknown field or a tag with 65 characters gets 422', async () => {
  const many = Array.from({ length: 51 }, (_, index) => ({ pattern: `p${index}`, tag: 't'.repeat(64) }));
  assert.is((await put(many.slice(1))).status, 200);
  assert.is((await put(many)).status, 422);
  assert.is((await put([{ ...CUSTOMER, flags: 'i' }])).status, 422);
  assert.is((await put([{ pattern: 'a', tag: 't'.repeat(65) }])).status, 422);
  assert.equal(((await put([CUSTOMER, CUSTOMER])).body as Problem).errors[0], {
    pointer: '/1',
    code: 'duplicate',
    message: 'is in the list twice',
  });
});

test('a request to test redaction patterns replaces the matches in its text, counts them by tag, and appends no event', async () => {
  const count = p.log.events.length;
  const patterns = [
    CUSTOMER,
    { pattern: '(?i)secret', tag: 'word' },
    { pattern: 'K-\\d', tag: 'customer' },
    { pattern: 'z+', tag: 'none' },
  ];
  const { status, body } = await tryOut({ text: 'CUST-123456, Secret CUST-654321 K-1', patterns });
  assert.is(status, 200);
  assert.equal(body, {
    text: '[redacted:customer], [redacted:word] [redacted:customer] [redacted:customer]',
    hits: [
      { tag: 'customer', count: 3 },
      { tag: 'word', count: 1 },
    ],
  });
  assert.is(p.log.events.length, count);
});

test('a request to test redaction without patterns uses the patterns of the tenant', async () => {
  await put([CUSTOMER]);
  assert.equal((await tryOut({ text: 'CUST-123456' })).body, { text: '[redacted:customer]', hits: [{ tag: 'customer', count: 1 }] });
});

test('a request to test redaction with a text of 8193 characters gets 422', async () => {
  assert.is((await tryOut({ text: 'a'.repeat(8_192) })).status, 200);
  assert.is((await tryOut({ text: 'a'.repeat(8_193) })).status, 422);
});

/**
 * Patterns that take a backtracking matcher seconds or longer, or that become huge when their repetitions are expanded.
 */
const EVIL: readonly string[] = [
  ...[
    '(a+)+$',
    '(a|a)*b',
    '(a|aa)+$',
    '([a-z]+)*\\d',
    '(.*)(.*)(.*)(.*)x',
    '(x+x+)+y',
    '(a?){50}a{50}',
    '(?:a*){30}b',
    '((a*)*)*!',
    '(\\w+\\s?)*$',
  ],
  ...['a', '[a-z]', '\\w', '.', '(?:a|b)', '(?i:a)', '[^b]', '\\S', '(?:aa?)'].flatMap((part) => [
    ...['+', '*', '{1,30}', '{2,}', '+?'].map((repeat) => `(?:${part}${repeat})+$`),
    ...['{1,500}\\d', '{900}x', '{1,900}z', '{3,}!{2}', '+\\b-'].map((rest) => part + rest),
  ]),
];

test('a request to test one of 100 patterns that are made to be slow is refused, or its test takes less than 250 ms of processor time', async () => {
  assert.is(EVIL.length, 100);
  for (const pattern of EVIL) {
    const start = process.cpuUsage();
    const { status, body } = await tryOut({ text: `${'a'.repeat(8_000)}!`, patterns: [{ pattern, tag: 't' }] });
    const { user, system } = process.cpuUsage(start);
    assert.ok([200, 422].includes(status), pattern);
    if (status === 422) assert.ok(['invalid_pattern', 'too_complex'].includes((body as Problem).errors[0]!.code), pattern);
    assert.ok(user + system < 250_000, `${pattern} took ${(user + system) / 1_000} ms`);
  }
});

test('a request to test patterns that together take too long gets 422', async () => {
  const large = Array.from({ length: 5 }, (_, index) => ({ pattern: `[a-z]{1,450}${index}`, tag: 't' }));
  const { status, body } = await put(large);
  assert.equal([status, (body as Problem).errors[0]!.code], [422, 'too_complex']);
  assert.is((await put(large.slice(1))).status, 200);
});

test.run();
