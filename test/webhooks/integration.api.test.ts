import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fold } from '../../domain/aggregate.ts';
import type { Recorded } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { evaluateGuardrails } from '../../domain/webhooks/guardrail.ts';
import * as Integration from '../../domain/webhooks/integration.ts';
import { isDeliveryId, jsonOf, mediaOf } from '../../domain/webhooks/provider.ts';
import { checkBodyReplay, REPLAY_WINDOW_MS } from '../../domain/webhooks/replay-guard.ts';
import { givenHook, SECRET, sign } from '../fixtures/webhook-platform.ts';

const connection: Integration.IntegrationConnection = {
  tenant_id: 't',
  provider: 'github',
  agent_id: 'a',
  label: 'Code',
  delivery_id_source: null,
  event_filter: [],
  replay_guard: 'mark',
  options: {},
  sealed_secret: 'sealed-1',
  secret_hint: '…1111',
};
const at = '2026-01-01T00:00:00.000Z';
const after = (...events: Integration.IntegrationEvent[]) =>
  fold(Integration, events.map((event) => ({ ...event, id: 'i', at })) as Recorded<Integration.IntegrationEvent>[]);
const connected = { type: 'IntegrationConnected', data: connection } as const;
const refusal = (work: () => unknown): string => {
  try {
    work();
    return 'none';
  } catch (error) {
    return error instanceof Refusal ? error.code : String(error);
  }
};

test('changing nothing is not news', () => {
  assert.equal(Integration.update('t', { label: 'Code', event_filter: [] })(after(connected)), []);
  assert.equal(Integration.update('t', { label: 'Other' })(after(connected)), [{ type: 'IntegrationUpdated', data: { label: 'Other' } }]);
});

test('resuming clears why it was paused', () => {
  const paused = after(connected, { type: 'IntegrationUpdated', data: { is_paused: true, paused_reason: 'moving' } });
  assert.equal(Integration.update('t', { is_paused: false })(paused), [
    { type: 'IntegrationUpdated', data: { is_paused: false, paused_reason: null } },
  ]);
});

test("another tenant's integration is not there, nor is a disconnected one", () => {
  for (const decide of [Integration.update('u', {}), Integration.disconnect('u'), Integration.rotateSecret('u', connection, 0, at)]) {
    assert.is(
      refusal(() => decide(after(connected))),
      'not_found',
    );
  }
  const gone = after(connected, { type: 'IntegrationDisconnected', data: {} });
  assert.is(
    refusal(() => Integration.disconnect('t')(gone)),
    'not_found',
  );
});

test('a rotated secret leaves the one before good until the overlap ends; without overlap at once not', () => {
  const rotated = (overlap: number) =>
    after(connected, ...Integration.rotateSecret('t', { sealed_secret: 'sealed-2', secret_hint: '…2222' }, overlap, at)(after(connected)));
  const kept = rotated(60);
  assert.equal([kept.sealed_secret, kept.sealed_previous_secret], ['sealed-2', 'sealed-1']);
  assert.ok(Integration.acceptsPreviousSecret(kept, '2026-01-01T00:00:59.999Z'));
  assert.not.ok(Integration.acceptsPreviousSecret(kept, '2026-01-01T00:01:00.000Z'));
  assert.equal([rotated(0).sealed_previous_secret, Integration.acceptsPreviousSecret(rotated(0), at)], [null, false]);
});

test('what stands in the way of a delivery is told in one order', () => {
  const facts = {
    integration: { is_paused: false, event_filter: [] as string[] },
    isAgentActive: true,
    event: 'push',
    json: 'json',
  } as const;
  const reason = (more: object) => evaluateGuardrails({ ...facts, ...more } as never).reason;
  assert.is(reason({}), null);
  assert.is(reason({ integration: { is_paused: true, event_filter: ['x'] }, isAgentActive: false, json: 'not_json' }), 'paused');
  assert.is(reason({ isAgentActive: false, json: 'not_json' }), 'agent_inactive');
  assert.is(reason({ integration: { is_paused: false, event_filter: ['x'] }, json: 'not_json' }), 'event_filter');
  assert.is(reason({ integration: { is_paused: false, event_filter: ['push'] } }), null);
  assert.is(reason({ integration: { is_paused: false, event_filter: ['push'] }, event: null }), 'event_filter');
  assert.equal([reason({ json: 'not_json' }), reason({ json: 'too_deep' })], ['not_json', 'too_deep']);
});

