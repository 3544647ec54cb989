import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Provider } from '../../domain/integrations/provider.ts';
import { presetOf } from '../../domain/integrations/provider-preset.ts';
import { isFresh, matchSecret, verifySignature } from '../../domain/integrations/signature.ts';

type Vector = {
  readonly title: string;
  readonly provider: Provider;
  readonly secret: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly url?: string;
};

const TWILIO_URL = 'https://mycompany.com/myapp.php?foo=1&bar=2';
const TWILIO_FORM = 'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212';
const SLACK_BODY =
  'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';

/** Examples of valid signatures that providers and others have published. */
const VECTORS: readonly Vector[] = [
  {
    title: "Atlassian's documentation",
    provider: 'bitbucket',
    secret: "It's a Secret to Everybody",
    body: 'Hello World!',
    headers: { 'x-hub-signature': 'sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9' },
  },
  {
    title: 'the reference tests of Standard Webhooks',
    provider: 'standard_webhooks',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    body: '{"test": 2432232314}',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
  },
  {
    title: "Slack's documentation",
    provider: 'slack',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    body: SLACK_BODY,
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
  },
  {
    title: "a request that Shopify's library 13.1.0 accepts",
    provider: 'shopify',
    secret: 'hush',
    body: '{"id":820982911946154508,"email":"jön@example.com","total_price":"403.00"}',
    headers: { 'x-shopify-hmac-sha256': '6JU0LlB27EoISRmzflDLlWleVDwDtsLdrOe2UyI9hmM=' },
  },
  {
    title: "the tests of Twilio's library",
    provider: 'twilio',
    secret: '12345',
    body: TWILIO_FORM,
    url: TWILIO_URL,
    headers: { 'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' },
  },
  {
    title: "Twilio's documentation",
    provider: 'twilio',
    secret: '12345',
    body: TWILIO_FORM.replaceAll('%2B14158675309', '%2B14158675310'),
    url: TWILIO_URL,
    headers: { 'x-twilio-signature': 'GvWf1cFY/Q7PnoempGyD5oXAezc=' },
  },
  {
    title: "the tests of Twilio's library, with a JSON body",
    provider: 'twilio',
    secret: '12345',
    body: '{"property": "value", "boolean": true}',
    url: `${TWILIO_URL}&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620`,
    headers: { 'x-twilio-signature': 'a9nBmqA0ju/hNViExpshrM61xv4=' },
  },
];

const received = ({ headers, body, url = '' }: Vector) => ({
  header: (name: string) => headers[name],
  url: () => url,
  body: Buffer.from(body),
});

const schemeOf = (provider: Provider) => presetOf({ provider, delivery_id_source: null, options: {} }).scheme;

const verify = (vector: Vector) => {
  const scheme = schemeOf(vector.provider);
  return verifySignature(scheme, received(vector), { current: scheme.key(vector.secret), previous: null });
};

const otherThan = (secret: string): string => secret.slice(0, 8) + (secret[8] === 'A' ? 'B' : 'A') + secret.slice(9);

for (const vector of VECTORS) {
  test(`${vector.provider}: the signature in ${vector.title} is valid for its own body and secret, but not for others`, () => {
    assert.ok(verify(vector).ok);
    assert.is(verify({ ...vector, secret: otherThan(vector.secret) }).ok, false);
    assert.is(verify({ ...vector, body: `${vector.body}&a=1` }).ok, false);
  });
}

test('the Ed25519 signature of test 2 in RFC 8032 is valid, but not for another message', () => {
  const current = Buffer.from('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c', 'hex');
  const signature = Buffer.from(
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
    'hex',
  );
  const match = (message: string) =>
    matchSecret({
      algorithm: 'ed25519',
      messages: [[Buffer.from(message, 'hex')]],
      signatures: [signature],
      keys: { current, previous: null },
    });
  assert.equal([match('72'), match('73')], ['current', null]);
});

test('a header with several signatures is accepted if one of them matches; a header with more than ten signatures, or with none in the known format, is refused', () => {
  const scheme = schemeOf('pagerduty');
  const right = createHmac('sha256', 'secret').update('x').digest('hex');
  const wrong = '0'.repeat(64);
  const reasonOf = (header: string) =>
    verifySignature(
      scheme,
      { header: () => header, url: () => '', body: Buffer.from('x') },
      { current: scheme.key('secret'), previous: null },
    ).reason;
  assert.is(reasonOf(`v1=${right}`), null);
  assert.is(reasonOf(`v1=${wrong}, v2=new,v1=${right}`), null);
  assert.is(reasonOf(`v1=${wrong},v1=${wrong}`), 'signature_mismatch');
  assert.is(reasonOf(`v2=${right}`), 'signature_malformed');
  assert.is(reasonOf([...Array.from({ length: 9 }, () => `v1=${wrong}`), `v1=${right}`].join(',')), null);
  assert.is(reasonOf([...Array.from({ length: 10 }, () => `v1=${wrong}`), `v1=${right}`].join(',')), 'signature_malformed');
});

test('a signed time is accepted if it differs from the present by exactly the tolerance, and refused if by more', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const isFreshAt = (seconds: number) => {
    const time = String(Date.parse(at) / 1000 + seconds);
    return isFresh(schemeOf('slack'), { header: () => time, url: () => '', body: Buffer.from('') }, at);
  };
  assert.equal([-301, -300, 0, 300, 301].map(isFreshAt), [false, true, true, true, false]);
});

test.run();
