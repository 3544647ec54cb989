// limit: 180 s for this file (test/run.ts)
import { createHmac, generateKeyPairSync, sign as signWithKey } from 'node:crypto';
import { sign as githubSign, verify as githubVerify } from '@octokit/webhooks-methods';
import { verifyKey } from 'discord-interactions';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import twilio from 'twilio';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Provider } from '../../domain/webhooks/provider.ts';
import { presetOf } from '../../domain/webhooks/provider-preset.ts';
import { verifySignature } from '../../domain/webhooks/signature.ts';

/**
 * Compares our verification with the providers' own libraries: for random bodies and secrets, and for requests that
 * differ in one character from the signed ones.
 */
type Signed = { readonly headers: Record<string, string>; readonly body: string; readonly url: string };
type Oracle = {
  readonly provider: Provider;
  readonly secret: fc.Arbitrary<string>;
  readonly body?: fc.Arbitrary<string>;
  readonly sign: (secret: string, body: string, url: string) => Record<string, string> | Promise<Record<string, string>>;
  readonly accepts: (secret: string, request: Signed) => boolean | Promise<boolean>;
};

const RUNS = 10_000;
const seconds = (): string => String(Math.floor(Date.now() / 1000));
const throwsNothing = (work: () => unknown): boolean => {
  try {
    work();
    return true;
  } catch {
    return false;
  }
};

const text = fc.oneof(fc.string({ minLength: 1, maxLength: 60 }), fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }));
const json = fc.json({ maxDepth: 2 });
const asciiSecret = fc.string({ unit: fc.constantFrom(...'abcXYZ0189+/=_-'), minLength: 1, maxLength: 48 });
const whsec = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`);
const form = fc
  .array(fc.tuple(fc.string({ minLength: 1, maxLength: 6 }), fc.string({ maxLength: 8 })), { maxLength: 5 })
  .map((fields) => new URLSearchParams(fields).toString());

const { webhooks: stripeWebhooks } = new Stripe('sk_test_unused');

const discordKeys = generateKeyPairSync('ed25519');
const discordKey = Buffer.from(discordKeys.publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('hex');

const parametersOf = (body: string): Record<string, string | string[]> => {
  const fields = new URLSearchParams(`&${body}`);
  return Object.fromEntries(
    [...new Set(fields.keys())].map((name) => [name, fields.getAll(name).length > 1 ? fields.getAll(name) : fields.get(name)!]),
  );
};

const oracles: readonly Oracle[] = [
  {
    provider: 'github',
    secret: text,
    sign: async (secret, body) => ({ 'x-hub-signature-256': await githubSign(secret, body) }),
    accepts: async (secret, { headers, body }) => {
      const signature = headers['x-hub-signature-256'];
      return signature !== undefined && signature !== '' && body !== '' && (await githubVerify(secret, body, signature));
    },
  },
  {
    provider: 'stripe',
    secret: asciiSecret,
    sign: (secret, payload) => ({ 'stripe-signature': stripeWebhooks.generateTestHeaderString({ payload, secret }) }),
    accepts: (secret, { headers, body }) =>
      throwsNothing(() => stripeWebhooks.signature!.verifyHeader(body, headers['stripe-signature'] ?? '', secret, 0)),
  },
  {
    provider: 'standard_webhooks',
    secret: whsec,
    sign: (secret, body) => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': seconds(),
      'webhook-signature': new Webhook(secret).sign('msg_1', new Date(), body),
    }),
    accepts: (secret, { headers, body }) => throwsNothing(() => new Webhook(secret).verify(body, headers, { jsonParse: false })),
  },
  {
    provider: 'twilio',
    secret: asciiSecret,
    body: form,
    sign: (secret, body, url) => ({ 'x-twilio-signature': twilio.getExpectedTwilioSignature(secret, url, parametersOf(body)) }),
    accepts: (secret, { headers, body, url }) =>
      twilio.validateRequest(secret, headers['x-twilio-signature'] ?? '', url, parametersOf(body)),
  },
  {
    provider: 'discord',
    secret: fc.constant(discordKey),
    sign: (_, body) => {
      const timestamp = seconds();
      const signature = signWithKey(null, Buffer.from(timestamp + body), discordKeys.privateKey);
      return { 'x-signature-timestamp': timestamp, 'x-signature-ed25519': signature.toString('hex') };
    },
    accepts: (secret, { headers, body }) =>
      verifyKey(body, headers['x-signature-ed25519'] ?? '', headers['x-signature-timestamp'] ?? '', secret),
  },
];

const change = (value: string, at: number): string => {
  if (value === '') return 'x';
  const index = at % value.length;
  return value.slice(0, index) + (value[index] === '1' ? '2' : '1') + value.slice(index + 1);
};

/** Changes the body, the URL or one header of a request in one character, or removes a header. */
const damaged = (request: Signed, what: number, at: number): Signed => {
  const names = Object.keys(request.headers);
  const name = names[at % names.length]!;
  if (what === 1) return { ...request, body: change(request.body, at) };
  if (what === 2) return { ...request, headers: { ...request.headers, [name]: change(request.headers[name]!, at) } };
  if (what === 3) return { ...request, headers: Object.fromEntries(Object.entries(request.headers).filter(([each]) => each !== name)) };
  if (what === 4) return { ...request, url: `${request.url}${at % 10}` };
  return request;
};

for (const { provider, secret: secrets, body: bodies = fc.oneof(json, text), sign, accepts } of oracles) {
  test(`${provider}: of ${RUNS} random requests, we accept exactly those that the library of the provider accepts`, async () => {
    const { scheme } = presetOf({ provider, delivery_id_source: null, options: {} });
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(secrets, bodies, fc.integer({ min: 0, max: 5 }), fc.nat(), async (secret, body, what, at) => {
        if (body.includes('\ud800') || !body.isWellFormed() || !secret.isWellFormed()) return;
        const url = `https://annals.test/hooks/inbound/a?n=${at % 7}`;
        const request = damaged({ headers: await sign(secret, body, url), body, url }, what, at);
        const isAccepted = await accepts(secret, request);
        const keys = { current: scheme.key(secret), previous: null };
        const received = { header: (name: string) => request.headers[name], url: () => request.url, body: Buffer.from(request.body) };
        assert.is(verifySignature(scheme, received, keys).ok, isAccepted, JSON.stringify({ what, secret, request }));
        if (isAccepted) accepted++;
      }),
      { numRuns: RUNS },
    );
    assert.ok(accepted > RUNS / 10 && accepted < RUNS * 0.9, `${accepted} of ${RUNS} were accepted`);
  });
}

test('slack and zoom: a signature by the documented formula is valid', () => {
  const headers = {
    slack: ['x-slack-signature', 'x-slack-request-timestamp'],
    zoom: ['x-zm-signature', 'x-zm-request-timestamp'],
  } as const;
  for (const provider of ['slack', 'zoom'] as const) {
    const { scheme } = presetOf({ provider, delivery_id_source: null, options: {} });
    fc.assert(
      fc.property(asciiSecret, text, fc.boolean(), (secret, body, isDamaged) => {
        const timestamp = seconds();
        const digest = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
        const [signatureHeader, timestampHeader] = headers[provider];
        const values: Record<string, string> = { [signatureHeader]: `v0=${digest}`, [timestampHeader]: timestamp };
        const received = { header: (name: string) => values[name], url: () => '', body: Buffer.from(isDamaged ? `${body} ` : body) };
        assert.is(verifySignature(scheme, received, { current: scheme.key(secret), previous: null }).ok, !isDamaged);
      }),
      { numRuns: RUNS },
    );
  }
});

test.run();
