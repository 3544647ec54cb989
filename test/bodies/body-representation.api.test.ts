import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import { createWebhookPlatform, sign } from '../fixtures/webhook-platform.ts';

const JSON_TEXT = '{"id":"é-1","value":"naïve ✓"}';
const LATIN_TEXT = '{"id":"é-1","value":"naïve"}';
const VALUE = { id: 'é-1', value: 'naïve ✓' };
const LATIN_VALUE = { id: 'é-1', value: 'naïve' };
const utf8 = (text: string): Buffer => Buffer.from(text);
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const utf16le = (text: string): Buffer => Buffer.from(text, 'utf16le');
const utf16be = (text: string): Buffer => utf16le(text).swap16();
const MARK = '\u{feff}';
const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

type Sent = { readonly bytes: Buffer; readonly type?: string; readonly coding?: string; readonly signed?: Buffer };
type Row = readonly [name: string, sent: Sent, payload: unknown];

const packed = (pack: (bytes: Buffer) => Buffer, coding: string): Sent => ({ bytes: pack(utf8(JSON_TEXT)), coding });

/** Signed deliveries, and the payload that they contain. The source of each is a section of a standard, or a program. */
const UNDERSTOOD: readonly Row[] = [
  ['a byte order mark (RFC 8259, 8.1)', { bytes: utf8(MARK + JSON_TEXT) }, VALUE],
  ['a byte order mark and blanks (RFC 8259, 2)', { bytes: utf8(`${MARK} \r\n${JSON_TEXT}`) }, VALUE],
  ['a byte order mark before a form', { bytes: utf8(`${MARK}payload=${encodeURIComponent(JSON_TEXT)}`), type: FORM }, VALUE],
  ['a byte order mark in a field', { bytes: utf8(`payload=${encodeURIComponent(MARK + JSON_TEXT)}`), type: FORM }, VALUE],
  ['UTF-16 with a mark (RFC 4627, 3)', { bytes: utf16le(MARK + JSON_TEXT) }, VALUE],
  ['UTF-16BE with a mark', { bytes: utf16be(MARK + JSON_TEXT), type: `${JSON_TYPE}; charset=utf-16` }, VALUE],
  ['UTF-16LE without a mark (RFC 4627, 3)', { bytes: utf16le(JSON_TEXT) }, VALUE],
  ['UTF-16BE without a mark (RFC 2781, 4.3)', { bytes: utf16be(JSON_TEXT), type: `${JSON_TYPE}; charset="UTF-16"` }, VALUE],
  ['ISO-8859-1', { bytes: latin1(LATIN_TEXT), type: `${JSON_TYPE}; charset=ISO-8859-1` }, LATIN_VALUE],
  ['windows-1252', { bytes: Buffer.from([0x22, 0x80, 0x22]), type: `${JSON_TYPE}; charset=windows-1252` }, '€'],
  ['UTF-8 that is called ISO-8859-1 (Java Servlet API)', { bytes: utf8(JSON_TEXT), type: `${JSON_TYPE};charset=ISO-8859-1` }, VALUE],
  ['Shift_JIS', { bytes: Buffer.from([0x22, 0x93, 0xfa, 0x96, 0x7b, 0x22]), type: `${JSON_TYPE}; charset=Shift_JIS` }, '日本'],
  ['a form in windows-1252', { bytes: utf8('payload=%22%E9%80%22'), type: `${FORM}; charset=windows-1252` }, 'é€'],
  ['gzip (RFC 9110, 8.4.1.3)', packed(gzipSync, 'gzip'), VALUE],
  ['x-gzip (RFC 9110, 8.4.1.3)', packed(gzipSync, 'x-gzip'), VALUE],
  ['gzip in capitals and blanks', packed(gzipSync, ' GZIP ,'), VALUE],
  ['deflate (RFC 9110, 8.4.1.2)', packed(deflateSync, 'deflate'), VALUE],
  ['deflate without the header of zlib', packed(deflateRawSync, 'deflate'), VALUE],
  ['br (RFC 7932)', packed(brotliCompressSync, 'br'), VALUE],
  ['zstd (RFC 8878)', packed(zstdCompressSync, 'zstd'), VALUE],
  ['two codings', packed((bytes) => brotliCompressSync(gzipSync(bytes)), 'gzip, br'), VALUE],
  ['identity (RFC 9110, 12.5.3)', packed((bytes) => bytes, 'identity'), VALUE],
  ['gzip whose content was signed', { ...packed(gzipSync, 'gzip'), signed: utf8(JSON_TEXT) }, VALUE],
  ['gzip of UTF-16', { bytes: gzipSync(utf16le(MARK + JSON_TEXT)), coding: 'gzip' }, VALUE],
];

