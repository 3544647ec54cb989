import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { IntegrationOptions } from '../../domain/integrations/conventions/integration-options.ts';
import { isEd25519Key } from '../../domain/integrations/ed25519-key.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { PROVIDER_DEFINITIONS, PROVIDERS, type Provider } from '../../domain/integrations/provider.ts';
import { Refusal } from '../../domain/refusal.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';

const source = (provider: Provider, options: IntegrationOptions = {}, delivery_id_source: string | null = null) => ({
  provider,
  options,
  delivery_id_source,
});

/** Returns the secret that is used, or the pointer and the message of the refusal. */
const read = (work: () => string | undefined): string | undefined => {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.extra.errors!.map(({ pointer, message }) => `${pointer} ${message}`).join();
  }
};

/** What copying adds at the ends of a secret, by the program that does so. */
const ADDED: readonly (readonly [source: string, before: string, after: string])[] = [
  ['a terminal, or a file of one line', '', '\n'],
  ['a file from Windows', '', '\r\n'],
  ['a double click on a word', '', ' '],
  ['a table cell', '\t', '\t'],
  ['a web page', '\u00a0', '\u00a0'],
  ['a chat program', '\u200b', '\u200b'],
  ['a text with marks of direction', '\u200e', '\u200f'],
  ['a file with a byte order mark', '\ufeff', ''],
  ['a word processor', '\u2060', '\u00ad'],
  ['a page in Japanese', '\u3000', '\u3000'],
  ['a text with line separators', '', '\u2028'],
  ['several of them', '\ufeff \u00a0', ' \r\n\u200b'],
];

for (const provider of PROVIDERS)
  test(`${provider}: characters that copying adds before and after a secret are removed`, () => {
    const { secret } = SIGNERS[provider];
    for (const [program, before, after] of ADDED)
      assert.is(
        read(() => Integration.checkConnection(source(provider), before + secret + after)),
        secret,
        program,
      );
  });

const QUOTES = ['""', "''", '``', '“”', '„“', '‘’', '«»'] as const;
/** Whether people choose the secret, so that quotation marks can belong to it. */
const isChosen = (provider: Provider): boolean => {
  const { secret } = PROVIDER_DEFINITIONS[provider];
  return secret?.issuedAs === undefined && secret?.form !== 'whsec';
};

for (const provider of PROVIDERS)
  test(`${provider}: quotation marks around a secret are removed, or refused where they could belong to it`, () => {
    const { secret } = SIGNERS[provider];
    for (const [open, close] of QUOTES) {
      const found = read(() => Integration.checkConnection(source(provider), `${open}${secret}${close}\n`));
      if (isChosen(provider)) assert.match(found!, /^\/secret is in quotation marks \(.\): leave them out/);
      else assert.is(found, secret);
    }
  });

test('an invisible character within a secret is refused with its name', () => {
  for (const [character, name] of [
    ['\n', 'a line end (U+000A)'],
    ['\r', 'a line end (U+000D)'],
    ['\t', 'a tab (U+0009)'],
    ['\0', 'an invisible character (U+0000)'],
    ['\u00a0', 'a no-break space (U+00A0)'],
    ['\u00ad', 'an invisible character (U+00AD)'],
    ['\u200b', 'a zero-width space (U+200B)'],
    ['\u200d', 'a zero-width joiner (U+200D)'],
    ['\u202e', 'an invisible character (U+202E)'],
    ['\ufeff', 'a byte order mark (U+FEFF)'],
    ['\u{e0041}', 'an invisible character (U+E0041)'],
  ] as const)
    for (const provider of ['stripe', 'github', 'gitlab', 'discord'] as const)
      assert.is(
        read(() => Integration.checkConnection(source(provider), `0123456789abc${character}defghijklmnop`)),
        `/secret contains ${name}: copy it again, or type it`,
      );
});

test('a secret that consists only of characters that are removed is refused', () => {
  for (const text of [' ', '\n', '\u200b\ufeff', '""'])
    assert.match(read(() => Integration.checkConnection(source('stripe'), text))!, /^\/secret must not be empty/, JSON.stringify(text));
});

