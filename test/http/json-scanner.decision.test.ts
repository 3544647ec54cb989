// share
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { scanJson } from '../../domain/json-scanner.ts';
import { openShare } from '../fixtures/share.ts';

const scan = (text: string | Uint8Array, limit?: number) => scanJson(Buffer.from(text as string), limit);
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

const parses = (bytes: Uint8Array): boolean => {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
};
const agrees = (bytes: Uint8Array) =>
  assert.is(scanJson(bytes, 10_000), parses(bytes) ? 'json' : 'not_json', JSON.stringify(Buffer.from(bytes).toString()));

test('the JSON scanner accepts 64 levels of nesting and refuses more, even if the brackets are not closed', () => {
  assert.is(scan(nested(64)), 'json');
  for (const depth of [65, 10_000, 1_000_000]) assert.is(scan(nested(depth)), 'too_deep');
  assert.is(scan(`${'{"a":'.repeat(65)}`), 'too_deep');
  assert.is(scan(`[${nested(63)},${nested(63)}]`), 'json');
});

test('the JSON scanner accepts and refuses the same texts as JSON.parse', () => {
  const texts = [
    '', ' ', 'null', 'nul', 'nulll', 'true', 'True', 'NaN', '-', '-0', '01', '1.', '.5', '1e', '1e+', '1E-7', '-1.5e10', '+1', '0x1', '1 2',
    '""', '"', '"\\', '"\\x"', '"\\u12"', '"\\u12g4"', '"\\ud800"', '"\t"', '"\u0000"', '"\\u0000"', '"é😀"', "'a'",
    '[]', '[', ']', '[,]', '[1,]', '[1 2]', '[1,2', '[1}', '[]]', '[] []', ' [ 1 , [ ] , { } ] \r\n\t',
    '{}', '{', '}', '{,}', '{"a"}', '{"a":}', '{"a":1,}', '{"a":1 "b":2}', '{a:1}', '{1:1}', '{"a":1]', '{"a":{"b":[{}]}}', '{"a" : 1 , "b" : 2 }',
    '// x\n1', '/* x */ 1', '\ufeff{}', '{"__proto__":{"x":1},"a":1,"a":2}', '1\u00a0', '\v1',
  ]; // biome-ignore format: a table
  for (const text of texts) agrees(Buffer.from(text));
});

test('the JSON scanner refuses a string with invalid UTF-8', () => {
  const bad = [
    [0xff],
    [0xc0, 0x80],
    [0xc1, 0xbf],
    [0xe0, 0x80, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x80, 0x80, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xf5, 0x80, 0x80, 0x80],
    [0x80],
    [0xe2, 0x82],
    [0xc3],
  ];
  for (const bytes of bad) agrees(Buffer.from([0x22, ...bytes, 0x22]));
  for (const bytes of [
    [0xc2, 0x80],
    [0xed, 0x9f, 0xbf],
    [0xef, 0xbf, 0xbf],
    [0xf4, 0x8f, 0xbf, 0xbf],
  ])
    agrees(Buffer.from([0x22, ...bytes, 0x22]));
});

const share = openShare();

share.test(
  'for random JSON, unchanged or with one byte changed, removed or inserted, the JSON scanner gives the same result as JSON.parse',
  () =>
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.nat(), fc.nat(255), fc.nat(2), (text, place, byte, way) => {
        const bytes = [...Buffer.from(text)];
        agrees(Uint8Array.from(bytes));
        const at = place % bytes.length;
        bytes.splice(at, way === 2 ? 0 : 1, ...(way === 0 ? [] : [byte]));
        agrees(Uint8Array.from(bytes));
      }),
      share.runsOf(20_000),
    ),
);

share.test('for random sequences of JSON tokens, the JSON scanner gives the same result as JSON.parse', () =>
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...'[]{},:"\\ 01-.eEtu/\n'.split(''), 'null', 'true', '"a"'), { maxLength: 12 }), (parts) =>
      agrees(Buffer.from(parts.join(''))),
    ),
    share.runsOf(50_000),
  ),
);

test.run();
