import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import { PROVIDERS, type Provider } from '../../domain/integrations/provider.ts';
import { omit } from '../../domain/omit.ts';
import { createProviderPayloads, expectedAnswer, type ProviderPayload } from '../fixtures/provider-payloads.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';
import { type Answer, createWebhookPlatform } from '../fixtures/webhook-platform.ts';

const PROVIDER_PAYLOADS = createProviderPayloads();

const given = await createWebhookPlatform();

const connectedTo = async (provider: Provider, secret: string | undefined = SIGNERS[provider].secret): Promise<string> => {
  const { status, json, text } = await given.connect({ provider, ...(secret === undefined ? {} : { secret }) });
  assert.is(status, 201, `${provider}: ${text}`);
  return json.id as string;
};

const payloadOf = (provider: Provider): ProviderPayload => PROVIDER_PAYLOADS[provider][0]!;
const now = (): number => Math.floor(Date.now() / 1000);

type Headers = Record<string, string>;

/**
 * Returns the request headers with the provider's signature of this body. `time` is the time that is signed, exactly in
 * this form.
 */
const signatureOf = (provider: Provider, hook: string, body: string, time: string): Headers => {
  const { headers = {}, id } = payloadOf(provider);
  const url = `https://annals.test/hooks/inbound/${hook}`;
  return SIGNERS[provider].headersOf({ body, url, id: headers['webhook-id'] ?? id, seconds: time as unknown as number });
};

const post = (provider: Provider, hook: string, body: string | Uint8Array, signature: Headers): Promise<Answer> => {
  const headers = { 'content-type': 'application/json', ...payloadOf(provider).headers, ...signature };
  return given.request(`/hooks/inbound/${hook}`, { method: 'POST', headers, body: body as never });
};

/** Returns the name of the header that contains the signature. */
const signatureHeader = (signature: Headers): string =>
  Object.keys(signature).find((name) => /signature|token|hmac/.test(name) && !/timestamp/.test(name))!;

const DIGEST = /[0-9a-f]{40,}/g;
const isHex = (value: string): boolean => value.match(DIGEST) !== null;

/** Returns malformed variants of a valid signature header, by their descriptions. */
const malformed = (provider: Provider, value: string): Readonly<Record<string, string>> => ({
  empty: '',
  'only spaces': '  ',
  // Stripe's and PagerDuty's header is a list of signatures, of which one must be valid. Doubling it does not make it
  // malformed.
  ...(provider === 'stripe' || provider === 'pagerduty' ? {} : { doubled: `${value}${value}` }),
  'with another prefix': value.includes('=') && isHex(value) ? value.replace(/(?:sha\d+|v\d)=/g, 'v9=') : `sha256=${value}`,
  'without its last character': value.slice(0, -1),
  'with one character more': `${value}0`,
  'with a letter that is no digit': isHex(value) ? value.replace(DIGEST, (digest) => `g${digest.slice(1)}`) : `!${value.slice(1)}`,
  'with a superscript digit': `${value.slice(0, -1)}\u00b2`,
  // The provider custom_hmac accepts hexadecimal digits in capital letters.
  ...(isHex(value) && provider !== 'custom_hmac' ? { 'in capital letters': value.replace(DIGEST, (digest) => digest.toUpperCase()) } : {}),
});

