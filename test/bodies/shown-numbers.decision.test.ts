import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { jsonTree } from '../../api/console/parts/json-tree.ts';
import { htmlOf, type Node } from '../../api/console/parts/tags.ts';
import { isRawNumber, parseForDisplay } from '../../domain/bodies/json-values.ts';
import { omit } from '../../domain/omit.ts';
import { tableOf } from '../../infra/cli/api/print-table.ts';

/** Numbers as a payload writes them, and which programs write such numbers. */
const NUMBERS: readonly (readonly [digits: string, source: string])[] = [
  ['8202522731445525542', 'Discord: snowflakes'],
  ['-9223372036854775808', 'int64'],
  ['18446744073709551615', 'uint64'],
  ['9007199254740993', 'RFC 8259, 6'],
  ['1e400', 'RFC 8259, 6'],
  ['-1E+400', 'RFC 8259, 6'],
  ['-0', 'RFC 8259, 6'],
  ['1.0', 'Python: a float'],
  ['19.90', 'prices with two digits'],
  ['0.1000000000000000055511151231257827', 'long decimals'],
  ['1', 'a small number'],
  ['0.5', 'a short decimal'],
];

for (const [digits, source] of NUMBERS)
  test(`the number ${digits} is printed and shown with its digits (${source})`, () => {
    for (const json of [`{"id":${digits}}`, `{"a":[${digits},{"b" : ${digits} }],"at":"10:00:53.5"}`, `[1,${digits}]`, digits])
      assert.is(JSON.stringify(parseForDisplay(json)), json.replaceAll(' ', ''));
    const value = parseForDisplay(`{"id":${digits}}`);
    assert.match(htmlOf(jsonTree(value) as Node, ''), new RegExp(`>${digits.replace('+', '\\+')}<`));
    assert.match(tableOf([value as never], { width: 120, names: null }).lines[1]!, new RegExp(digits.replace('+', '\\+')));
  });

test('values of other kinds are as JSON.parse returns them', () => {
  const json = '{"a":[1,0.5,"8202522731445525542",null,true,{"at":"2026-11-26T10:00:00.123Z"}],"n":8202522731445525542}';
  const { n, ...others } = parseForDisplay(json) as Record<string, unknown>;
  const expected = omit(JSON.parse(json) as Record<string, unknown>, 'n');
  assert.equal([others, isRawNumber(n), isRawNumber(1), isRawNumber({ rawJSON: '1' })], [expected, true, false, false]);
});

test.run();
