import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { createWebhookPlatform, sign } from '../fixtures/webhook-platform.ts';

test('a signed delivery is accepted once and its bytes are stored unchanged', async () => {
  const given = await createWebhookPlatform();
  const body = '{ "n": 12345678901234567890,\n "s": "\\u0000\\ud800" }';
  const answer = await given.deliver(body);
  assert.is(answer.status, 202);
  assert.is(answer.json.outcome, 'accepted');
  assert.match(answer.json.id as string, /^c[a-z0-9]{24}$/);
  assert.match(answer.headers.get('consistency-token')!, /^\d+:\d+$/);
  const [event] = given.accepted();
  assert.is(event!.id, answer.json.id);
  const { data } = await given.vault.openEvent(event!);
  assert.is(Buffer.from(data as Uint8Array).toString(), body);
  const facts = factsOf(event!);
  assert.is(facts.matched_secret, 'current');
  assert.is(facts.event, 'push');
  assert.is(facts.size_bytes, Buffer.byteLength(body));
  assert.is(event!.meta.ip, '192.0.2.7');
  await given.close();
});

test('of 100 parallel requests with the same delivery, one gets 202, 99 get 200, and one event is recorded', async () => {
  const given = await createWebhookPlatform();
  const answers = await Promise.all(Array.from({ length: 100 }, () => given.deliver()));
  assert.is(answers.filter(({ status }) => status === 202).length, 1);
  assert.is(answers.filter(({ status, json }) => status === 200 && json.outcome === 'duplicate').length, 99);
  assert.is(new Set(answers.map(({ json }) => json.id)).size, 1);
  assert.is(given.accepted().length, 1);
  await given.close();
  assert.is(given.ofType('WebhookRedeliveryDiffered').length, 0);
});

test('each redelivery with a different body gets 200 as a duplicate; all of them together append a single event WebhookRedeliveryDiffered', async () => {
  const given = await createWebhookPlatform();
  await given.deliver('{"n":1}');
  const others = await Promise.all(Array.from({ length: 20 }, () => given.deliver('{"n":2}')));
  assert.ok(others.every(({ status }) => status === 200));
  await given.close();
  assert.is(given.accepted().length, 1);
  assert.is(given.ofType('WebhookRedeliveryDiffered').length, 1);
});

test('a request with a missing or malformed signature gets 401, and its body is not stored', async () => {
  const given = await createWebhookPlatform();
  const body = '{"canary":"never to be kept"}';
  const right = sign(body);
  const wrong = [
    '',
    `${right}, ${right}`,
    right.replace('sha256', 'sha1'),
    right.toUpperCase(),
    right.slice(0, -1),
    `${right}0`,
    `sha256=${'z'.repeat(64)}`,
  ];
  for (const header of [null, ...wrong]) {
    const answer = await given.deliver(body, { 'x-hub-signature-256': header });
    assert.is(answer.status, 401, String(header));
    assert.is(answer.headers.get('content-type'), 'application/problem+json');
    assert.not.match(answer.text, /canary|stack|Error/);
  }
  await given.close();
  assert.is(given.accepted().length, 0);
  const rejected = given.ofType('WebhookRejected');
  assert.is(rejected.length, wrong.length + 1);
  assert.equal([...new Set(rejected.map(({ data }) => (data as { reason: string }).reason))], ['signature_missing', 'signature_malformed']);
  assert.not.match(JSON.stringify(rejected.map(({ data, meta }) => [data, meta])), /canary/);
});

test('a request whose event name is too long or was sent twice gets 400, and the record of the rejection does not contain the event name', async () => {
  const given = await createWebhookPlatform();
  for (const name of ['x'.repeat(5_000), 'x'.repeat(256), 'é'.repeat(128), 'push, ping', 'a\tb']) {
    const answer = await given.deliver('{}', { 'x-github-event': name });
    assert.is(answer.status, 400, `${name.slice(0, 20)}: ${answer.text}`);
  }
  for (const [id, name] of Object.entries({ long: 'x'.repeat(255), plain: 'push', none: null }))
    assert.is((await given.deliver(`{"id":"${id}"}`, { 'x-github-event': name, 'x-github-delivery': id })).status, 202, id);
  await given.close();
  const rejected = given.ofType('WebhookRejected').map(({ data }) => data as { reason: string; event: unknown });
  assert.is(rejected.length, 5);
  assert.ok(rejected.every(({ reason, event }) => reason === 'event_malformed' && event === null));
});

test('a delivery whose body differs from the signed one gets 401', async () => {
  const given = await createWebhookPlatform();
  const signature = sign('{"a":1}');
  for (const body of ['{"a": 1}', '{"a":1} ', '\ufeff{"a":1}', '{"a":1}\r\n']) {
    assert.is((await given.deliver(body, { 'x-hub-signature-256': signature })).status, 401);
  }
  assert.is((await given.deliver('{"a":1}', { 'x-hub-signature-256': signature })).status, 202);
  await given.close();
});

