import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bodyTypeOf, impliedCharset } from '../../domain/bodies/body-charset.ts';
import { mediaOf } from '../../domain/bodies/body-inspection.ts';
import { foreignCharsets, parseContentType } from '../../domain/content-type.ts';
import { shownValue } from '../../domain/shown-value.ts';

/** Content types, with the kind of body and the charset other than UTF-8 that they stand for, and where they come from. */
const READ: readonly (readonly [contentType: string, media: 'json' | 'form', charset: string | null, source: string])[] = [
  ['application/json', 'json', null, 'RFC 8259, 11'],
  ['application/json;', 'json', null, 'RFC 9110, 5.6.6: parameters = *( OWS ";" OWS [ parameter ] )'],
  ['application/json; charset=utf-8;', 'json', null, 'RFC 9110, 5.6.6'],
  ['application/json;;charset=utf-8', 'json', null, 'RFC 9110, 5.6.6'],
  ['Application/JSON ; Charset = "UTF-8" ;', 'json', null, 'RFC 9110, 8.3.1: type, subtype and names in any case'],
  ['\tapplication/json\t;\tcharset=utf-8', 'json', null, 'RFC 9110, 5.6.3: OWS is blanks or tabs'],
  ['application/json; profile="https://example.com/p"; charset=utf-8', 'json', null, 'RFC 6906'],
  ['application/json; profile="a;charset=utf-16"; charset=utf-8', 'json', null, 'RFC 9110, 5.6.4: quoted-string'],
  ['application/json; title="a \\"quoted; charset=x\\" text"', 'json', null, 'RFC 9110, 5.6.4: quoted-pair'],
  ['application/json; charset=utf-8; odata.metadata=minimal', 'json', null, 'OData JSON Format 4.01, 3'],
  ['application/json;odata=verbose;IEEE754Compatible=true', 'json', null, 'OData JSON Format 4.01, 3.2'],
  ['application/vnd.api+json; version=1', 'json', null, 'JSON:API 1.0'],
  ['application/vnd.github+json', 'json', null, 'RFC 6839, 3.1'],
  ['application/cloudevents+json; charset=UTF-8', 'json', null, 'CloudEvents HTTP binding, 3.2'],
  ['application/problem+json', 'json', null, 'RFC 9457'],
  ['model/gltf+json', 'json', null, 'WHATWG MIME Sniffing, 4.6: JSON MIME type'],
  ['text/json; charset=utf-8', 'json', null, 'WHATWG MIME Sniffing, 4.6; ASP.NET Web API takes it by default'],
  ['application/json; charset=utf8', 'json', null, 'WHATWG Encoding, 4.2: labels of UTF-8'],
  ['application/json; charset=us-ascii', 'json', null, 'RFC 2046, 4.1.2'],
  ["application/json; charset='utf-8'", 'json', null, 'seen in Java and PHP clients'],
  ['application/json; charset=', 'json', null, 'seen in .NET clients'],
  ['application/json; charset=utf-8; charset=UTF-8', 'json', null, 'doubled by a proxy'],
  ['application/json; utf-8', 'json', null, 'a parameter without a value'],
  ['application/json; charset=ISO-8859-1', 'json', 'iso-8859-1', 'default of the Java Servlet API'],
  ['application/json; charset="utf-16"', 'json', 'utf-16', 'RFC 4627, 3'],
  ['application/x-www-form-urlencoded', 'form', null, 'WHATWG URL, 5'],
  ['application/x-www-form-urlencoded;', 'form', null, 'RFC 9110, 5.6.6'],
  ['Application/X-WWW-Form-URLEncoded; charset="UTF-8"', 'form', null, 'RFC 9110, 8.3.1'],
  ['application/x-www-form-urlencoded; charset=windows-1252', 'form', 'windows-1252', 'PayPal IPN'],
];

for (const [contentType, media, charset, source] of READ)
  test(`the content type ${JSON.stringify(contentType)} is read (${source})`.slice(0, 110), () => {
    assert.equal(bodyTypeOf(contentType), { media, charset });
    assert.is(mediaOf(contentType), charset === null ? media : null);
  });

/** Content types that are not read, with a part of what the sender is told. */
const REFUSED: readonly (readonly [contentType: string | undefined, told: RegExp])[] = [
  [undefined, /content type is none: send application\/json/],
  ['', /content type is none/],
  ['text/plain', /content type is "text\/plain"/],
  ['application/jsonish', /"application\/jsonish"/],
  ['application/json-seq', /"application\/json-seq"/],
  ['json', /"json"/],
  ['text/jsonp', /"text\/jsonp"/],
  ['constructor', /"constructor"/],
  ['multipart/form-data; boundary=x', /"multipart\/form-data; boundary=x"/],
  ['application/json, text/plain', /"application\/json, text\/plain"/],
  ['application/json; charset=utf-32', /charset "utf-32".*UTF-8/],
  ['application/json; charset=klingon', /charset "klingon"/],
  ['application/json; charset=utf-8; charset=utf-16', /names two charsets/],
  ['application/x-www-form-urlencoded; charset=utf-16', /charset "utf-16"/],
  [`application/${'x'.repeat(5_000)}`, /^.{0,300}$/],
  ['text/\u{9}\u{85}ü', /"text\/\?\?\?"/],
];

test('a content type that is not read is refused with its name and the remedy', () => {
  for (const [contentType, told] of REFUSED) {
    const read = bodyTypeOf(contentType);
    assert.ok('fault' in read, String(contentType));
    assert.match(read.fault, told);
  }
});

test('a content type of any length and shape is read in a time that is proportional to its length', () => {
  for (const part of ['; a="', ';a=b', ';"', '; charset="utf-8', ';=', ' ;\t'])
    assert.ok(parseContentType(`application/json${part.repeat(20_000)}`).type === 'application/json');
  assert.is(shownValue('x'.repeat(10_000)).length, 103);
});

test('a charset counts once, however often and in which case it is written', () =>
  assert.equal(foreignCharsets(parseContentType('a/b; charset=UTF-16; CHARSET="utf-16"; charset=')), ['utf-16']));

/** The first bytes of bodies in hex, and the charset of JSON that they show. RFC 4627, 3; RFC 8259, 8.1. */
const FIRST_BYTES: Readonly<Record<string, ReturnType<typeof impliedCharset>>> = {
  '': null,
  '7b': null,
  '7b22': null,
  '7b226122': null,
  efbbbf7b: null,
  '7b00': 'utf-16le',
  '7b002200': 'utf-16le',
  fffe7b00: 'utf-16le',
  '005b': 'utf-16be',
  '007b0022': 'utf-16be',
  feff007b: 'utf-16be',
  '0000007b': 'utf-32',
  '7b000000': 'utf-32',
  // No JSON in any charset: the bytes must stay as they are.
  '00': null,
  '007b2269': null,
  '007b22617d': null,
  '7b002269': null,
};

test('the charset of JSON is taken from its first bytes only if they show it', () => {
  for (const [hex, charset] of Object.entries(FIRST_BYTES)) assert.is(impliedCharset(Buffer.from(hex, 'hex')), charset, hex);
});

test.run();
