import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import { PROVIDERS, type Provider } from '../../domain/integrations/provider.ts';
import { createProviderPayloads, type ProviderPayload } from '../fixtures/provider-payloads.ts';
import { assertAnswer, providerRequests } from '../fixtures/provider-requests.ts';
import { SIGNERS, sha256Of } from '../fixtures/provider-signatures.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

const PROVIDER_PAYLOADS = createProviderPayloads();

const given = await createWebhookPlatform();

const { connectedTo, send, isAccepted } = providerRequests(given);
const lastAccepted = () => given.accepted().at(-1)!;

for (const provider of PROVIDERS) {
  test(`${provider}: each documented payload is recorded once, with its id and event, and gets the documented answer`, async () => {
    const hook = await connectedTo(provider);
    for (const payload of PROVIDER_PAYLOADS[provider]) {
      const first = await send(provider, hook, payload);
      assertAnswer(first, provider, payload, 'accepted');
      const event = lastAccepted();
      const { provider_delivery_id, event: name } = factsOf(event);
      assert.equal([provider_delivery_id, name], [payload.id === 'digest' ? sha256Of(payload.body) : payload.id, payload.event]);
      const { data } = await given.vault.openEvent(event);
      assert.is(Buffer.from(data as Uint8Array).toString(), payload.body);
      assertAnswer(await send(provider, hook, payload), provider, payload, 'duplicate');
      assert.is(lastAccepted(), event);
    }
  });

  test(`${provider}: a request with a wrong secret, a changed body or no signature gets 401 and is not accepted`, async () => {
    const hook = await connectedTo(provider);
    const [payload] = PROVIDER_PAYLOADS[provider] as readonly [ProviderPayload];
    const before = given.accepted().length;
    const url = `https://annals.test/hooks/inbound/${hook}`;
    const signed = Object.keys(SIGNERS[provider].headersOf({ body: payload.body, url, id: payload.id, seconds: 0 }));
    const signatureHeader = signed.find((name) => /signature|token|hmac/.test(name) && !/timestamp/.test(name))!;
    assert.is((await send(provider, hook, payload, { headers: { [signatureHeader]: '' } })).status, 401);
    assert.is((await send(provider, hook, payload, { headers: { [signatureHeader]: `x${SIGNERS[provider].secret}` } })).status, 401);
    if (provider !== 'gitlab_token') assert.is((await send(provider, hook, payload, { body: `${payload.body} ` })).status, 401);
    assert.is(given.accepted().length, before);
  });
}

test('a request whose signed time is too far in the past or in the future gets 401', async () => {
  for (const provider of ['slack', 'zoom', 'stripe', 'discord', 'standard_webhooks', 'gitlab'] as const) {
    const hook = await connectedTo(provider);
    const [payload] = PROVIDER_PAYLOADS[provider] as readonly [ProviderPayload];
    for (const secondsAgo of [302, -302]) {
      const { status } = await send(provider, hook, payload, { secondsAgo });
      assert.is(status, 401, `${provider} ${secondsAgo}`);
    }
    assert.ok(await isAccepted(provider, hook, payload, { secondsAgo: 298 }), provider);
  }
});

test('a URL check of Slack, Zoom or Discord gets the documented response if it is signed, and is not recorded', async () => {
  const before = given.accepted().length;
  const challenge = '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P';
  const slack = await connectedTo('slack');
  const verification = { body: JSON.stringify({ token: 'a', challenge, type: 'url_verification' }), id: '', event: null };
  assert.equal((await send('slack', slack, verification)).json, { challenge });
  assert.is((await send('slack', slack, verification, { headers: { 'x-slack-signature': `v0=${'0'.repeat(64)}` } })).status, 401);

  const zoom = await connectedTo('zoom');
  const plainToken = 'qgg8vlvZRS6UYooatFL8Aw';
  const validation = {
    body: JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken }, event_ts: 1 }),
    id: '',
    event: null,
  };
  const encryptedToken = createHmac('sha256', SIGNERS.zoom.secret).update(plainToken).digest('hex');
  assert.equal((await send('zoom', zoom, validation)).json, { plainToken, encryptedToken });

  const discord = await connectedTo('discord');
  const ping = { body: JSON.stringify({ application_id: '1', id: '2', token: 'a', type: 1, version: 1 }), id: '', event: null };
  assert.equal((await send('discord', discord, ping)).json, { type: 1 });
  const eventPing = { body: JSON.stringify({ version: 1, application_id: '1', type: 0 }), id: '', event: null };
  assert.is((await send('discord', discord, eventPing)).status, 204);
  assert.is((await send('discord', discord, ping, { headers: { 'x-signature-ed25519': '0'.repeat(128) } })).status, 401);
  assert.is(given.accepted().length, before);
});

