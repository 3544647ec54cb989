import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

type Listed = { id: string; outcome: string; reason: string | null; provider_delivery_id: string | null; replay_suspect: boolean };

const listOf = async (given: Awaited<ReturnType<typeof createWebhookPlatform>>, query = ''): Promise<Listed[]> => {
  await given.waitForProjections();
  const answer = await given.call('GET', `webhook-integrations/${given.hook}/deliveries${query}`);
  assert.is(answer.status, 200, answer.text);
  return JSON.parse(answer.text) as Listed[];
};

test('the list of deliveries is ordered newest first, divided into pages, and can be filtered by outcome and time', async () => {
  const given = await createWebhookPlatform({ event_filter: ['push'] });
  let now = Date.parse('2026-01-01T00:00:00Z');
  given.clock.now = () => now;
  for (let n = 1; n <= 5; n++) {
    now += 1_000;
    await given.deliver(`{"n":${n}}`, { 'x-github-delivery': `d-${n}`, 'x-github-event': n === 2 ? 'ping' : 'push' });
  }
  await given.deliver('{"n":6}', { 'x-hub-signature-256': null });
  await given.ports.close();
  assert.equal((await listOf(given)).map(({ outcome }) => outcome).sort(), [
    'accepted',
    'accepted',
    'accepted',
    'accepted',
    'blocked',
    'rejected',
  ]);
  assert.equal(
    (await listOf(given, '?outcome=accepted')).map((one) => one.provider_delivery_id),
    ['d-5', 'd-4', 'd-3', 'd-1'],
  );
  const [blocked] = await listOf(given, '?outcome=blocked');
  assert.equal([blocked!.provider_delivery_id, blocked!.reason], ['d-2', 'event_filter']);
  const [rejected] = await listOf(given, '?outcome=rejected');
  assert.is(rejected!.reason, 'signature_missing');
  const between = async (from: number, to: number) =>
    (await listOf(given, `?outcome=accepted&from=2026-01-01T00:00:0${from}Z&to=2026-01-01T00:00:0${to}Z`)).map(
      (one) => one.provider_delivery_id,
    );
  assert.equal([await between(3, 4), await between(4, 5)], [['d-3'], ['d-4']]);
  const page = await given.call('GET', `webhook-integrations/${given.hook}/deliveries?limit=2&outcome=accepted`);
  const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link')!)![1]!;
  const second = JSON.parse((await given.call('GET', next)).text) as Listed[];
  assert.equal(
    second.map((one) => one.provider_delivery_id),
    ['d-3', 'd-1'],
  );
  for (const wrong of ['?outcome=lost', '?from=yesterday', '?limit=0', '?limit=201', '?sort=label', '?colour=red', '?cursor=x']) {
    assert.is((await given.call('GET', `webhook-integrations/${given.hook}/deliveries${wrong}`)).status, 422, wrong);
  }
  await given.close();
});

test('a read of a delivery shows the payload unchanged, whatever numbers and characters it contains', async () => {
  const given = await createWebhookPlatform();
  const body = '{ "big": 12345678901234567890, "tiny": 1e-400, "nul": "\\u0000", "half": "\\ud800", "a": 1, "a": 2, "__proto__": {} }';
  const { json } = await given.deliver(body);
  await given.waitForProjections();
  const answer = await given.call('GET', `deliveries/${json.id}`);
  assert.is(answer.status, 200);
  assert.ok(answer.text.endsWith(`"payload":${body}}`));
  assert.equal(
    [answer.json.outcome, answer.json.provider, answer.json.matched_secret, answer.json.replay_suspect],
    ['accepted', 'github', 'current', false],
  );
  assert.equal(answer.json.guardrails, [
    { rule: 'json', verdict: 'pass', note: null },
    { rule: 'depth', verdict: 'pass', note: null },
  ]);
  assert.equal([answer.json.published_at, answer.json.attempts, answer.json.session_id], [null, [], null]);
  await given.close();
});

