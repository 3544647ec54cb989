import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

type Platform = Awaited<ReturnType<typeof createWebhookPlatform>>;

const redeliver = ({ call }: Platform, id: string, body: object = {}) => call('POST', `deliveries/${id}/redeliver`, body);

/** Records the end of a message to the agent's runners: it is acknowledged or becomes a dead letter. */
const settle = async ({ log, tenant_id }: Platform, agent: string, of: { delivery: string; message: string }, isDead: boolean) => {
  const at = new Date().toISOString();
  const stream = `acknowledgement-${tenant_id}.${agent}`;
  const settled = { delivery_id: of.delivery, event_id: of.message, at, attempts: 1 };
  const capture = { epoch: 'e', sequence: 1 };
  const event = isDead
    ? { type: 'DeliveryDeadLettered', data: { ...settled, reason: 'max_deliveries', capture } }
    : { type: 'DeliveriesAcknowledged', data: { deliveries: [settled], capture } };
  const meta = { tenant: tenant_id, actor: { kind: 'system', id: 'acknowledgements' } as const, at, v: 1 };
  const last = await log.last(stream);
  await log.append(stream, last?.revision ?? 'none', [{ id: crypto.randomUUID(), ...event, meta }]);
};

test('deliveries that were acknowledged or became dead letters can be sent again; each time, an event with its actor is recorded', async () => {
  const given = await createWebhookPlatform();
  for (const isDead of [false, true]) {
    const id = (await given.deliver('{}', { 'x-github-delivery': `d-${isDead}` })).json.id as string;
    await settle(given, given.agent, { delivery: id, message: given.accepted().at(-1)!.event_id }, isDead);
    const answer = await redeliver(given, id);
    assert.equal([answer.status, answer.json.id, answer.json.agent_id], [202, id, given.agent], answer.text);
    const requeued = given.ofType('DeliveryRequeued').at(-1)!;
    assert.equal([requeued.event_id, requeued.id, requeued.actor.kind], [answer.json.message_id, id, 'user']);
    const { json } = await given.call('GET', `deliveries/${id}`);
    assert.equal([json.status, json.outcome, json.reason, json.acknowledged_at], ['waiting', 'accepted', null, null]);
    assert.is((json.attempts as unknown[]).length, 1);
  }
  await given.close();
});

test("after a delivery is sent again, the outcome of the earlier message does not change the delivery's status while the later message waits", async () => {
  const given = await createWebhookPlatform();
  const id = (await given.deliver()).json.id as string;
  const second = (await redeliver(given, id)).json.message_id as string;
  await settle(given, given.agent, { delivery: id, message: given.accepted()[0]!.event_id }, true);
  const waiting = (await given.call('GET', `deliveries/${id}`)).json;
  assert.equal([waiting.status, waiting.outcome, (waiting.attempts as unknown[]).length], ['waiting', 'accepted', 1]);
  await settle(given, given.agent, { delivery: id, message: second }, false);
  const done = (await given.call('GET', `deliveries/${id}`)).json;
  assert.equal(
    [done.status, (done.attempts as { outcome: string }[]).map(({ outcome }) => outcome)],
    ['done', ['max_deliveries', 'acknowledged']],
  );
  await given.close();
});

test('a delivery shows how often it was sent again on request, when last, and whether its provider repeated it with another body', async () => {
  const given = await createWebhookPlatform();
  const id = (await given.deliver('{"n":1}')).json.id as string;
  const shown = async () => {
    await given.waitForProjections();
    const [listed] = JSON.parse((await given.call('GET', 'deliveries')).text) as { redeliveries: unknown }[];
    const { redeliveries } = (await given.call('GET', `deliveries/${id}`)).json;
    assert.equal(redeliveries, listed!.redeliveries);
    return redeliveries;
  };
  assert.equal(await shown(), { count: 0, last_at: null, differed: false });
  await given.deliver('{"n":1}');
  await redeliver(given, id);
  const { requeued_at } = (await redeliver(given, id)).json;
  assert.equal(await shown(), { count: 2, last_at: requeued_at, differed: false });
  await given.deliver('{"n":2}');
  await given.ports.close();
  assert.equal(await shown(), { count: 2, last_at: requeued_at, differed: true });
  const first = given.ofType('DeliveryRequeued')[0]!;
  const then = await given.call('GET', `deliveries/${id}?as_of=${first.position.commit}:${first.position.prepare}`);
  assert.equal(then.json.redeliveries, { count: 1, last_at: first.at, differed: false });
  await given.close();
});