/** Settings with which no delivery could be verified, or recognised, and the field and words of the refusal. */
const IMPOSSIBLE: readonly (readonly [ReturnType<typeof source>, string, RegExp])[] = [
  [source('stripe'), 'sk_live_51H8xExampleExampleExample', /^\/secret is an API key of stripe: copy the signing secret/],
  [source('stripe'), 'we_1MqqbKLt4dXK03v5qaIbiNCC', /^\/secret is an id of stripe/],
  [source('slack'), 'xoxb-1234567890-abcdefghijkl', /^\/secret is a token of slack/],
  [source('slack'), 'xapp-1-A0123-456-abcdef', /^\/secret is a token of slack/],
  [source('twilio'), `AC${'0a'.repeat(16)}`, /^\/secret is a SID of twilio/],
  [source('shopify'), `shpat_${'0a'.repeat(16)}`, /^\/secret is an access token of shopify/],
  [source('linear'), 'lin_api_0123456789', /^\/secret is an API key of linear/],
  [source('sentry'), 'sntrys_0123456789', /^\/secret is an auth token of sentry/],
  [source('gitlab_token'), 'a secret of 24 bytes or more with ü', /^\/secret must contain only ASCII characters/],
  [source('gitlab'), 'glpat-0123456789abcdefghij', /^\/secret must be whsec_/],
  [source('standard_webhooks'), `whsec_${'A'.repeat(33)}`, /^\/secret must be whsec_/],
  [source('standard_webhooks'), `whsec_${'A'.repeat(40)}=`, /^\/secret must be whsec_/],
  [source('standard_webhooks'), `whsec_${'-_'.repeat(20)}`, /^\/secret must be whsec_/],
  [source('standard_webhooks'), `whsk_${'A'.repeat(43)}=`, /^\/secret is the private key/],
  [source('standard_webhooks'), `whpk_${'A'.repeat(43)}=`, /^\/secret is a public key: set options.algorithm/],
  [source('discord'), 'a'.repeat(63), /^\/secret must be the public key of the sender: 64 hexadecimal digits/],
  [source('discord'), 'f'.repeat(64), /^\/secret must be the public key of the sender: this is not an Ed25519 key/],
  [source('discord'), `01${'0'.repeat(62)}`, /this is not an Ed25519 key/],
  [source('custom_hmac', { algorithm: 'ed25519' }), '0'.repeat(64), /this is not an Ed25519 key/],
  [source('custom_hmac', { prefix: ' sha256=' }), SIGNERS.custom_hmac.secret, /^\/options\/prefix must not begin with a blank/],
  [source('custom_hmac', { prefix: '…' }), SIGNERS.custom_hmac.secret, /^\/options\/prefix must contain only ASCII/],
  [source('custom_hmac', { header: 'Content-Length' }), SIGNERS.custom_hmac.secret, /^\/options\/header cannot be Content-Length/],
  [source('custom_hmac', { header: 'transfer-encoding' }), SIGNERS.custom_hmac.secret, /^\/options\/header cannot be/],
  [source('custom_hmac', { header: 'Content-Type' }), SIGNERS.custom_hmac.secret, /^\/options\/header cannot be/],
  [
    source('custom_hmac', { timestamp_header: 'Date', signed_message: '{timestamp}{body}' }),
    SIGNERS.custom_hmac.secret,
    /^\/options\/timestamp_header cannot be/,
  ],
  [
    source('custom_hmac', { timestamp_header: 'x-signature', signed_message: '{timestamp}{body}' }),
    SIGNERS.custom_hmac.secret,
    /^\/options\/timestamp_header must not be the header with the signature/,
  ],
  [source('custom_hmac', { event_source: '/a~b' }), SIGNERS.custom_hmac.secret, /^\/options\/event_source must be a JSON pointer/],
  [source('custom_hmac', {}, '/a~2'), SIGNERS.custom_hmac.secret, /^\/delivery_id_source must be a JSON pointer/],
  [source('custom_hmac', {}, 'Content-Length'), SIGNERS.custom_hmac.secret, /^\/delivery_id_source cannot be/],
];