test('the body of a delivery is returned unchanged, with headers that make browsers download it instead of displaying it', async () => {
  const given = await createWebhookPlatform();
  const body = '{"html":"<script>alert(1)</script>"}';
  const { json } = await given.deliver(body);
  const answer = await given.call('GET', `deliveries/${json.id}/body`);
  assert.equal([answer.status, answer.text], [200, body]);
  assert.is(answer.headers.get('content-type'), 'application/json');
  assert.is(answer.headers.get('x-content-type-options'), 'nosniff');
  assert.match(answer.headers.get('content-disposition')!, /^attachment/);
  const etag = answer.headers.get('etag')!;
  for (const [tag, status] of [
    [etag, 304],
    [`"x", W/${etag}`, 304],
    ['*', 304],
    ['"x"', 200],
  ] as const) {
    const again = await given.call('GET', `deliveries/${json.id}/body`, undefined, { 'if-none-match': tag });
    assert.equal([again.status, again.text, again.headers.get('etag')], [status, status === 304 ? '' : body, etag], tag);
  }
  const stranger = await given.request(`${given.tenant}/deliveries/${json.id}/body`, { headers: { 'if-none-match': etag } });
  assert.is(stranger.status, 401);
  assert.is((await given.request(`${given.tenant}/deliveries/${json.id}/body?foo=1`)).status, 401);
  for (const query of ['foo=1', 'as_of=0:0', 'a=1&a=2'])
    assert.is((await given.call('GET', `deliveries/${json.id}/body?${query}`)).status, 422, query);
  await given.close();
});

test('a read of a delivery shows a payload that is not JSON as text; of a rejected delivery, it shows no payload', async () => {
  const given = await createWebhookPlatform();
  const blocked = (await given.deliver('{"a":')).json.id;
  await given.deliver('{}', { 'x-hub-signature-256': null });
  await given.ports.close();
  await given.waitForProjections();
  assert.is((await given.call('GET', `deliveries/${blocked}`)).json.payload, '{"a":');
  const [rejected] = await listOf(given, '?outcome=rejected');
  const answer = await given.call('GET', `deliveries/${rejected!.id}`);
  assert.equal([answer.status, answer.json.payload, answer.json.sha256], [200, null, null]);
  assert.equal(answer.json.caller, { ip: '192.0.2.7', user_agent: 'GitHub-Hookshot/test' });
  assert.is((await given.call('GET', `deliveries/${rejected!.id}/body`)).status, 404);
  await given.close();
});

test('if the integration marks replays, a delivery is marked if its body is that of a delivery with another id in the last three days', async () => {
  for (const replay_guard of ['mark', 'off']) {
    const given = await createWebhookPlatform({ replay_guard });
    let now = Date.parse('2026-01-01T00:00:00Z');
    given.clock.now = () => now;
    const deliver = async (id: string, later: number) => {
      now += later;
      return given.deliver('{"same":true}', { 'x-github-delivery': id });
    };
    await deliver('1', 0);
    await deliver('2', 60_000);
    await deliver('3', 4 * 24 * 3_600_000);
    await given.deliver('{"same":false}', { 'x-github-delivery': '4' });
    const suspects = (await listOf(given)).filter((one) => one.replay_suspect).map((one) => one.provider_delivery_id);
    assert.equal(suspects, replay_guard === 'mark' ? ['2'] : []);
    const listed = (await listOf(given)).find((one) => one.provider_delivery_id === '2')!;
    assert.is((await given.call('GET', `deliveries/${listed.id}`)).json.replay_suspect, replay_guard === 'mark');
    await given.close();
  }
});