for (const provider of PROVIDERS) {
  const accepted = (): number => given.accepted().length;

  test(`${provider}: a request with a missing or malformed signature gets 401`, async () => {
    const hook = await connectedTo(provider);
    const { body } = payloadOf(provider);
    const signature = signatureOf(provider, hook, body, String(now()));
    const name = signatureHeader(signature);
    const { [name]: value, ...rest } = signature;
    const before = accepted();
    assert.is((await post(provider, hook, body, rest)).status, 401, 'missing');
    for (const [form, text] of Object.entries(malformed(provider, value!.replace(/,v0=.*$/, ''))))
      assert.is((await post(provider, hook, body, { ...rest, [name]: text })).status, 401, form);
    assert.is(accepted(), before);
  });

  if (provider !== 'gitlab_token')
    test(`${provider}: a request whose body was changed after signing gets 401, however small the change is`, async () => {
      const hook = await connectedTo(provider);
      const body = payloadOf(provider).body;
      const changed = [
        `${body} `,
        `\ufeff${body}`,
        `${body}\r\n`,
        body.replace(/.$/s, ''),
        body.startsWith('{') ? JSON.stringify(JSON.parse(body), null, 1) : `${body}&x=1`,
      ];
      const signature = signatureOf(provider, hook, body, String(now()));
      for (const other of changed)
        assert.is((await post(provider, hook, other, signature)).status, 401, JSON.stringify(other).slice(0, 80));
      const unclear = body.startsWith('{') ? body.replace('{', '{"\ufffd":1,') : `${body}\ufffd`;
      const bytes = Buffer.from(unclear).toString('latin1').replace('\u00ef\u00bf\u00bd', '\u00ff');
      const signed = signatureOf(provider, hook, unclear, String(now()));
      if (body.startsWith('{')) assert.is((await post(provider, hook, Buffer.from(bytes, 'latin1'), signed)).status, 401, 'invalid UTF-8');
    });

  const usesTime = JSON.stringify(signatureOf(provider, 'h', 'x', '1')) !== JSON.stringify(signatureOf(provider, 'h', 'x', '2'));
  if (usesTime && provider !== 'discord')
    test(`${provider}: a request gets 401 if its signed time is not a whole number of seconds, or differs from now by more than 300 s`, async () => {
      const hook = await connectedTo(provider);
      const { body } = payloadOf(provider);
      const seconds = now();
      const times = [
        '',
        '-1',
        `${seconds}.5`,
        `0x${seconds.toString(16)}`,
        `${seconds}x`,
        ` ${seconds}1`,
        String(2 ** 62),
        String(seconds * 1000),
        String(seconds - 302),
        String(seconds + 302),
      ];
      const before = accepted();
      for (const time of times) assert.is((await post(provider, hook, body, signatureOf(provider, hook, body, time))).status, 401, time);
      assert.is(accepted(), before);
      for (const time of [seconds - 295, seconds + 295])
        assert.ok(
          [202, 200].includes((await post(provider, hook, body, signatureOf(provider, hook, body, String(time)))).status),
          String(time),
        );
    });

  test(`${provider}: a request signed with the secret of another integration gets 401; creating an integration with an empty secret gets 422`, async () => {
    const own = provider === 'discord' ? 'a'.repeat(64) : undefined;
    const hook = await connectedTo(
      provider,
      own ?? (provider === 'gitlab' || provider === 'standard_webhooks' ? `whsec_${'A'.repeat(32)}` : 'another secret of 24 bytes or more'),
    );
    const { body } = payloadOf(provider);
    assert.is((await post(provider, hook, body, signatureOf(provider, hook, body, String(now())))).status, 401);
    assert.is((await given.connect({ provider, secret: '' })).status, 422);
  });

  test(`${provider}: both secrets are accepted during their overlap, and the facts name the one that matched`, async () => {
    if (provider === 'discord') return;
    const fresh =
      provider === 'gitlab' || provider === 'standard_webhooks' ? `whsec_${'B'.repeat(32)}` : 'the new secret of 24 bytes or more';
    const rotate = (overlap_seconds: number, hook: string) =>
      given.call('POST', `webhook-integrations/${hook}/rotate-secret`, { overlap_seconds, secret: fresh });
    const { body } = payloadOf(provider);
    const overlapping = await connectedTo(provider);
    assert.is((await rotate(604_800, overlapping)).status, 200);
    const answer = await post(provider, overlapping, body, signatureOf(provider, overlapping, body, String(now())));
    assert.is(answer.status, expectedAnswer(provider, payloadOf(provider), true)[0], answer.text);
    assert.is(factsOf(given.accepted().at(-1)!).matched_secret, 'previous');
    const replaced = await connectedTo(provider);
    assert.is((await rotate(0, replaced)).status, 200);
    assert.is((await post(provider, replaced, body, signatureOf(provider, replaced, body, String(now())))).status, 401);
    assert.is((await rotate(604_801, replaced)).status, 422);
    assert.is((await rotate(-1, replaced)).status, 422);
  });

  const idHeader = Object.entries(payloadOf(provider).headers ?? {}).find(([, value]) => value === payloadOf(provider).id)?.[0];
  if (idHeader && provider !== 'twilio')
    test(`${provider}: a request gets 400 if the header with its delivery id is missing, too long or has a control character`, async () => {
      const hook = await connectedTo(provider);
      const { body, headers = {} } = payloadOf(provider);
      const url = `https://annals.test/hooks/inbound/${hook}`;
      const send = (id: string | null): Promise<Answer> => {
        const others = omit(headers, idHeader, 'x-shopify-event-id');
        const signed = SIGNERS[provider].headersOf({ body, url, id: id ?? '', seconds: now() });
        const all = { 'content-type': 'application/json', ...others, ...signed, ...(id === null ? {} : { [idHeader]: id }) };
        if (id === null) delete (all as Headers)[idHeader];
        return given.request(`/hooks/inbound/${hook}`, { method: 'POST', headers: all, body });
      };
      const isSigned = provider === 'gitlab' || provider === 'standard_webhooks';
      assert.ok((isSigned ? [400, 401] : [400]).includes((await send(null)).status), 'missing');
      assert.is((await send('i'.repeat(256))).status, 400, 'too long');
      assert.is((await send('a\tb')).status, 400, 'control character');
    });
}

