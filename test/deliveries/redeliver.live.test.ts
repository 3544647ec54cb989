// limit: 180 s for this file (test/run.ts)
import type { NatsConnection } from 'nats';
import { pino } from 'pino';
import * as assert from 'uvu/assert';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import { ensureConsumer, ensureInbound, STREAM } from '../../infra/nats/jetstream.ts';
import { startAcknowledgementRecorder } from '../../infra/relay/record-acknowledgements.ts';
import { startPublicationRecorder } from '../../infra/relay/record-publications.ts';
import { startRelay } from '../../infra/relay/relay.ts';
import { waitUntil, withNatsServer } from '../fixtures/nats-server.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

type Platform = Awaited<ReturnType<typeof createWebhookPlatform>>;
type Shown = {
  outcome: string;
  reason: string | null;
  status: string | null;
  published_at: string | null;
  acknowledged_at: string | null;
  attempts: { event_id: string; outcome: string; count: number }[];
  causation: { event_id: string; type: string }[];
};

const logger = pino({ level: 'silent' });

const startReactors = async ({ log, vault: { openEvent } }: Platform, nats: NatsConnection): Promise<void> => {
  const relay = await startRelay({ log, nats, logger, publicUrl: 'https://annals.test', openEvent });
  afterTest(relay.close);
  afterTest(startPublicationRecorder({ log, relay, logger, intervalMs: 100 }).close);
  afterTest(startAcknowledgementRecorder({ log, nats, logger, intervalMs: 1_000 }).close);
};

const show = async ({ call }: Platform, id: string): Promise<Shown> => (await call('GET', `deliveries/${id}`)).json as Shown;

const idsWith = async ({ call, hook }: Platform, status: string): Promise<string[]> => {
  const { text } = await call('GET', `webhook-integrations/${hook}/deliveries?status=${status}`);
  return (JSON.parse(text) as { id: string; status: string }[]).map((one) => {
    assert.is(one.status, status);
    return one.id;
  });
};

test(
  'the status of a delivery goes from waiting to queued and dead and, after the delivery is sent again, to done; the runner gets each message once',
  withNatsServer(async (broker) => {
    const given = await createWebhookPlatform();
    const id = (await given.deliver('{"n":1}')).json.id as string;
    const waiting = await show(given, id);
    assert.equal([waiting.status, waiting.published_at, await idsWith(given, 'waiting')], ['waiting', null, [id]]);

    const nats = await broker.connect();
    await startReactors(given, nats);
    await waitUntil(async () => (await show(given, id)).status === 'queued');
    const queued = await show(given, id);
    assert.match(queued.published_at!, /^20.*Z$/);
    assert.equal([await idsWith(given, 'queued'), await idsWith(given, 'waiting')], [[id], []]);

    await ensureConsumer(nats, given.tenant_id, given.agent);
    const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(given.agent));
    const next = async () => (await consumer.next({ expires: 10_000 }))!;
    (await next()).term();
    await waitUntil(async () => (await show(given, id)).status === 'dead');
    const dead = await show(given, id);
    assert.equal([dead.outcome, dead.reason, await idsWith(given, 'dead')], ['dead', 'terminated', [id]]);

    const answer = await given.call('POST', `deliveries/${id}/redeliver`, {}, { 'idempotency-key': 'once' });
    assert.is(answer.status, 202, answer.text);
    assert.equal((await given.call('POST', `deliveries/${id}/redeliver`, {}, { 'idempotency-key': 'once' })).text, answer.text);
    const message = await next();
    const event = JSON.parse(message.string()) as Record<string, unknown>;
    const [accepted] = given.accepted();
    assert.equal([event.id, event.deliveryid, event.redeliveryof], [answer.json.message_id, id, accepted!.event_id]);
    assert.equal([event.type, event.data, event.agent], ['annals.webhook.accepted', { n: 1 }, given.agent]);
    message.ack();
    assert.is(await consumer.next({ expires: 1_000 }), null);
    await waitUntil(async () => (await show(given, id)).status === 'done');

    const done = await show(given, id);
    assert.equal([done.outcome, done.reason, await idsWith(given, 'done')], ['accepted', null, [id]]);
    assert.ok(done.published_at! > dead.published_at! && done.published_at! <= done.acknowledged_at!);
    const ids = [accepted!.event_id, answer.json.message_id];
    assert.equal(
      done.attempts.map(({ event_id, outcome, count }) => [event_id, outcome, count]),
      [
        [ids[0], 'terminated', 1],
        [ids[1], 'acknowledged', 1],
      ],
    );
    assert.equal(
      done.causation.map(({ event_id, type }) => [event_id, type]),
      [
        [ids[0], 'WebhookAccepted'],
        [ids[1], 'DeliveryRequeued'],
      ],
    );
    await given.close();
  }),
);

test(
  'a runner gets a released delivery redacted, a large one from its URL, and again after a redelivery',
  withNatsServer(async (broker) => {
    const given = await createWebhookPlatform({ event_filter: ['push'] });
    const nats = await broker.connect();
    await startReactors(given, nats);
    await ensureInbound(nats);
    await ensureConsumer(nats, given.tenant_id, given.agent);
    const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(given.agent));
    const next = async () => JSON.parse((await consumer.next({ expires: 20_000 }))!.string()) as Record<string, unknown>;
    const key = (await given.call('POST', `agents/${given.agent}/runner-keys`, { name: 'Runner' })).json.key as string;
    const bodies = [{ key: 'AKIA0123456789ABCDEF' }, { key: 'AKIA0123456789ABCDEF', filler: 'x'.repeat(100_000) }];
    const ids: string[] = [];
    for (const [n, body] of bodies.entries())
      ids.push((await given.deliver(JSON.stringify(body), { 'x-github-event': 'ping', 'x-github-delivery': `r-${n}` })).json.id as string);
    const rule = { name: 'keys', kind: 'pattern', options: { pattern: 'AKIA[0-9A-Z]{16}' }, action: 'redact' };
    assert.is((await given.call('PUT', 'guardrails', [rule])).status, 200);
    for (const id of ids) assert.is((await given.call('POST', `deliveries/${id}/release`, { reason: 'It is needed' })).status, 202);
    const [small, large] = [await next(), await next()];
    assert.equal([small.deliveryid, small.data, small.releasedfrom], [ids[0], { key: '[redacted:keys]' }, 'event_filter']);
    const path = (large.dataref as string).replace('https://annals.test', '');
    const fetched = await given.request(path, { headers: { authorization: `Bearer ${key}` } });
    assert.equal([fetched.status, JSON.parse(fetched.text)], [200, { ...bodies[1], key: '[redacted:keys]' }]);
    await given.call('POST', `deliveries/${ids[0]}/redeliver`, {});
    const again = await next();
    assert.equal([again.data, again.redeliveryof, again.releasedfrom], [small.data, small.id, 'event_filter']);
    await given.close();
  }),
);

test(
  'one event records the publication of many messages; while nothing is published, no event is recorded',
  withNatsServer(async (broker) => {
    const given = await createWebhookPlatform();
    await startReactors(given, await broker.connect());
    for (let n = 0; n < 60; n++) await given.deliver('{}', { 'x-github-delivery': `d-${n}` });
    const published = () => given.ofType('MessagesPublished').length;
    await waitUntil(async () => (await idsWith(given, 'waiting')).length === 0);
    const before = published();
    assert.ok(before > 0 && before < 30, `${before} records`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.is(published(), before);
    await given.close();
  }),
);

test.run();