test('if a delivery is sent again to another agent, the runner of that agent can read the body, and its acknowledgement completes the delivery', async () => {
  const given = await createWebhookPlatform();
  const id = (await given.deliver()).json.id as string;
  const other = (await given.call('POST', 'agents', { name: 'Other', slug: 'other' })).json.id as string;
  const key = (await given.call('POST', `agents/${other}/runner-keys`, { name: 'Runner' })).json.key as string;
  const body = () => given.request(`${given.tenant}/deliveries/${id}/body`, { headers: { authorization: `Bearer ${key}` } });
  assert.is((await body()).status, 404);
  const sent = await redeliver(given, id, { agent_id: other });
  assert.equal([sent.status, sent.json.agent_id], [202, other]);
  assert.is((await body()).status, 200);
  await settle(given, other, { delivery: id, message: sent.json.message_id as string }, false);
  const live = await given.call('GET', `deliveries/${id}`);
  assert.is(live.json.status, 'done');
  const last = given.log.events.at(-1)!.position;
  const then = await given.call('GET', `deliveries/${id}?as_of=${last.commit}:${last.prepare}`);
  assert.equal(then.json, live.json);
  const requeued = given.ofType('DeliveryRequeued')[0]!.position;
  const before = await given.call('GET', `deliveries/${id}?as_of=${requeued.commit}:${requeued.prepare}`);
  assert.equal([before.json.status, before.json.attempts], ['waiting', []]);
  await given.close();
});

test('sending a delivery again is refused if it was blocked, was rejected or does not exist, or if the target agent is missing or inactive', async () => {
  const given = await createWebhookPlatform({ event_filter: ['push'] });
  const id = (await given.deliver()).json.id as string;
  const blocked = (await given.deliver('{}', { 'x-github-event': 'ping', 'x-github-delivery': 'd-2' })).json.id as string;
  await given.deliver('{}', { 'x-hub-signature-256': null, 'x-github-delivery': 'd-3' });
  await given.ports.close();
  await given.waitForProjections();
  const rejected = (given.ofType('WebhookRejected')[0]!.data as { delivery_id: string }).delivery_id;
  const foreign = (await given.deliver('{}', {}, await given.connectInOtherTenant())).json.id as string;
  const missing = `c${'0'.repeat(24)}`;
  const inactive = (await given.call('POST', 'agents', { name: 'Off', slug: 'off' })).json.id as string;
  const deactivated = await given.call('PATCH', `agents/${inactive}`, { is_active: false });
  assert.is(deactivated.status, 200, deactivated.text);
  const refusals: [string, object, number, RegExp][] = [
    [blocked, {}, 409, /blocked \(event_filter\)/],
    [rejected, {}, 409, /rejected \(signature_missing\)/],
    [foreign, {}, 404, /^No such resource/],
    [missing, {}, 404, /^No such resource/],
    [id, { agent_id: missing }, 422, /no such agent/],
    [id, { agent_id: inactive }, 409, /not active/],
  ];
  for (const [delivery, body, status, detail] of refusals) {
    const answer = await redeliver(given, delivery, body);
    assert.is(answer.status, status, answer.text);
    assert.match(answer.text, new RegExp(detail.source.replace('^', '"')));
  }
  assert.equal(given.ofType('DeliveryRequeued'), []);
  await given.close();
});

test.run();
