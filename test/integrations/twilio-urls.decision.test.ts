import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { presetOf } from '../../domain/integrations/provider-preset.ts';
import { otherTwilioMessages } from '../../domain/integrations/providers/twilio-message.ts';
import { signedUrls } from '../../domain/integrations/providers/twilio-urls.ts';
import { verifySignature } from '../../domain/integrations/signature.ts';

const TOKEN = 'a secret of more than 24 bytes';
const HOOK = 'https://annals.test/hooks/inbound/h';
const FORM = { body: 'Body=Hi', fields: 'BodyHi' };
const { scheme } = presetOf({ provider: 'twilio', delivery_id_source: null, options: {} });

const signatureOf = (text: string): string => createHmac('sha1', TOKEN).update(text).digest('base64');

/** Whether a request to one URL is accepted with the signature of another one. */
const passes = (signedUrl: string, requestedUrl: string, { body, fields } = FORM): boolean => {
  const signature = signatureOf(signedUrl + fields);
  const request = {
    header: (name: string) => (name === 'x-twilio-signature' ? signature : undefined),
    url: () => requestedUrl,
    body: Buffer.from(body),
  };
  return verifySignature(scheme, request, { current: scheme.key(TOKEN), previous: null }).ok;
};

/** Queries as Twilio signs them, and as it requests them. */
const SAME: readonly (readonly [source: string, signed: string, requested: string])[] = [
  ['twilio-node 621', 'caller=sip:100@203.0.113.9', 'caller=sip%3A100%40203.0.113.9'],
  ['twilio-node 621', 'Caller=sip%3A100%40203.0.113.9', 'Caller=sip%3A100%40203.0.113.9'],
  ['twilio-node 621, hex in lower case', 'caller=sip:100@203.0.113.9', 'caller=sip%3a100%40203.0.113.9'],
  ['only one of the characters is encoded', 'caller=sip:100@203.0.113.9', 'caller=sip:100%40203.0.113.9'],
  ['only one of the characters is signed as it is', 'caller=sip%3A100@203.0.113.9', 'caller=sip%3A100%40203.0.113.9'],
  ['signed in lower case, requested in upper case', 'caller=sip%3a100%40h', 'caller=sip%3A100%40h'],
  ['signed encoded, requested as it is', 'note=don%27t&at=12%3A30', "note=don't&at=12:30"],
  ['twilio-node 1059', "note=don't", 'note=don%27t'],
  ['twilio-node 1059', "ToCity=TREZZO+SULL'ADDA&ToState=MI", 'ToCity=TREZZO+SULL%27ADDA&ToState=MI'],
  [
    'a callback that is encoded, and a caller that is not',
    'cb=https%3A//x.example&caller=sip:1@h',
    'cb=https%3A//x.example&caller=sip%3A1%40h',
  ],
  ['twilio-node 1183: what a URL parser encodes', 'q="a"<b>|{c}', 'q=%22a%22%3Cb%3E%7C%7Bc%7D'],
  ['twilio-node 1183: letters that are not ASCII', 'city=Forlì', 'city=Forl%C3%AC'],
  ['twilio-php 458: JSON in a parameter', 'AddOns={"a":["b"]}', 'AddOns=%7B%22a%22%3A%5B%22b%22%5D%7D'],
  ['a plus sign is a blank and stays one', 'note=two+words:1', 'note=two+words%3A1'],
  ['many of the characters', 't=1:2:3:4:5:6@7@8', 't=1%3A2%3A3%3A4%3A5%3A6%407%408'],
];

for (const [source, signed, requested] of SAME)
  test(`twilio signs ${signed} and requests ${requested}, with and without the port (${source})`, () => {
    for (const [one, other] of [
      ['', ''],
      ['', ':443'],
      [':443', ''],
    ] as const) {
      const [signedUrl, requestedUrl] = [HOOK.replace('.test', `.test${one}`), HOOK.replace('.test', `.test${other}`)];
      assert.ok(passes(`${signedUrl}?${signed}`, `${requestedUrl}?${requested}`), `${one} ${other}`);
      const body = '{"a":1}';
      const digest = `bodySHA256=${createHash('sha256').update(body).digest('hex')}`;
      assert.ok(passes(`${signedUrl}?${signed}&${digest}`, `${requestedUrl}?${requested}&${digest}`, { body, fields: '' }), 'JSON');
      assert.not.ok(passes(`${signedUrl}?${signed}&${digest}`, `${requestedUrl}?${requested}&${digest}`, { body: '{"a":2}', fields: '' }));
    }
  });