test('a delivery whose body differs from the signed one only in an invalid UTF-8 byte gets 401', async () => {
  const given = await createWebhookPlatform();
  const signature = sign(Uint8Array.of(0x22, 0xff, 0x22));
  assert.is((await given.deliver(Uint8Array.of(0x22, 0xfe, 0x22), { 'x-hub-signature-256': signature })).status, 401);
  await given.close();
});

test('a delivery signed with the secret of another integration gets 401; creating an integration with a secret of fewer than 24 bytes is refused', async () => {
  const given = await createWebhookPlatform();
  const other = (await given.connect({ secret: 'another secret of over 24 bytes' })).json.id as string;
  assert.is((await given.deliver('{}', {}, other)).status, 401);
  assert.is((await given.deliver('{}', { 'x-hub-signature-256': sign('{}', 'another secret of over 24 bytes') }, other)).status, 202);
  for (const secret of ['', 'x'.repeat(23)]) assert.is((await given.connect({ secret })).status, 422);
  assert.is((await given.connect({ secret: 'é'.repeat(12) })).status, 201);
  await given.close();
});

test('after a rotation, deliveries signed with the previous secret are accepted until the overlap ends, and not a millisecond longer', async () => {
  const given = await createWebhookPlatform();
  const rotated = await given.call('POST', `webhook-integrations/${given.hook}/rotate-secret`, { overlap_seconds: 60 });
  assert.is(rotated.status, 200);
  const fresh = rotated.json.secret as string;
  assert.ok(Buffer.byteLength(fresh) >= 24);
  const until = Date.parse(rotated.json.previous_secret_valid_until as string);
  assert.is((await given.deliver('{}', { 'x-github-delivery': 'old' })).status, 202);
  assert.is((await given.deliver('{}', { 'x-github-delivery': 'new', 'x-hub-signature-256': sign('{}', fresh) })).status, 202);
  assert.equal(
    given.accepted().map((event) => factsOf(event).matched_secret),
    ['previous', 'current'],
  );
  given.clock.now = () => until;
  assert.is((await given.deliver('{}', { 'x-github-delivery': 'late' })).status, 401);
  await given.close();
});

test('a delivery whose id is missing, repeated, too long or malformed gets 400, even with a valid signature', async () => {
  const given = await createWebhookPlatform();
  for (const id of [null, 'one, two', 'x'.repeat(256), 'tab\tinside', 'é'.repeat(128)]) {
    assert.is((await given.deliver('{}', { 'x-github-delivery': id })).status, 400, String(id));
  }
  assert.is((await given.deliver('{}', { 'x-github-delivery': 'x'.repeat(255) })).status, 202);
  await given.close();
  assert.is(given.accepted().length, 1);
});

test('a delivery with a body above the limit gets 413, with or without a Content-Length, and the response names the limit', async () => {
  const given = await createWebhookPlatform();
  const limit = 25 * 1024 * 1024;
  const most = `"${'x'.repeat(limit - 2)}"`;
  assert.is((await given.deliver(most)).status, 202);
  const declared = await given.deliver(`${most} `, { 'content-length': String(limit + 1) });
  assert.is(declared.status, 413);
  assert.is(declared.json.limit, limit);
  const chunked = new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
  });
  const answer = await given.request(`/hooks/inbound/${given.hook}`, { method: 'POST', body: chunked, duplex: 'half' } as RequestInit);
  assert.is(answer.status, 413);
  assert.is(answer.json.limit, limit);
  await given.close();
});

test('a request to an unknown webhook URL gets 404 and records nothing', async () => {
  const given = await createWebhookPlatform();
  const before = given.log.events.length;
  for (const id of [`c${'0'.repeat(24)}`, 'nothing', given.agent]) assert.is((await given.deliver('{}', {}, id)).status, 404);
  await given.close();
  assert.is(given.log.events.length, before);
});

test('after an integration is disconnected, its next delivery gets 404', async () => {
  const given = await createWebhookPlatform();
  assert.is((await given.call('DELETE', `webhook-integrations/${given.hook}`)).status, 204);
  assert.is((await given.deliver()).status, 404);
  await given.close();
});

test('while a tenant is suspended, even if it is also closing, deliveries to its integrations get 404 and are not recorded', async () => {
  const given = await createWebhookPlatform();
  const ctx = given.systemContext(given.tenant_id);
  const answered = ({ status, json }: Awaited<ReturnType<typeof given.deliver>>) => [status, { ...json, instance: '', request_id: '' }];
  await given.deliver('{}', { 'x-github-delivery': 'before' });
  const unknown = answered(await given.deliver('{}', {}, `c${'0'.repeat(24)}`));
  assert.is(unknown[0], 404);
  const posts: Record<string, string | null>[] = [{}, { 'x-github-delivery': 'before' }, { 'x-hub-signature-256': null }];
  for (const change of [Tenant.suspend('a test'), Tenant.close('a test', new Date(Date.now() + 60_000).toISOString())]) {
    await ctx.transact(Tenant, given.tenant_id, change);
    const before = given.log.events.length;
    for (const headers of posts) assert.equal(answered(await given.deliver('{}', headers)), unknown);
    assert.is(given.log.events.length, before);
  }
  await ctx.transact(Tenant, given.tenant_id, Tenant.resume('a test'));
  assert.is((await given.deliver()).status, 202);
  await given.close();
});