test('gitlab_token: deliveries that share an event id, as before GitLab 17.4, are told apart by their bodies', async () => {
  const hook = await connectedTo('gitlab_token');
  const sent = async (headers: Readonly<Record<string, string>>, ref: string): Promise<unknown> => {
    const body = JSON.stringify({ object_kind: 'tag_push', ref: `refs/tags/${ref}` });
    const payload = { headers: { 'x-gitlab-event': 'Tag Push Hook', ...headers }, body, id: '', event: 'Tag Push Hook' };
    return (await send('gitlab_token', hook, payload)).json.outcome;
  };
  const shared = { 'x-gitlab-event-uuid': '13792a34-cac6-4fda-95a8-c58e00a3954e' };
  assert.equal([await sent(shared, 'v1'), await sent(shared, 'v2'), await sent(shared, 'v1')], ['accepted', 'accepted', 'duplicate']);
  const withKey = { ...shared, 'idempotency-key': 'f5e57fe4-7a1c-4f4b-a3a1-3d7b7a3f2b11' };
  assert.equal([await sent(withKey, 'v3'), await sent(withKey, 'v3')], ['accepted', 'duplicate']);
});

test('a blocked delivery gets the answer of its provider, too', async () => {
  for (const provider of PROVIDERS) {
    const hook = await connectedTo(provider, { event_filter: ['nothing'] });
    for (const payload of PROVIDER_PAYLOADS[provider]) assertAnswer(await send(provider, hook, payload), provider, payload, 'blocked');
  }
});

test('twilio: a conversation with a type of event, and JSON, get 204 without a body', async () => {
  const hook = await connectedTo('twilio');
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'i-twilio-idempotency-token': 'c-1' };
  const answer = await send('twilio', hook, { headers, body: 'EventType=onMessageAdded&Body=Hi', id: 'c-1', event: 'onMessageAdded' });
  assert.equal([answer.status, answer.text, answer.headers.get('content-type')], [204, '', null]);
});

test('twilio: a request with a JSON body is verified by the digest of the body in the URL', async () => {
  const hook = await connectedTo('twilio');
  const body = '{"property": "value", "boolean": true}';
  const path = `/hooks/inbound/${hook}?foo=1&bodySHA256=${sha256Of(body)}`;
  const signature = createHmac('sha1', SIGNERS.twilio.secret).update(`https://annals.test${path}`).digest('base64');
  const headers = { 'content-type': 'application/json', 'x-twilio-signature': signature };
  assert.is((await given.request(path, { method: 'POST', headers, body })).status, 204);
  assert.is((await given.request(path, { method: 'POST', headers, body: body.replace('true', 'false') })).status, 401);
});

test('a signed delivery that is declared as JSON but is not valid JSON is recorded as blocked, even if the provider sends the delivery id in the body', async () => {
  const hook = await connectedTo('stripe');
  const { status, json } = await send('stripe', hook, { body: '{"id":', id: '', event: null });
  assert.equal([status, json.outcome], [202, 'blocked']);
});

test('two deliveries with different ids are both accepted, even if their ids are numbers that are too large to be exact in JSON', async () => {
  const hook = await connectedTo('custom_hmac', { delivery_id_source: '/id' });
  for (const body of ['{"id":12345678901234567890}', '{"id":12345678901234567891}'])
    assert.is((await send('custom_hmac', hook, { body, id: '', event: null })).status, 202);
});

test('custom_hmac: the options of the integration define how header, prefix, encoding, algorithm, timestamp, delivery id and event are read from a request', async () => {
  const options = {
    header: 'X-Acme-Sign',
    prefix: 'hmac ',
    encoding: 'base64',
    algorithm: 'sha512',
    signed_message: '{timestamp}\n{body}',
    timestamp_header: 'X-Acme-Time',
    tolerance_seconds: 10,
    event_source: '/meta/kind',
  };
  const hook = await connectedTo('custom_hmac', { options, delivery_id_source: 'X-Acme-Id' });
  const deliver = (secondsAgo: number, id: string) => {
    const body = '{"meta":{"kind":"build.done"}}';
    const time = String(Math.floor(Date.now() / 1000) - secondsAgo);
    const signature = createHmac('sha512', SIGNERS.custom_hmac.secret).update(`${time}\n${body}`).digest('base64');
    const headers = {
      'content-type': 'application/vnd.acme+json',
      'x-acme-sign': `hmac ${signature}`,
      'x-acme-time': time,
      'x-acme-id': id,
    };
    return given.request(`/hooks/inbound/${hook}`, { method: 'POST', headers, body });
  };
  assert.is((await deliver(0, 'n-1')).status, 202);
  const { provider_delivery_id, event } = factsOf(lastAccepted());
  assert.equal([provider_delivery_id, event], ['n-1', 'build.done']);
  assert.is((await deliver(12, 'n-2')).status, 401);
  assert.is((await deliver(0, '')).status, 400);
});