test('content types, forms and delivery ids are read strictly', () => {
  assert.equal(
    ['application/json', 'Application/JSON; charset=utf-8', 'application/x-www-form-urlencoded', 'text/json', '', 'application/jsonp'].map(
      mediaOf,
    ),
    ['json', 'json', 'form', null, null, null],
  );
  const form = (text: string) => jsonOf('form', Buffer.from(text));
  assert.equal(['payload={}', 'a=1&payload=%7B%22a%22%3A1%7D', 'payload=%7', 'xpayload={}', 'payload=', '', 'payload=%zz'].map(form), [
    'json',
    'json',
    'not_json',
    'not_json',
    'not_json',
    'not_json',
    'not_json',
  ]);
  assert.equal(['', 'x', 'x'.repeat(255), 'x'.repeat(256), 'a\0', 'a\r\n', 'a\x7f', '\ud800'].map(isDeliveryId), [
    false,
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
});

test('a body is a replay under another id within three days', () => {
  const seen = { provider_delivery_id: '1', at };
  const later = (ms: number) => new Date(Date.parse(at) + ms).toISOString();
  assert.is(checkBodyReplay({ provider_delivery_id: null, at: '' }, '1', at), 'first');
  assert.is(checkBodyReplay(seen, '1', later(1)), 'known');
  assert.is(checkBodyReplay(seen, '2', later(REPLAY_WINDOW_MS)), 'replay');
  assert.is(checkBodyReplay(seen, '2', later(REPLAY_WINDOW_MS + 1)), 'first');
});

test('connecting answers with address and secret once; reading never shows the secret', async () => {
  const given = await givenHook();
  const { status, json, headers } = await given.connect({ label: 'Ours', secret: undefined });
  assert.is(status, 201);
  assert.is(headers.get('location'), `${given.tenant}/webhook-integrations/${json.id}`);
  assert.is(json.url, `https://annals.test/hooks/inbound/${json.id}`);
  assert.match(json.secret as string, /^[0-9A-Za-z]{43}$/);
  assert.is(json.secret_hint, `…${(json.secret as string).slice(-4)}`);
  await given.settled();
  const read = await given.call('GET', `webhook-integrations/${json.id}`);
  const { secret: _, ...shown } = json;
  assert.equal(read.json, shown);
  assert.is(read.headers.get('etag'), '"0"');
  const list = JSON.parse((await given.call('GET', 'webhook-integrations')).text) as { id: string; url: string }[];
  assert.equal(new Set(list.map(({ id }) => id)), new Set([json.id, given.hook]));
  assert.ok(list.every(({ id, url }) => url === `https://annals.test/hooks/inbound/${id}`));
  await given.close();
});

test('repeated under an Idempotency-Key it is one integration, and the secret is not shown again', async () => {
  const given = await givenHook();
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

test('what is wrong with a connection is 422 and names the field', async () => {
  const given = await givenHook();
  const wrong: [string, Record<string, unknown>][] = [
    ['/provider', { provider: 'gitlab' }],
    ['/provider', { provider: 'nobody' }],
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

test('deliveries move last_delivery_at but never the revision', async () => {
  const given = await givenHook();
  const path = `webhook-integrations/${given.hook}`;
  await given.deliver();
  await given.settled();
  const first = await given.call('GET', path);
  assert.is(first.json.last_delivery_at, given.accepted()[0]!.at);
  assert.is(first.json.last_delivery_on_previous_secret_at, null);
  assert.is(first.headers.get('etag'), '"0"');
  await given.call('POST', `${path}/rotate-secret`, {});
  await given.deliver('{}', { 'x-github-delivery': 'd-2' });
  await given.settled();
  const second = await given.call('GET', path);
  assert.is(second.json.last_delivery_on_previous_secret_at, given.accepted()[1]!.at);
  const changed = await given.call('PATCH', path, { label: 'Renamed' }, { 'if-match': '"1"' });
  assert.equal([changed.status, changed.json.label, changed.json.last_delivery_at], [200, 'Renamed', given.accepted()[1]!.at]);
  assert.is((await given.call('PATCH', path, { label: 'Again' }, { 'if-match': '"1"' })).status, 412);
  await given.close();
});

test('after disconnecting nothing is shown of it but its deliveries', async () => {
  const given = await givenHook();
  await given.deliver();
  assert.is((await given.call('DELETE', `webhook-integrations/${given.hook}`)).status, 204);
  await given.settled();
  assert.is((await given.call('GET', `webhook-integrations/${given.hook}`)).status, 404);
  assert.is((await given.call('DELETE', `webhook-integrations/${given.hook}`)).status, 404);
  assert.is((await given.call('GET', 'webhook-integrations')).text, '[]');
  assert.is(JSON.parse((await given.call('GET', `webhook-integrations/${given.hook}/deliveries`)).text).length, 1);
  await given.close();
});

test("secrets stand neither in the log's bytes nor in a line of our own log, a view or an error", async () => {
  const given = await givenHook();
  const canaries = [SECRET, 'canary secret of the second integration', 'canary secret by rotation, and long'];
  await given.connect({ secret: canaries[1] });
  await given.call('POST', `webhook-integrations/${given.hook}/rotate-secret`, { secret: canaries[2] });
  await given.deliver('{}', { 'x-hub-signature-256': sign('{}', canaries[2]) });
  await given.call('POST', 'webhook-integrations', { provider: 'gitlab', agent_id: given.agent, label: 'x', secret: canaries[1] });
  await given.settled();
  const shown = [
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
      assert.not.ok(shown.includes(form), form);
    }
  }
  await given.close();
});

test.run();
