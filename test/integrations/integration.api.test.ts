import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { createWebhookPlatform, SECRET, sign } from '../fixtures/webhook-platform.ts';

test('the secret of a new integration is only in the response to its creation; later reads contain the URL, but never the secret', async () => {
  const given = await createWebhookPlatform();
  const { status, json, headers } = await given.connect({ label: 'Ours', secret: undefined });
  assert.is(status, 201);
  assert.is(headers.get('location'), `${given.tenant}/webhook-integrations/${json.id}`);
  assert.is(json.url, `https://annals.test/hooks/inbound/${json.id}`);
  assert.match(json.secret as string, /^[0-9A-Za-z]{43}$/);
  assert.is(json.secret_hint, `…${(json.secret as string).slice(-4)}`);
  await given.waitForProjections();
  const read = await given.call('GET', `webhook-integrations/${json.id}`);
  const shown = omit(json, 'secret');
  assert.equal(read.json, shown);
  assert.is(read.headers.get('etag'), '"0"');
  const list = JSON.parse((await given.call('GET', 'webhook-integrations')).text) as { id: string; url: string }[];
  assert.equal(new Set(list.map(({ id }) => id)), new Set([json.id, given.hook]));
  assert.ok(list.every(({ id, url }) => url === `https://annals.test/hooks/inbound/${id}`));
  await given.close();
});

test('repeating the creation of an integration with the same Idempotency-Key creates no second integration, and does not return the secret again', async () => {
  const given = await createWebhookPlatform();
  const body = { provider: 'github', agent_id: given.agent, label: 'Once' };
  const post = () => given.call('POST', 'webhook-integrations', body, { 'idempotency-key': 'k' });
  const [first, second] = [await post(), await post()];
  assert.equal([first.status, second.status, second.json.code], [201, 409, 'secret_already_shown']);
  assert.is(second.headers.get('location'), first.headers.get('location'));
  assert.is(given.ofType('IntegrationConnected').length, 2);
  const rotate = () => given.call('POST', `webhook-integrations/${given.hook}/rotate-secret`, {}, { 'idempotency-key': 'r' });
  const [rotated, repeated] = [await rotate(), await rotate()];
  assert.equal([rotated.status, repeated.status, repeated.json.code], [200, 409, 'secret_already_shown']);
  assert.is(repeated.headers.get('location'), `${given.tenant}/webhook-integrations/${given.hook}`);
  assert.is(given.ofType('IntegrationSecretRotated').length, 1);
  await given.close();
});

test('a request to connect an integration with an invalid field gets 422, and the response names the field', async () => {
  const given = await createWebhookPlatform();
  const wrong: [string, Record<string, unknown>][] = [
    ['/provider', { provider: 'unknown' }],
    ['/agent_id', { agent_id: `c${'0'.repeat(24)}` }],
    ['/agent_id', { agent_id: 'x' }],
    ['/label', { label: '' }],
    ['/label', { label: 'x'.repeat(129) }],
    ['/secret', { secret: 'short' }],
    ['/delivery_id_source', { delivery_id_source: 'body:/id' }],
    ['/options/x', { options: { x: 1 } }],
    ['/replay_guard', { replay_guard: 'maybe' }],
    ['/tenant_id', { tenant_id: 'mine' }],
    ['/is_paused', { is_paused: true }],
  ];
  for (const [pointer, more] of wrong) {
    const { status, json } = await given.connect(more);
    assert.is(status, 422, pointer);
    assert.is((json.errors as { pointer: string }[])[0]!.pointer, pointer);
  }
  await given.close();
});

test('a delivery changes the field last_delivery_at of its integration, but not the revision of the integration', async () => {
  const given = await createWebhookPlatform();
  const path = `webhook-integrations/${given.hook}`;
  await given.deliver();
  await given.waitForProjections();
  const first = await given.call('GET', path);
  assert.is(first.json.last_delivery_at, given.accepted()[0]!.at);
  assert.is(first.json.last_delivery_on_previous_secret_at, null);
  assert.is(first.headers.get('etag'), '"0"');
  await given.call('POST', `${path}/rotate-secret`, {});
  await given.deliver('{}', { 'x-github-delivery': 'd-2' });
  await given.waitForProjections();
  const second = await given.call('GET', path);
  assert.is(second.json.last_delivery_on_previous_secret_at, given.accepted()[1]!.at);
  const changed = await given.call('PATCH', path, { label: 'Renamed' }, { 'if-match': '"1"' });
  assert.equal([changed.status, changed.json.label, changed.json.last_delivery_at], [200, 'Renamed', given.accepted()[1]!.at]);
  assert.is((await given.call('PATCH', path, { label: 'Again' }, { 'if-match': '"1"' })).status, 412);
  await given.close();
});

test('a disconnected integration can no longer be read, but its deliveries still can', async () => {
  const given = await createWebhookPlatform();
  await given.deliver();
  assert.is((await given.call('DELETE', `webhook-integrations/${given.hook}`)).status, 204);
  await given.waitForProjections();
  assert.is((await given.call('GET', `webhook-integrations/${given.hook}`)).status, 404);
  assert.is((await given.call('DELETE', `webhook-integrations/${given.hook}`)).status, 404);
  assert.is((await given.call('GET', 'webhook-integrations')).text, '[]');
  assert.is(JSON.parse((await given.call('GET', `webhook-integrations/${given.hook}/deliveries`)).text).length, 1);
  await given.close();
});

test('no event, log line, read model or error response contains the secret of an integration', async () => {
  const given = await createWebhookPlatform();
  const canaries = [SECRET, 'canary secret of the second integration', 'canary secret by rotation, and long'];
  await given.connect({ secret: canaries[1] });
  await given.call('POST', `webhook-integrations/${given.hook}/rotate-secret`, { secret: canaries[2] });
  await given.deliver('{}', { 'x-hub-signature-256': sign('{}', canaries[2]) });
  await given.call('POST', 'webhook-integrations', { provider: 'gitlab', agent_id: given.agent, label: 'x', secret: canaries[1] });
  await given.waitForProjections();
  const output = [
    ...given.log.events.flatMap(({ data, meta }) => [
      data instanceof Uint8Array ? Buffer.from(data).toString() : JSON.stringify(data),
      JSON.stringify(meta),
    ]),
    ...given.lines,
    (await given.call('GET', 'webhook-integrations')).text,
    (await given.call('GET', `webhook-integrations/${given.hook}`)).text,
    (await given.connect({ label: '', secret: canaries[1] })).text,
  ].join('\n');
  for (const canary of canaries) {
    const bytes = Buffer.from(canary);
    for (const form of [canary, bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url'), encodeURIComponent(canary)]) {
      assert.not.ok(output.includes(form), form);
    }
  }
  await given.close();
});

test.run();