test('creating an integration is refused if an option, the secret or the source of the delivery id is invalid, and the error points to the invalid field', async () => {
  const wrong: readonly (readonly [string, object])[] = [
    ['/options/header', { provider: 'github', options: { header: 'X' } }],
    ['/options/algorithm', { provider: 'standard_webhooks', options: { algorithm: 'sha1' } }],
    ['/options/signed_message', { provider: 'custom_hmac', options: { signed_message: 'no body' } }],
    ['/options/signed_message', { provider: 'custom_hmac', options: { signed_message: '{body}{body}' } }],
    ['/options/signed_message', { provider: 'custom_hmac', options: { signed_message: '{timestamp}{body}' } }],
    ['/options/signed_message', { provider: 'custom_hmac', options: { timestamp_header: 'X-Time' } }],
    ['/options/tolerance_seconds', { provider: 'custom_hmac', options: { tolerance_seconds: 10 } }],
    ['/options/header', { provider: 'custom_hmac', options: { header: 'not a header' } }],
    ['/secret', { provider: 'custom_hmac', options: { algorithm: 'ed25519' }, secret: 'f'.repeat(63) }],
    ['/secret', { provider: 'discord', secret: 'not a key' }],
    ['/secret', { provider: 'standard_webhooks', secret: 'whsec_short' }],
    ['/secret', { provider: 'standard_webhooks', options: { algorithm: 'ed25519' } }],
    ['/secret', { provider: 'slack', secret: undefined }],
    ['/secret', { provider: 'github', secret: 'too short' }],
    ['/delivery_id_source', { provider: 'github', delivery_id_source: '/id' }],
    ['/delivery_id_source', { provider: 'custom_hmac', delivery_id_source: 'not a header' }],
  ];
  for (const [pointer, fields] of wrong) {
    const { status, json } = await given.connect(fields as Record<string, unknown>);
    assert.is(status, 422, JSON.stringify(fields));
    assert.is((json.errors as { pointer: string }[])[0]!.pointer, pointer, JSON.stringify(fields));
  }
});

test('a secret that was pasted with a line end works, for a new integration and after a rotation', async () => {
  for (const provider of ['stripe', 'slack', 'github', 'standard_webhooks', 'discord'] as const) {
    const { secret } = SIGNERS[provider];
    const [payload, next] = PROVIDER_PAYLOADS[provider] as readonly [ProviderPayload, ProviderPayload];
    const { json } = await given.connect({ provider, secret: `\ufeff${secret}\r\n` });
    assert.is(json.secret, secret, provider);
    const hook = json.id as string;
    assert.ok(await isAccepted(provider, hook, payload), provider);
    const rotated = await given.call('POST', `webhook-integrations/${hook}/rotate-secret`, {
      secret: ` ${secret}\u200b`,
      overlap_seconds: 0,
    });
    assert.equal([rotated.status, rotated.json.secret], [200, secret]);
    assert.ok(await isAccepted(provider, hook, next), provider);
    const refused = await given.call('POST', `webhook-integrations/${hook}/rotate-secret`, { secret: `${secret}\n${secret}` });
    const [error] = refused.json.errors as readonly { pointer: string; message: string }[];
    assert.equal(
      [refused.status, error],
      [422, { pointer: '/secret', code: 'invalid', message: 'contains a line end (U+000A): copy it again, or type it' }],
    );
  }
});

test('a secret that the platform creates has the format of the provider; replays are marked by default only if the provider does not sign the delivery id', async () => {
  const created = async (provider: Provider) => (await given.connect({ provider, secret: undefined })).json;
  assert.match((await created('standard_webhooks')).secret as string, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.match((await created('bitbucket')).secret as string, /^[A-Za-z0-9]{43}$/);
  assert.is((await created('github')).replay_guard, 'mark');
  assert.is((await created('gitlab')).replay_guard, 'off');
});

test('a signed request whose time is too far from now is recorded with the reason timestamp_out_of_range', async () => {
  await given.close();
  const reasons = given.ofType('WebhookRejected').map(({ data }) => (data as { reason: string }).reason);
  assert.is(reasons.filter((reason) => reason === 'timestamp_out_of_range').length, 13);
});

test.run();
