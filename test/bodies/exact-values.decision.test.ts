import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bodyContent } from '../../domain/bodies/body-content.ts';
import { type InspectedBody, inspectBody, type Media } from '../../domain/bodies/body-inspection.ts';
import { exactNumber, readings } from '../../domain/bodies/exact-json.ts';
import { payloadPreview } from '../../domain/deliveries/payload-preview.ts';
import { compileRules } from '../../domain/guardrails/guardrail-evaluation.ts';
import { isDeliveryId } from '../../domain/integrations/delivery-identity.ts';
import { identityLabels } from '../../domain/integrations/identity-labels.ts';
import { identityOf, presetOf } from '../../domain/integrations/provider-preset.ts';
import { ruleTools } from '../../infra/guardrails/rule-tools.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const owner = { provider: 'custom_hmac', delivery_id_source: '/id', options: { event_source: '/event' } } as const;
const preset = presetOf(owner);

const inspect = (body: string, media: Media): InspectedBody =>
  inspectBody({ media, forms: 'fields', pointers: preset.pointers }, bytesOf(body));
const idIn = (body: string, media: Media = 'json'): string => {
  const inspected = inspect(body, media);
  const { delivery } = identityOf(preset, { header: () => undefined }, inspected);
  assert.ok(isDeliveryId(delivery!), delivery);
  return delivery === inspected.sha256 ? 'the digest' : delivery!;
};

/** Bodies, the delivery id that is read from /id, and where such bodies come from. */
const IDS: readonly (readonly [body: string, id: string, source: string])[] = [
  ['{"id":8202522731445525542}', '8202522731445525542', 'Discord: snowflakes; Zalo'],
  ['{"id":9007199254740993}', '9007199254740993', 'RFC 8259, 6: beyond 2^53'],
  ['{"id":-9223372036854775808}', '-9223372036854775808', 'int64 of protocol buffers'],
  ['{"id":18446744073709551615}', '18446744073709551615', 'uint64'],
  ['{"id":"order 5, line 2"}', 'order 5, line 2', 'one value with a comma'],
  ['{"id":1}', '1', 'a small number'],
  ['{"id":1.0}', '1.0', 'Python: a float'],
  ['{"id":1e400}', '1e400', 'RFC 8259, 6'],
  ['{"id":-0}', '-0', 'RFC 8259, 6'],
  ['{"id":0.10000000000000000555}', '0.10000000000000000555', 'long decimals'],
  ['{"id":1.5e3}', '1.5e3', 'an exponent'],
  ['{ "event" : {"id":[{"id":7}]} , "id" :\n"a\\u0062" }', 'ab', 'escapes and blanks'],
  ['\u{feff}{"id":5}', '5', 'a byte order mark'],
  ['{"\\u0069d":6}', '6', 'an escaped name'],
  ['{"id":1,"id":1}', '1', 'the same value twice'],
  ['{"id":1,"id":2}', 'the digest', 'RFC 8259, 4: software differs'],
  ['{"id":1,"id":null}', 'the digest', 'RFC 8259, 4'],
  ['{"id":"1","id":1.0}', 'the digest', 'RFC 8259, 4'],
  ['{"id":null}', 'the digest', 'an id that is null'],
  ['{"id":true}', 'the digest', 'another type'],
  ['{"id":{"a":1}}', 'the digest', 'an object'],
  ['{"id":[1]}', 'the digest', 'an array'],
  ['{"id":""}', 'the digest', 'an empty text'],
  ['{"other":1}', 'the digest', 'missing'],
  ['[1]', 'the digest', 'no object'],
];

for (const [body, id, source] of IDS)
  test(`the delivery id in ${JSON.stringify(body).slice(0, 50)} is ${id} (${source})`, () => {
    assert.is(idIn(body), id);
    const labels = identityLabels({ ...owner, options: {} }, inspect(body, 'json'));
    assert.is(labels.length, id === 'the digest' ? 1 : 0);
  });

test('the delivery id in a form is the only value of its field, and must be UTF-8', () => {
  const ids = ['id=8202522731445525542', 'id=1&id=1', 'id=1&id=2', 'id=%E9', 'id=%EF%BB%BF1', '\u{feff}id=3', 'a=1'].map((body) =>
    idIn(body, 'form'),
  );
  assert.equal(ids, ['8202522731445525542', '1', 'the digest', 'the digest', '\u{feff}1', '3', 'the digest']);
});

test('a label says which field cannot be read, why, and what is taken instead', () => {
  const notes = (body: string) =>
    identityLabels(owner, inspect(body, 'json')).map(({ rule, verdict, note }) => `${rule} ${verdict} ${note}`);
  assert.match(notes('{"event":"a"}').join(), /^delivery_id label the field \/id is missing or empty: the digest of the body is the id/);
  assert.match(
    notes('{"id":1,"event":1,"event":2}').join(),
    /^event_source label the field \/event is neither a text nor a number.*several.*names no event$/,
  );
  assert.equal(notes('{"id":1,"event":"a"}'), []);
});