test('a read of a delivery shows each attempt, and whether a runner acknowledged the delivery or it became a dead letter', async () => {
  const given = await createWebhookPlatform();
  const ids = [(await given.deliver('1')).json.id, (await given.deliver('2', { 'x-github-delivery': 'd-2' })).json.id] as string[];
  const at = new Date().toISOString();
  const capture = { epoch: 'e', sequence: 2 };
  const settle = (delivery_id: string, attempts: number) => {
    const { event_id } = given.accepted().find(({ id }) => id === delivery_id)!;
    return { delivery_id, event_id, at, attempts, published_at: at };
  };
  const meta = { tenant: given.tenant_id, actor: { kind: 'system', id: 'relay' } as const, at, v: 1 };
  const failures = [settle(ids[0]!, 2), settle(ids[1]!, 2), settle(ids[1]!, 3)];
  await given.log.append(`acknowledgement-${given.tenant_id}.${given.agent}`, 'none', [
    { id: crypto.randomUUID(), type: 'DeliveryAttemptFailed', data: { failures, capture }, meta },
    { id: crypto.randomUUID(), type: 'DeliveriesAcknowledged', data: { deliveries: [settle(ids[0]!, 3)], capture }, meta },
    { id: crypto.randomUUID(), type: 'DeliveryDeadLettered', data: { ...settle(ids[1]!, 3), reason: 'max_deliveries', capture }, meta },
  ]);
  await given.waitForProjections();
  const [first, second] = await Promise.all(ids.map((id) => given.call('GET', `deliveries/${id}`)));
  assert.equal([first!.json.outcome, first!.json.acknowledged_at], ['accepted', at]);
  assert.equal([first!.json.status, first!.json.published_at], ['done', at]);
  const { event_id } = given.accepted()[0]!;
  assert.equal(first!.json.attempts, [
    { event_id, at: null, outcome: 'expired', count: 1, report: null },
    { event_id, at, outcome: 'failed', count: 2, report: null },
    { event_id, at, outcome: 'acknowledged', count: 3, report: null },
  ]);
  assert.equal([second!.json.outcome, second!.json.reason], ['dead', 'max_deliveries']);
  assert.equal([second!.json.status, second!.json.published_at], ['dead', at]);
  assert.equal(
    (second!.json.attempts as { outcome: string; count: number }[]).map(({ outcome, count }) => `${count} ${outcome}`),
    ['1 expired', '2 failed', '3 max_deliveries'],
  );
  await given.close();
});

test('with the API key of a runner, only the bodies of deliveries to its agent can be read, and nothing else about these deliveries', async () => {
  const given = await createWebhookPlatform();
  const { json } = await given.deliver();
  const other = (await given.call('POST', 'agents', { name: 'Other', slug: 'other' })).json.id as string;
  const keyOf = async (agent: string) => (await given.call('POST', `agents/${agent}/runner-keys`, { name: 'Runner' })).json.key as string;
  const statusOf = async (key: string, path: string) =>
    (await given.request(`${given.tenant}/${path}`, { headers: { authorization: `Bearer ${key}` } })).status;
  const [own, foreign] = [await keyOf(given.agent), await keyOf(other)];
  await given.waitForProjections();
  assert.is(await statusOf(own, `deliveries/${json.id}/body`), 200);
  assert.is(await statusOf(own, `deliveries/${json.id}`), 403);
  assert.is(await statusOf(foreign, `deliveries/${json.id}/body`), 404);
  await given.close();
});

test('a request with the id of an unknown delivery, integration or tenant gets the same 404 for each of them', async () => {
  const given = await createWebhookPlatform();
  const { json } = await given.deliver();
  await given.waitForProjections();
  const missing = `c${'z'.repeat(24)}`;
  const paths = [
    `deliveries/${missing}`,
    'deliveries/nothing',
    `deliveries/${missing}/body`,
    `/tenant/${missing}/deliveries/${json.id}`,
    `/tenant/${missing}/deliveries/${json.id}/body`,
    `webhook-integrations/${missing}/deliveries`,
    `/tenant/${missing}/webhook-integrations/${given.hook}/deliveries`,
  ];
  for (const path of paths) {
    const answer = await given.call('GET', path);
    assert.is(answer.status, 404, path);
    assert.is(answer.json.detail, 'No such resource, or you have no access to it', path);
  }
  await given.close();
});

test.run();
