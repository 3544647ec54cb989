import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { signedCurl } from '../../api/console/parts/signed-curl.ts';
import { inspectBody, mediaOf } from '../../domain/bodies/body-inspection.ts';
import type { IntegrationOptions } from '../../domain/integrations/conventions/integration-options.ts';
import type { SignedRequest } from '../../domain/integrations/conventions/signature-scheme.ts';
import { PROVIDERS, type Provider } from '../../domain/integrations/provider.ts';
import { identityOf, isTimely, presetOf } from '../../domain/integrations/provider-preset.ts';
import { verifySignature } from '../../domain/integrations/signature.ts';
import { createProviderPayloads } from '../fixtures/provider-payloads.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';

const PROVIDER_PAYLOADS = createProviderPayloads();

const ORIGIN = 'https://annals.test';
const HOOK = 'ci00000000000000000000000';

type Owner = { readonly provider: Provider; readonly options: IntegrationOptions; readonly delivery_id_source: string | null };
type Sample = { readonly body: string; readonly event: string | null; readonly headers?: Readonly<Record<string, string>> };

const commandFor = ({ provider, options, delivery_id_source }: Owner, { event, headers = {} }: Sample): string | null =>
  signedCurl(
    {
      ...{ id: 'cd00000000000000000000000', provider, event, outcome: 'accepted', integration_id: HOOK, payload_missing: null },
      content_type: headers['content-type'] ?? 'application/json',
    },
    { options, delivery_id_source },
    { origin: ORIGIN, tenant_id: 'ct00000000000000000000000' },
  )?.command ?? null;

/**
 * Runs the commands in a shell whose curl sends nothing. Returns the request that they would send.
 * @throws Error if a command fails
 */
const requestOf = (command: string, body: string, secret: string): SignedRequest & { readonly body: Buffer } => {
  const folder = mkdtempSync(join(tmpdir(), 'annals-curl-'));
  try {
    writeFileSync(join(folder, 'body'), body);
    const script = `set -e; curl() { printf '%s\\0' "$@" > sent; }; ${command}`;
    execFileSync('sh', ['-c', script], { cwd: folder, env: { ...process.env, SECRET: secret, ANNALS_KEY: 'key' } });
    const [url, ...sent] = readFileSync(join(folder, 'sent'), 'utf8').split('\0');
    const headers = new Map(
      sent.flatMap((text, index) => {
        const [, name, value] = (sent[index - 1] === '-H' && /^([^:]+): ([\s\S]*)$/.exec(text)) || [];
        return name === undefined ? [] : [[name.toLowerCase(), value!] as const];
      }),
    );
    return { url: () => url!, header: (name) => headers.get(name), body: readFileSync(join(folder, 'body')) };
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Checks that the platform accepts what the commands send, and returns the identity of the delivery. */
const identityOfSent = (owner: Owner, sample: Sample, secret: string) => {
  const preset = presetOf(owner);
  const command = commandFor(owner, sample)!;
  assert.not.ok(command.includes(secret));
  const request = requestOf(command, sample.body, secret);
  const keys = { current: preset.scheme.key(secret), previous: null };
  assert.equal(
    verifySignature(preset.scheme, request, keys),
    { ok: true, matched: 'current', reason: null },
    `${owner.provider}: ${command}`,
  );
  const { forms, pointers } = preset;
  const inspected = inspectBody({ media: mediaOf(request.header('content-type')!)!, forms, pointers }, request.body);
  const now = new Date().toISOString();
  assert.ok(isTimely(preset, request, now, inspected), owner.provider);
  return identityOf(preset, request, inspected);
};

const ONLY_SENDER_SIGNS: readonly Provider[] = ['discord'];

for (const provider of PROVIDERS.filter((one) => !ONLY_SENDER_SIGNS.includes(one)))
  test(`${provider}: the curl commands sign a delivery so that the platform accepts it, with its event and, if it is in a header, a new id`, () => {
    const owner = { provider, options: {}, delivery_id_source: null };
    for (const payload of PROVIDER_PAYLOADS[provider]) {
      // A stored delivery is old: where the body has the time of signing, the commands must replace it.
      const body = payload.body.replace(/"webhookTimestamp":\d+/, '"webhookTimestamp":1700000000000');
      const { delivery, event } = identityOfSent(owner, { ...payload, body }, SIGNERS[provider].secret);
      assert.is(event ?? null, payload.event);
      if (presetOf(owner).delivery.headers.length > 0) assert.match(delivery ?? '', /^[0-9a-f]{32}$/);
    }
  });

test('the curl commands follow the options of custom_hmac, with any characters in them', () => {
  const options: IntegrationOptions = {
    algorithm: 'sha512',
    header: 'X-Build-Signature',
    prefix: "v'$1`=",
    encoding: 'base64',
    signed_message: "it's $HOME {timestamp}.{body}\t%s",
    timestamp_header: 'X-Time',
    event_source: 'X-Event',
  };
  const owner = { provider: 'custom_hmac', options, delivery_id_source: 'X-Id' } as const;
  const found = identityOfSent(owner, { body: '{"a":"\\u0000"}\n', event: "pu'sh" }, `a $ecret of "24" bytes'`);
  assert.is(found.event, "pu'sh");
  assert.match(found.delivery!, /^[0-9a-f]{32}$/);
});

test('there are no curl commands if only the sender can sign, or if nothing is signed', () => {
  const sample = { body: '{}', event: null };
  for (const provider of ['discord', 'skill', 'cron', 'mail'] as Provider[])
    assert.is(commandFor({ provider, options: {}, delivery_id_source: null }, sample), null, provider);
  for (const provider of ['custom_hmac', 'standard_webhooks'] as const)
    assert.is(commandFor({ provider, options: { algorithm: 'ed25519' }, delivery_id_source: null }, sample), null, provider);
});

test.run();
