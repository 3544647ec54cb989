import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inspectBody } from '../../domain/bodies/body-inspection.ts';
import { jsonFault } from '../../domain/json-fault.ts';
import { jsonFaultAt, scanJson } from '../../domain/json-scanner.ts';

/** Texts that are not JSON, what the owner of the integration reads, and which programs write them. */
const FAULTS: readonly (readonly [text: string, fault: string, source: string])[] = [
  ['', 'it is empty', 'Jira with "exclude body"'],
  [' \n', 'it ends too early, after 2 bytes', 'blanks'],
  ['{"id":"a1","x":NaN}', 'at byte 16, it has a number that JSON does not have (NaN or Infinity)', 'json.dumps of Python'],
  ['{"x":-Infinity}', 'at byte 7, it has a number that JSON does not have (NaN or Infinity)', 'json.dumps of Python'],
  ['{"x":None}', 'at byte 6, it has a word of a programming language instead of null, true or false', 'str of Python'],
  ["{'x':1}", 'at byte 2, it has a single quote instead of a double quote', 'str of Python'],
  ['{"x":1,}', 'at byte 8, it has a closing bracket that does not fit there', 'JSON5'],
  ['{"x":1] ', 'at byte 7, it has a closing bracket that does not fit there', 'by hand'],
  ['{"x":}', 'at byte 6, it has a closing bracket that does not fit there', 'a template without a value'],
  ['{}}', 'at byte 3, it has a closing bracket that does not fit there', 'by hand'],
  ['\ufeff{"x":NaN}', 'at byte 9, it has a number that JSON does not have (NaN or Infinity)', 'programs of Windows'],
  ['{"x":1 // why\n}', 'at byte 8, it has a comment', 'JSON with comments'],
  ['{"x":1}\0', 'at byte 8, it has a byte 0', 'C strings'],
  ['\ufeff\ufeff{}', 'at byte 4, it has a second byte order mark', 'two marks'],
  ['{}{}', 'at byte 3, it has something that does not belong there', 'JSON Lines'],
  ['{"x":1', 'it ends too early, after 6 bytes', 'an upload that broke off'],
  ['{"x":"abc', 'it ends too early, after 9 bytes', 'an upload that broke off'],
  ['<html>', 'at byte 1, it has the start of XML or HTML', 'an error page'],
  ['{"x":01}', 'at byte 7, it has something that does not belong there', 'a number with a zero in front'],
  ['{"x" 1}', 'at byte 6, it has something that does not belong there', 'a missing colon'],
  ['{"x":"\n"}', 'at byte 7, it has something that does not belong there', 'a line end in a text'],
  ['{"x":"\\q"}', 'at byte 8, it has something that does not belong there', 'an unknown escape'],
];

for (const [text, fault, source] of FAULTS)
  test(`the fault of ${JSON.stringify(text)} is named (${source})`, () => {
    assert.is(scanJson(Buffer.from(text)), 'not_json');
    assert.is(jsonFault(Buffer.from(text)), fault);
  });

test('valid JSON has no fault', () => {
  for (const text of ['{}', ' [1, -0.5e+3, "a\\u00e9 é", null] ', '0', '"x"']) assert.is(jsonFaultAt(Buffer.from(text)), null, text);
});

test('a form whose field payload should contain JSON but does not is reported as such', () => {
  const question = { media: 'form', forms: 'payload', pointers: [] } as const;
  assert.is(inspectBody(question, Buffer.from('a=1')).fault, 'the form has no field payload');
  assert.is(inspectBody(question, Buffer.from('payload=%7B%ZZ')).fault, 'the field payload has invalid percent-encoding');
  assert.is(inspectBody(question, Buffer.from('payload=%7B')).fault, 'in the field payload, it ends too early, after 1 byte');
});

test.run();