const LARGE = '8202522731445525542';
/** Queries, bodies, and whether a rule with the query applies to the body. */
const QUERIES: readonly (readonly [query: string, body: string, applies: boolean])[] = [
  ['$[?@ == 8202522731445525543]', `{"id":${LARGE}}`, false],
  ['$[?@ == 8202522731445525542]', `{"id":${LARGE}}`, true],
  ['$[?@ != 8202522731445525543]', `{"id":${LARGE}}`, true],
  ['$[?@ < 8202522731445525543]', `{"id":${LARGE}}`, true],
  ['$[?@ > 8202522731445525541]', `{"id":${LARGE}}`, true],
  ['$[?@ > 8202522731445525542]', `{"id":${LARGE}}`, false],
  ['$[?@ >= 8202522731445525542]', `{"id":${LARGE}}`, true],
  ['$[?@ <= 8202522731445525541]', `{"id":${LARGE}}`, false],
  ['$[?@ > 100]', `{"id":${LARGE}}`, true],
  ['$[?@ < 100]', `{"id":-${LARGE}}`, true],
  ['$[?@ > 1.5]', `{"id":${LARGE}}`, true],
  ['$[?@ == "8202522731445525542"]', `{"id":${LARGE}}`, false],
  ['$[?@ == 9007199254740992]', '{"id":9007199254740993}', false],
  ['$[?@ == 1e400]', '{"id":1e400}', true],
  ['$[?@ == 1e399]', '{"id":1e400}', false],
  ['$[?@ == 1]', '{"id":1.0}', true],
  ['$[?@ == 0]', '{"id":-0}', true],
  ['$[?@.a == $.b]', '{"x":{"a":9007199254740993},"b":9007199254740992}', false],
  ['$[?@ == 1]', '{"id":1,"id":2}', true],
  ['$[?@ == 2]', '{"id":1,"id":2}', true],
  ['$[?@ == 3]', '{"id":1,"id":2}', false],
  ['$.a.b', '{"a":{"b":1},"a":{}}', true],
];

const ruleOf = (path: string, action: 'block' | 'redact') => ({ name: 'ids', kind: 'json_path', action, options: { path } }) as const;
const SUBJECT = { size: 1, event: null, causationDepth: 0 };
const apply = (path: string, body: string, action: 'block' | 'redact' = 'block', media: Media = 'json') =>
  compileRules(
    [ruleOf(path, action) as never],
    [],
    ruleTools,
  )(SUBJECT, { bytes: bytesOf(body), media, json: media === 'json' ? 'json' : 'form' });

for (const [query, body, applies] of QUERIES)
  test(`the query ${query} ${applies ? 'selects a value' : 'selects nothing'} in ${body}`, () =>
    assert.is(apply(query, body).reason, applies ? 'json_path' : null));

test('a redaction replaces exactly the large number that its query names, and keeps the digits of others', () => {
  const { bytes } = apply(`$[?@ == ${LARGE}]`, `{"a":${LARGE},"b":8202522731445525543,"c":1e400,"d":1.0}`, 'redact');
  assert.is(new TextDecoder().decode(bytes!), '{"a":"[redacted:ids]","b":8202522731445525543,"c":1e400,"d":1.0}');
});

test('if a name occurs several times, a redaction replaces each of its values', () => {
  const redacted = (query: string) => new TextDecoder().decode(apply(query, '{"key":"secret","key":2,"b":3}', 'redact').bytes!);
  for (const query of ['$[?@ == "secret"]', '$.key']) assert.is(redacted(query).includes('secret'), false, query);
});

test('a rule sees each value of a field that occurs several times in a form', () => {
  for (const [value, reason] of [
    ['1', 'json_path'],
    ['2', 'json_path'],
    ['3', null],
  ] as const)
    assert.is(apply(`$[?@ == "${value}"]`, 'id=1&id=2', 'block', 'form').reason, reason);
});

test('whole numbers of any size are exact, and numbers of other kinds are as JSON.parse reads them', () => {
  assert.equal(['1', '-0', '1.5', '1e3', '1e999999'].map(exactNumber), [1, -0, 1.5, 1_000, Number.POSITIVE_INFINITY]);
  assert.equal(
    [exactNumber('9007199254740993'), exactNumber('9007199254740993.0'), exactNumber('1e20')],
    [9007199254740993n, 9007199254740993n, 10n ** 20n],
  );
  assert.equal(readings(' {"a":[1,{"b":"x:\\"{"}],"__proto__":9007199254740993} ').length, 1);
  assert.equal(bodyContent(bytesOf('a=1&a=2'), 'form', 'form').readings(), [{ a: '2' }, { a: '1' }]);
});

test('the preview of a payload shows the digits of large numbers', () => {
  const document = readings(`{"id":${LARGE},"total":9007199254740993}`)[0];
  assert.equal(payloadPreview('custom_hmac', document), [
    { name: 'id', value: LARGE },
    { name: 'total', value: '9007199254740993' },
  ]);
});

test.run();