/**
 * Maps each provider whose header may have several signatures to a function that puts `bad` wrong signatures before the
 * good one.
 */
const LISTS: Readonly<Partial<Record<Provider, (good: string, bad: number) => string>>> = {
  stripe: (good, bad) => good.replace(/,v1=/, `${`,v1=${'0'.repeat(64)}`.repeat(bad)},v1=`).replace(/,v0=.*$/, ''),
  pagerduty: (good, bad) => `${`v1=${'0'.repeat(64)},`.repeat(bad)}${good.split(',').at(-1)}`,
  standard_webhooks: (good, bad) => `${`v1,${'A'.repeat(43)}= `.repeat(bad)}${good}`,
  gitlab: (good, bad) => `${`v1,${'A'.repeat(43)}= `.repeat(bad)}${good}`,
};

for (const [provider, listOf] of Object.entries(LISTS) as [Provider, (good: string, bad: number) => string][])
  test(`${provider}: a request with ten signatures is accepted if only the last one is valid; a request with eleven signatures gets 401`, async () => {
    const hook = await connectedTo(provider);
    const { body } = payloadOf(provider);
    const signature = signatureOf(provider, hook, body, String(now()));
    const name = signatureHeader(signature);
    const send = (bad: number) => post(provider, hook, body, { ...signature, [name]: listOf(signature[name]!, bad) });
    assert.is((await send(10)).status, 401);
    assert.is((await send(9)).status, 202);
  });

test('the reason for pausing an integration is stored until the integration is resumed; deliveries that arrive in the meantime are recorded as blocked', async () => {
  const hook = await connectedTo('github');
  const path = `webhook-integrations/${hook}`;
  const paused = await given.call('PATCH', path, { is_paused: true, paused_reason: 'release freeze' });
  assert.equal([paused.status, paused.json.is_paused, paused.json.paused_reason], [200, true, 'release freeze']);
  const { body } = payloadOf('github');
  const sent = await post('github', hook, body, signatureOf('github', hook, body, ''));
  assert.equal([sent.status, sent.json.outcome], [202, 'blocked']);
  assert.is(factsOf(given.ofType('WebhookBlocked').at(-1)!).reason, 'paused');
  const resumed = await given.call('PATCH', path, { is_paused: false });
  assert.equal([resumed.json.is_paused, resumed.json.paused_reason], [false, null]);
});

test.run();