const STRIPE = 'whsec_0123456789abcdefghijklmnop';
/** What surrounds or replaces a secret that a provider has created, and the words of the refusal. */
const NOT_ALONE: readonly (readonly [string, RegExp])[] = [
  ['•'.repeat(28), /^\/secret is what pages show instead of a secret/],
  ['whsec_••••••••••••••••abcd', /^\/secret is what pages show/],
  ['*'.repeat(32), /^\/secret is what pages show/],
  ['whsec_...', /^\/secret is cut off at its end/],
  ['whsec_01234…', /^\/secret is cut off/],
  [`Bearer ${STRIPE}`, /^\/secret starts with a word of an HTTP header/],
  [`STRIPE_WEBHOOK_SECRET=${STRIPE}`, /^\/secret starts with the name of a setting/],
  [`secret: ${STRIPE}`, /^\/secret starts with the name of a setting/],
  [`<${STRIPE}>`, /^\/secret has a bracket at one end/],
  [`‹${STRIPE}>`, /^\/secret has a bracket/],
  [`${STRIPE};`, /^\/secret ends with a semicolon or a comma/],
  [`${STRIPE},`, /^\/secret ends with a semicolon or a comma/],
  [`"${STRIPE}`, /^\/secret has a quotation mark at one end/],
  [`${STRIPE}”`, /^\/secret has a quotation mark/],
  [`${STRIPE}\\n`, /^\/secret has an escape sequence of JSON/],
  [`\\ufeff${STRIPE}`, /^\/secret has an escape sequence of JSON/],
  [`${STRIPE}%0A`, /^\/secret has an escape sequence of JSON, a URL/],
  [`${STRIPE}&nbsp;`, /^\/secret has an escape sequence of JSON, a URL or HTML/],
  [`&#8203;${STRIPE}`, /^\/secret has an escape sequence/],
  [`whsec_${STRIPE}`, /^\/secret has its first letters twice/],
];

test('a masked secret, and a secret of a provider with other text around it, are refused with an explanation', () => {
  for (const [secret, message] of NOT_ALONE)
    for (const provider of ['stripe', 'zoom', 'linear', 'pagerduty'] as const)
      assert.match(read(() => Integration.checkConnection(source(provider), secret))!, message, `${provider} ${secret}`);
  for (const provider of PROVIDERS)
    assert.match(read(() => Integration.checkConnection(source(provider), '•'.repeat(28)))!, /^\/secret is what pages show/, provider);
});

for (const [settings, secret, message] of IMPOSSIBLE)
  test(`${settings.provider} ${JSON.stringify(settings.options)} ${settings.delivery_id_source ?? ''} with ${secret.slice(0, 24)}… is refused`, () =>
    assert.match(read(() => Integration.checkConnection(settings, secret))!, message));

test('settings that look unusual, but with which deliveries can be verified, are accepted', () => {
  for (const [settings, secret] of [
    [source('custom_hmac', { header: 'Authorization', prefix: 'HMAC ', encoding: 'base64' }), 'a passphrase with blanks and ümlauts'],
    [source('github'), `'a secret with one quotation mark`],
    [source('github'), `"a" and "b" and other words`],
    [source('standard_webhooks'), `whsec_${'A'.repeat(43)}`],
    [source('standard_webhooks'), `whsec_${'A'.repeat(43)}=`],
    [source('custom_hmac', { event_source: 'Content-Type' }, '/a~1b~0c'), SIGNERS.custom_hmac.secret],
    [source('shopify'), `shpss_${'0a'.repeat(16)}`],
  ] as const)
    assert.is(
      read(() => Integration.checkConnection(settings, secret)),
      secret,
    );
});

test('a key is an Ed25519 key only if it is a point of the curve for which nobody can forge signatures', () => {
  const keyOf = (hex: string): boolean => isEd25519Key(Buffer.from(hex, 'hex'));
  // The public keys of RFC 8032, 7.1, and the points of a small order.
  for (const hex of [
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    SIGNERS.discord.secret,
  ])
    assert.ok(keyOf(hex), hex);
  for (const hex of [
    `01${'0'.repeat(62)}`,
    `01${'0'.repeat(60)}80`,
    '0'.repeat(64),
    `ec${'f'.repeat(60)}7f`,
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
    `02${'0'.repeat(62)}`,
    'f'.repeat(64),
    '',
  ])
    assert.not.ok(keyOf(hex), hex);
});

test('the algorithm cannot be changed to one that the present secret does not fit', () => {
  const connected = { ...Integration.initial, status: 'connected', tenant_id: 't', provider: 'custom_hmac' } as const;
  const refused = (options: IntegrationOptions, changed: IntegrationOptions) =>
    read(() => String(Integration.update('t', { options: changed })({ ...connected, options }).length));
  assert.match(refused({}, { algorithm: 'ed25519' })!, /^\/options\/algorithm cannot change/);
  assert.match(refused({ algorithm: 'ed25519' }, {})!, /^\/options\/algorithm cannot change/);
  assert.is(refused({}, { algorithm: 'sha512' }), '1');
  assert.is(refused({ algorithm: 'ed25519', header: 'X-A' }, { algorithm: 'ed25519', header: 'X-B' }), '1');
});

test.run();