/** A frame of zstd whose bytes a decoder skips (RFC 8878, 3.1.2). */
const skippable = (size: number): Buffer => {
  const frame = Buffer.alloc(8 + size);
  frame.writeUInt32LE(0x184d2a50);
  frame.writeUInt32LE(size, 4);
  return frame;
};
const emptyMembers = (count: number): Buffer => Buffer.concat(Array<Buffer>(count).fill(gzipSync('')));
const UNSIGNED = { signed: utf8('x') };

/** Signed deliveries that are refused: the status, the reason in the list, and a part of what both are told. */
const REFUSED: readonly (readonly [name: string, sent: Sent, status: number, reason: string, told: RegExp])[] = [
  ['another type', { bytes: utf8('<a/>'), type: 'text/xml' }, 415, 'unsupported_media_type', /"text\/xml": send application\/json/],
  ['an unknown coding', { bytes: utf8('{}'), coding: 'compress' }, 415, 'unsupported_encoding', /"compress" is not supported/],
  ['too many codings', { bytes: utf8('{}'), coding: 'br, br, br, br' }, 415, 'unsupported_encoding', /"br, br, br, br"/],
  ['no gzip', { bytes: utf8(JSON_TEXT), coding: 'gzip' }, 400, 'body_malformed', /names gzip, but the body is damaged or no gzip/],
  ['a part of gzip', { bytes: gzipSync(JSON_TEXT).subarray(0, 20), coding: 'gzip' }, 400, 'body_malformed', /damaged/],
  ['neither was signed', { ...packed(gzipSync, 'gzip'), signed: utf8('{}') }, 401, 'signature_mismatch', /signature does not match/],
  ['an unknown charset', { bytes: utf8('{}'), type: `${JSON_TYPE}; charset=klingon` }, 415, 'unsupported_media_type', /"klingon"/],
  ['UTF-32', { bytes: Buffer.from([0x5b, 0, 0, 0, 0x5d, 0, 0, 0]) }, 415, 'unsupported_media_type', /"utf-32"/],
  ['bytes that are not UTF-8', { bytes: latin1(LATIN_TEXT) }, 400, 'body_malformed', /not valid UTF-8.*charset/],
  ['a field that is not UTF-8', { bytes: utf8('payload=%22%E9%22'), type: FORM }, 400, 'body_malformed', /not valid UTF-8/],
  [
    'an odd number of bytes in UTF-16',
    { bytes: utf16le(`${JSON_TEXT} `).subarray(1), type: `${JSON_TYPE}; charset=utf-16le` },
    400,
    'body_malformed',
    /not valid in "utf-16/,
  ],
  ['too much in a small body', { bytes: gzipSync(Buffer.alloc(30_000_000)), coding: 'gzip' }, 413, 'too_large', /26214400 bytes/],
  [
    'too much that is not signed',
    { bytes: gzipSync(Buffer.alloc(1_000_000)), coding: 'gzip', signed: utf8('x') },
    401,
    'signature_mismatch',
    /sign the compressed bytes/,
  ],
  [
    'nothing in many bytes of zstd in br that are not signed',
    { bytes: brotliCompressSync(skippable(1_000_000)), coding: 'zstd, br', ...UNSIGNED },
    401,
    'signature_mismatch',
    /sign the compressed bytes/,
  ],
  [
    'nothing in many members of gzip in gzip that are not signed',
    { bytes: gzipSync(emptyMembers(60_000)), coding: 'gzip, gzip', ...UNSIGNED },
    401,
    'signature_mismatch',
    /sign the compressed bytes/,
  ],
  [
    'nothing in many compressed bytes that are not signed',
    { bytes: emptyMembers(60_000), coding: 'gzip', ...UNSIGNED },
    401,
    'signature_mismatch',
    /sign the compressed bytes/,
  ],
  [
    'too many bytes between two codings',
    { bytes: zstdCompressSync(skippable(30_000_000)), coding: 'zstd, zstd' },
    413,
    'too_large',
    /26214400 bytes/,
  ],
];

const headersOf = ({ bytes, type = JSON_TYPE, coding, signed = bytes }: Sent, id: string): Record<string, string> => ({
  'content-type': type,
  'x-github-delivery': id,
  'x-hub-signature-256': sign(signed),
  ...(coding === undefined ? {} : { 'content-encoding': coding }),
});

const given = await createWebhookPlatform();

for (const [index, [name, sent, payload]] of UNDERSTOOD.entries())
  test(`a signed delivery with ${name} is accepted, and its payload is what was sent`, async () => {
    const answer = await given.deliver(sent.bytes, headersOf(sent, `u${index}`));
    assert.equal([answer.status, answer.json.outcome], [202, 'accepted']);
    assert.equal((await given.call('GET', `deliveries/${answer.json.id}`)).json.payload, payload);
    assert.is((await given.deliver(sent.bytes, headersOf(sent, `u${index}`))).json.outcome, 'duplicate');
  });