test('requests with a content type other than JSON or form get 415', async () => {
  const given = await createWebhookPlatform();
  for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/json; charset=utf-32', null]) {
    assert.is((await given.deliver(new TextEncoder().encode('{}'), { 'content-type': type })).status, 415, String(type));
  }
  assert.is((await given.deliver('{}', { 'content-type': 'application/json; charset=UTF-8' })).status, 202);
  await given.close();
});

test('the signature of a form is that of the whole form; the payload is the JSON in the field payload of the form', async () => {
  const given = await createWebhookPlatform();
  const form = `payload=${encodeURIComponent('{"a":"b c","é":1}').replaceAll('%20', '+')}`;
  const answer = await given.deliver(form, { 'content-type': 'application/x-www-form-urlencoded' });
  assert.is(answer.json.outcome, 'accepted');
  const detail = await given.waitForProjections().then(() => given.call('GET', `deliveries/${answer.json.id}`));
  assert.equal(detail.json.payload, { a: 'b c', é: 1 });
  const bytes = await given.call('GET', `deliveries/${answer.json.id}/body`);
  assert.is(bytes.text, form);
  assert.is(bytes.headers.get('content-type'), 'application/x-www-form-urlencoded');
  await given.close();
});

test('a delivery whose body is not JSON, or nests too deeply, gets 202 and is recorded as blocked', async () => {
  const given = await createWebhookPlatform();
  const bodies = { not_json: '{"a":', too_deep: '['.repeat(65) + ']'.repeat(65) };
  for (const [reason, body] of Object.entries(bodies)) {
    const answer = await given.deliver(body, { 'x-github-delivery': reason });
    assert.is(answer.status, 202);
    assert.is(answer.json.outcome, 'blocked');
    assert.is((await given.deliver(body, { 'x-github-delivery': reason })).json.outcome, 'duplicate');
  }
  assert.equal(
    given.ofType('WebhookBlocked').map((event) => factsOf(event).reason),
    ['not_json', 'too_deep'],
  );
  await given.close();
});

test('deliveries to a paused integration or an inactive agent, and deliveries of filtered events, are recorded as blocked', async () => {
  const given = await createWebhookPlatform({ event_filter: ['push'] });
  const outcome = async (id: string, event = 'push') =>
    (await given.deliver('{}', { 'x-github-delivery': id, 'x-github-event': event })).json.outcome;
  assert.is(await outcome('1'), 'accepted');
  assert.is(await outcome('2', 'ping'), 'blocked');
  await given.call('PATCH', `webhook-integrations/${given.hook}`, { is_paused: true, paused_reason: 'moving' });
  assert.is(await outcome('3'), 'blocked');
  await given.call('PATCH', `webhook-integrations/${given.hook}`, { is_paused: false });
  await given.call('PATCH', `agents/${given.agent}`, { is_active: false });
  assert.is(await outcome('4'), 'blocked');
  assert.equal(
    given.ofType('WebhookBlocked').map((event) => factsOf(event).reason),
    ['event_filter', 'paused', 'agent_inactive'],
  );
  await given.close();
});

test("GitHub's event ping is accepted like any other delivery", async () => {
  const given = await createWebhookPlatform();
  assert.is((await given.deliver('{"zen":"x"}', { 'x-github-event': 'ping' })).json.outcome, 'accepted');
  await given.close();
});

test('while the log is down, deliveries get 503 with a Retry-After of 5 to 60 seconds; after the log is up again, deliveries are accepted', async () => {
  const given = await createWebhookPlatform();
  await given.deliver('{}', { 'x-github-delivery': 'warm' });
  const endOutage = given.log.outage();
  const answer = await given.deliver('{}', { 'x-github-delivery': 'lost' });
  assert.is(answer.status, 503);
  const wait = Number(answer.headers.get('retry-after'));
  assert.ok(wait >= 5 && wait <= 60);
  endOutage();
  assert.is((await given.deliver('{}', { 'x-github-delivery': 'lost' })).status, 202);
  await given.close();
});

test('if the integration blocks replays, a known body with a new delivery id is blocked, and a known body with the same delivery id gets 200 as a duplicate', async () => {
  const given = await createWebhookPlatform({ replay_guard: 'block' });
  const outcome = async (id: string) => (await given.deliver('{"a":1}', { 'x-github-delivery': id })).json.outcome;
  assert.equal(
    [await outcome('1'), await outcome('2'), await outcome('1'), await outcome('2')],
    ['accepted', 'blocked', 'duplicate', 'duplicate'],
  );
  const now = Date.now();
  given.clock.now = () => now + 3 * 24 * 3_600_000 + 60_000;
  assert.equal([await outcome('3'), await outcome('4')], ['accepted', 'blocked']);
  await given.close();
});

test.run();