/** Pairs of queries with different meanings: the signature of one must not be accepted for the other. */
const DIFFERENT: readonly (readonly [string, string])[] = [
  ['note=two+words', 'note=two%20words'],
  ['note=two+words', 'note=two%2Bwords'],
  ['a=1&b=2', 'a=1%26b=2'],
  ['a=1=2', 'a=1%3D2'],
  ['a=1#b', 'a=1%23b'],
  ['a=1;b=2', 'a=1%3Bb=2'],
  ['a=%3A', 'a=%253A'],
  ['a=:', 'a=%2525'],
  ['a=%27', 'a=%2527'],
  ['a=:', 'a=@'],
  ['a=:', "a=':"],
  ['a=1:2', 'A=1%3A2'],
  ['a=%C3%A9', 'a=e%CC%81'],
  ['a=%E9', 'a=%C3%A9'],
  ['a=x', 'a=%78'],
];

for (const [one, other] of DIFFERENT)
  test(`the signature of ${one} does not pass for ${other}, nor the other way round`, () => {
    assert.not.ok(passes(`${HOOK}?${one}`, `${HOOK}?${other}`));
    assert.not.ok(passes(`${HOOK}?${other}`, `${HOOK}?${one}`));
  });

/** Requests for which many bytes could have been signed, by anybody: the query and the body. */
const LONG: readonly (readonly [name: string, query: string, body: string])[] = [
  ['a long form', 'a=::::%20%5B', `Body=${'x'.repeat(60_000)}`],
  ['a longer form', 'a=::::%20%5B', `Body=${'x'.repeat(600_000)}`],
  ['a long query', `a=::::%20%5B${'x'.repeat(15_000)}`, 'Body=Hi'],
  ['a long name', 'a=::::%20%5B', `${'x'.repeat(60_000)}=1`],
];

for (const [name, query, body] of LONG)
  test(`twilio: ${name} is tried as it was requested and with the other port, and with at most 1 MiB of other messages`, () => {
    const requested = `${HOOK}?${query}`;
    const request = { header: () => undefined, url: () => requested, body: Buffer.from(body) };
    const messages = otherTwilioMessages(request, scheme.message(request, '')!);
    const size = messages.reduce((sum, parts) => sum + parts.reduce((bytes, part) => bytes + part.length, 0), 0);
    assert.ok(messages.length > 0 && size <= 1_048_576 + 16 * messages.length, `${messages.length} messages of ${size} bytes`);
    const signed = { body, fields: body.replace('=', '') };
    assert.ok(passes(requested, requested, signed));
    assert.ok(passes(requested.replace('.test', '.test:443'), requested, signed));
  });

test('twilio: the text of a form with many fields is built in a time that is proportional to its size', () => {
  const formOf = (length: number) => Array.from({ length }, (_, index) => `f${index}=1`).join('&');
  const messageOf = (form: string) => scheme.message({ header: () => undefined, url: () => HOOK, body: Buffer.from(form) }, '');
  const used = process.cpuUsage();
  const form = formOf(10_000);
  assert.is(messageOf(form)![1]!.length, form.length - 2 * 10_000 + 1);
  assert.is(messageOf(formOf(10_001)), null, 'Twilio sends no form with so many fields');
  assert.is(messageOf('&'.repeat(20_000_000)), null);
  assert.ok(process.cpuUsage(used).user < 1_000_000);
});

test('every URL that may have been signed has the same parameters as the one that was requested', () => {
  const part = fc.constantFrom(
    ...':@\'+&=;/?#%ab 1"',
    '%3A',
    '%3a',
    '%40',
    '%27',
    '%26',
    '%2B',
    '%2b',
    '%25',
    '%3D',
    '%20',
    '%C3%A9',
    '%E9',
    '%7C',
    '%',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 14 }), (parts) => {
      const url = `${HOOK}?${parts.join('').replaceAll('#', '')}`;
      const urls = signedUrls(url);
      assert.is(urls[0], url);
      assert.ok(urls.length <= 2 * (81 + 27) + 1);
      const parameters = (each: string) => [
        ...new URLSearchParams(each.slice(HOOK.length).replace(/[\u0080-\uffff]+/g, encodeURIComponent)),
      ];
      for (const each of urls) assert.equal(parameters(each), parameters(url), each);
    }),
    { numRuns: 500 },
  );
});

test('characters before the query are never changed, and a URL without such characters has one form', () => {
  assert.equal(signedUrls("https://annals.test:8443/hooks/inbound/%3Ah'"), ["https://annals.test:8443/hooks/inbound/%3Ah'"]);
  assert.equal(signedUrls(`${HOOK}?note=two+words&n=%2B1`), [`${HOOK}?note=two+words&n=%2B1`]);
  for (const url of signedUrls("https://annals.test:8443/a'b?c=d%3Ae")) assert.ok(url.startsWith("https://annals.test:8443/a'b?"), url);
});

test.run();
