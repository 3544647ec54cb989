import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import { PROVIDERS, type Provider } from '../../domain/integrations/provider.ts';
import { sampleEvents } from '../../domain/integrations/sample-delivery.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Reviewer', slug: 'reviewer' } })).body as Json).id;

const connect = async (provider: Provider, more: Json = {}): Promise<string> => {
  const body = { provider, agent_id: agent, label: 'Code', secret: SIGNERS[provider].secret, ...more };
  const answer = await p.send('POST', `${p.tenant}/webhook-integrations`, { body });
  assert.is(answer.status, 201, answer.text);
  return (answer.body as Json).id as string;
};
const send = (hook: string, body: Json = {}, headers: Record<string, string> = {}) =>
  p.send('POST', `${p.tenant}/webhook-integrations/${hook}/test-delivery`, { body, headers });

for (const provider of PROVIDERS.filter((one) => one !== 'discord'))
  test(`${provider}: each sample delivery is signed, accepted and marked as a sample in its body; sending it twice makes two deliveries`, async () => {
    const hook = await connect(provider, { replay_guard: 'block' });
    const events = sampleEvents(provider);
    for (const event of [undefined, ...events, events[0]]) {
      const answer = await send(hook, event === undefined ? {} : { event });
      assert.is(answer.status, 202, answer.text);
      const shown = answer.body as Json;
      assert.equal([shown.outcome, shown.reason, shown.matched_secret, shown.status], ['accepted', null, 'current', 'waiting']);
      if (event !== undefined) assert.is(shown.event, event);
      const recorded = p.eventsOf('WebhookAccepted').at(-1)!;
      assert.equal([recorded.id, factsOf(recorded).integration_id], [shown.id, hook]);
      const { data } = await p.vault.openEvent(recorded);
      assert.match(Buffer.from(data as Uint8Array).toString(), /annals_test/);
    }
  });

test('a request for a test delivery that names no event sends the ping of the provider, if the provider has one', async () => {
  for (const [provider, event] of [
    ['github', 'ping'],
    ['intercom', 'ping'],
    ['jira', 'jira:issue_created'],
  ] as const)
    assert.is(((await send(await connect(provider))).body as Json).event, event);
});

test('custom_hmac: a sample delivery has its signature, id, event and time in the places that the options of the integration define', async () => {
  const options = {
    header: 'X-Acme-Sign',
    prefix: 'hmac ',
    encoding: 'base64',
    algorithm: 'sha512',
    signed_message: '{timestamp}\n{body}',
    timestamp_header: 'X-Acme-Time',
    event_source: '/meta/kind',
  };
  for (const delivery_id_source of ['X-Acme-Id', '/meta/id', '/__proto__/id']) {
    const { status, body, text } = await send(await connect('custom_hmac', { options, delivery_id_source }));
    assert.is(status, 202, text);
    const { provider_delivery_id, event, outcome } = body as Json;
    assert.equal([event, outcome], ['test', 'accepted']);
    assert.match(provider_delivery_id as string, /^c[a-z0-9]{24}$/);
  }
});

test("a request for a test delivery gets 409 with the reason if the integration's secret is a public key, because then only the provider can sign", async () => {
  const key = SIGNERS.discord.secret;
  const standard = `whpk_${Buffer.from(key, 'hex').toString('base64')}`;
  const hooks = [
    await connect('discord'),
    await connect('standard_webhooks', { secret: standard, options: { algorithm: 'ed25519' } }),
    await connect('custom_hmac', { secret: key, options: { algorithm: 'ed25519' } }),
  ];
  for (const hook of hooks) {
    const { status, body, text } = await send(hook);
    assert.is(status, 409, text);
    assert.match((body as Json).detail as string, /can sign: the secret of this integration is a public key/);
    assert.is(((body as Json).errors as Json[])[0]!.code, 'cannot_sign');
  }
});

test('a sample delivery passes the same checks as other deliveries: it is blocked if the integration is paused or filters out its event', async () => {
  const filtered = await connect('github', { event_filter: ['push'] });
  assert.equal(((await send(filtered)).body as Json).reason, 'event_filter');
  await p.send('PATCH', `${p.tenant}/webhook-integrations/${filtered}`, { body: { is_paused: true } });
  const { outcome, reason } = (await send(filtered)).body as Json;
  assert.equal([outcome, reason], ['blocked', 'paused']);
});

test('after a secret rotation, sample deliveries are signed with the new secret', async () => {
  const hook = await connect('github');
  await p.send('POST', `${p.tenant}/webhook-integrations/${hook}/rotate-secret`, { body: {} });
  assert.is(((await send(hook)).body as Json).matched_secret, 'current');
});

test('repeating a request for a test delivery with the same Idempotency-Key sends a single delivery', async () => {
  const hook = await connect('github');
  const before = p.eventsOf('WebhookAccepted').length;
  const headers = { 'idempotency-key': 'the-same-key' };
  const answers = [await send(hook, {}, headers), await send(hook, {}, headers)];
  assert.equal(answers[0]!.body, answers[1]!.body);
  assert.is(p.eventsOf('WebhookAccepted').length, before + 1);
});

test('a request for a test delivery is refused if its event, a field or the integration is unknown', async () => {
  const hook = await connect('github');
  const unknown = await send(hook, { event: 'no such event' });
  assert.equal([unknown.status, ((unknown.body as Json).errors as Json[])[0]!.pointer], [422, '/event']);
  assert.match(unknown.text, /ping, issues, pull_request/);
  assert.is((await send(hook, { colour: 'red' })).status, 422);
  assert.is((await send(`c${'0'.repeat(24)}`)).status, 404);
  await p.send('DELETE', `${p.tenant}/webhook-integrations/${hook}`);
  assert.is((await send(hook)).status, 404);
});

afterLastTest(() => p.close());

test.run();