test('the bytes of a delivery with a byte order mark are kept', async () => {
  const bytes = utf8(MARK + JSON_TEXT);
  const { id } = (await given.deliver(bytes, headersOf({ bytes }, 'kept'))).json;
  const stored = await given.app.request(`${given.tenant}/deliveries/${id}/body`, { headers: { authorization: `Bearer ${given.key}` } });
  assert.equal(Buffer.from(await stored.arrayBuffer()), bytes);
});

test('a delivery that was not in UTF-8 is stored in UTF-8, and its content type says so', async () => {
  const sent = { bytes: latin1(LATIN_TEXT), type: `${JSON_TYPE}; profile="a b"; charset=ISO-8859-1` };
  const { id } = (await given.deliver(sent.bytes, headersOf(sent, 'stored'))).json;
  const event = given.accepted().find((one) => one.id === id)!;
  const { content_type, size_bytes } = factsOf(event);
  assert.equal([content_type, size_bytes], [`${JSON_TYPE}; profile="a b"; charset=utf-8`, Buffer.byteLength(LATIN_TEXT)]);
});

test('a large body that was packed is accepted with all its bytes', async () => {
  const body = JSON.stringify({ text: 'x'.repeat(2_000_000) });
  const sent = { bytes: gzipSync(body), coding: 'gzip' };
  const { id } = (await given.deliver(sent.bytes, headersOf(sent, 'large'))).json;
  assert.is((await given.call('GET', `deliveries/${id}/body`)).text, body);
});

for (const [index, [name, sent, status, , told]] of REFUSED.entries())
  test(`a delivery with ${name} is refused with ${status} and the real reason`, async () => {
    const answer = await given.deliver(sent.bytes, headersOf(sent, `r${index}`));
    assert.is(answer.status, status);
    assert.match(answer.json.detail as string, told);
  });

test('the list of deliveries shows why each was refused, and the content type of the request', async () => {
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await given.waitForProjections();
  const listed = JSON.parse((await given.call('GET', `deliveries?outcome=rejected&limit=${REFUSED.length}`)).text) as Record<
    string,
    unknown
  >[];
  const rows = new Map(listed.map((row) => [row.provider_delivery_id, row]));
  for (const [index, [name, , , reason, told]] of REFUSED.entries()) {
    const row = rows.get(`r${index}`)!;
    assert.is(row.reason, reason, name);
    if (reason !== 'too_large' && name !== 'neither was signed') assert.match(row.reason_note as string, told, name);
  }
  assert.is((await given.call('GET', `deliveries/${rows.get('r0')!.id}`)).json.content_type, 'text/xml');
});

test('the JSON API ignores a byte order mark, and names a content type and a coding that it refuses', async () => {
  const create = async (type: string, body: string, coding?: string) => {
    const headers = { authorization: `Bearer ${given.key}`, 'content-type': type, ...(coding ? { 'content-encoding': coding } : {}) };
    return given.request(`${given.tenant}/agents`, { method: 'POST', headers, body });
  };
  const agent = (slug: string): string => `${MARK}{"name":"Marked","slug":"${slug}"}`;
  assert.is((await create('Application/JSON; charset="utf-8" ;', agent('marked'))).status, 201);
  const refusals = [
    await create('text/plain', '{}'),
    await create('application/json; charset=utf-16', '{}'),
    await create(JSON_TYPE, '{}', 'br'),
  ];
  assert.equal(
    refusals.map(({ status }) => status),
    [415, 415, 415],
  );
  for (const [index, told] of [/"text\/plain"/, /charset=utf-16"/, / br is not supported/].entries())
    assert.match(refusals[index]!.json.detail as string, told);
});

test('two bodies with the same large number as id are one delivery, and an id that cannot be read is labelled', async () => {
  const connected = await given.connect({ provider: 'custom_hmac', delivery_id_source: '/id' });
  const send = (body: string) =>
    given.deliver(body, { 'x-hub-signature-256': null, 'x-signature': sign(body).slice(7) }, connected.json.id as string);
  const answers = [await send('{"id":8202522731445525542,"attempt":1}'), await send('{"id":8202522731445525542,"attempt":2}')];
  assert.equal(
    answers.map(({ status, json }) => [status, json.outcome]),
    [
      [202, 'accepted'],
      [200, 'duplicate'],
    ],
  );
  const other = await send('{"id":8202522731445525543}');
  assert.is(other.status, 202);
  const detail = (await given.call('GET', `deliveries/${(await send('{"id":null}')).json.id}`)).json;
  const label = (detail.guardrails as Record<string, string>[]).find(({ rule }) => rule === 'delivery_id');
  assert.is(label?.verdict, 'label');
});

test('the platform closes', () => given.close());

test.run();
