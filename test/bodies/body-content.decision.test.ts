import fc from 'fast-check';
import { test } from 'uvu';
import { equal, is } from 'uvu/assert';
import { bodyContent } from '../../domain/bodies/body-content.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (body: Uint8Array): string => new TextDecoder().decode(body);
const ofJson = (json: string) => bodyContent(bytes(json), 'json', 'json');
const hide = (secret: string) => (found: string) => found.replaceAll(secret, '***');

test('the texts that are extracted from a JSON body are its decoded names and strings, and its numbers as they are written', () =>
  equal(ofJson('{"a\\u0062":["x\\ny", 1.50e3, true, null], "":{}}').texts(), ['ab', 'x\ny', '1.50e3', '']));

test('replacing a text of a JSON body changes no byte outside the text', () =>
  is(
    text(ofJson('{ "big" : 12345678901234567890,\n "to":"a\\u0064a",  "x":[1e400] }').mapTexts(hide('ada'))),
    '{ "big" : 12345678901234567890,\n "to":"***",  "x":[1e400] }',
  ));

test('a number of a JSON body can be replaced by a text, and the body stays valid JSON', () =>
  is(text(ofJson('[4111111111111111,2]').mapTexts(hide('4111111111111111'))), '["***",2]'));

test('if no text of a body is replaced, all bytes of the body stay the same', () => {
  const content = ofJson('{"a":"b"}');
  is(content.mapTexts(hide('z')), content.bytes);
});

test('the texts that are extracted from a form-encoded body are the decoded names and values of its fields', () =>
  equal(bodyContent(bytes('text=a+b%21&x='), 'form', 'form').texts(), ['text', 'a b!', 'x', '']));

test('replacing a value of a form-encoded body changes only that value', () =>
  equal(
    [...new URLSearchParams(text(bodyContent(bytes('a=to+ada&b=%26'), 'form', 'form').mapTexts(hide('ada'))))],
    [
      ['a', 'to ***'],
      ['b', '&'],
    ],
  ));

test('in a form-encoded body with a JSON payload, replacing texts changes the payload and keeps the other fields', () => {
  const body = bytes(`x=1&payload=${encodeURIComponent('{"by":"ada","n":10000000000000000001}')}&y=%zz`);
  const content = bodyContent(body, 'form', 'json');
  equal(content.texts(), ['by', 'ada', 'n', '10000000000000000001']);
  equal(content.readings()[0], { by: 'ada', n: 10000000000000000001n });
  is(text(content.mapTexts(hide('ada'))), `x=1&payload=${encodeURIComponent('{"by":"***","n":10000000000000000001}')}&y=%zz`);
});

test('whatever the JSON value, replacing its texts gives JSON in which only the texts have changed', () =>
  fc.assert(
    fc.property(fc.json(), fc.string({ minLength: 1, maxLength: 2 }), (json, secret) => {
      const content = ofJson(json);
      JSON.parse(text(content.mapTexts(hide(secret))));
      is(text(content.mapTexts((found) => found)), text(content.bytes));
    }),
  ));

test('extracting the texts of any form-encoded body never throws', () =>
  fc.assert(
    fc.property(fc.uint8Array(), (form) => {
      const content = bodyContent(form, 'form', 'form');
      content.texts();
      content.readings()[0];
      content.mapTexts((found) => `${found}!`);
    }),
  ));

test.run();
