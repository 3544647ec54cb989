import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { equal, is, not, ok } from 'uvu/assert';
import type { NewDelivery } from '../../commands/deliveries/webhook-ports.ts';
import { createDeliveryRecording } from '../../infra/deliveries/record-delivery.ts';
import { openSpool } from '../../infra/spool/open-spool.ts';
import { DataKeyUnreadable } from '../../infra/vault/data-key-cache.ts';
import type { SealedEvents } from '../../infra/vault/sealed-events.ts';
import { eventually } from '../fixtures/child-process.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { createWebhookPlatform, SECRET, sign } from '../fixtures/webhook-platform.ts';

const logger = pino({ level: 'silent' });

type Settings = Partial<Parameters<typeof createWebhookPlatform>[2]> & { readonly replay_guard?: string };

/**
 * Creates a platform with a spool, and with a log whose outages the test can control. The platform has already received
 * one delivery.
 */
const platformWithSpool = async ({ replay_guard, ...spool }: Settings = {}) => {
  const { dir } = createTempDirectory();
  const given = await createWebhookPlatform(replay_guard ? { replay_guard } : {}, undefined, { dir, ...spool });
  afterTest(given.close);
  is((await given.deliver('{"n":0}', { 'x-github-delivery': 'first' })).status, 202);
  const deliver = (id: string, body = `{"id":"${id}"}`) => given.deliver(body, { 'x-github-delivery': id });
  const untilDrained = (): Promise<void> => eventually('the spool is empty', () => given.spool!.status().rows === 0);
  return { ...given, deliver, untilDrained };
};

test('while the event store is down, a new delivery gets 202 with its final id, without a Consistency-Token, and is recorded afterwards', async () => {
  const { log, deliver, untilDrained, accepted } = await platformWithSpool();
  const end = log.outage();
  const { status, json, headers } = await deliver('new');
  equal([status, json.outcome, headers.get('consistency-token')], [202, 'accepted', null]);
  end();
  await untilDrained();
  const event = accepted().at(-1)!;
  equal([accepted().length, event.id, event.meta.facts!.provider_delivery_id], [2, json.id, 'new']);
  equal((await deliver('new')).json, { id: json.id, outcome: 'duplicate' });
});

test('while the event store is down, a redelivery of a delivery in the spool gets 200, and the spool contains it once', async () => {
  const { log, deliver, untilDrained, accepted, spool } = await platformWithSpool();
  const end = log.outage();
  const [first, ...copies] = await Promise.all(Array.from({ length: 5 }, () => deliver('same')));
  equal([first!.status, copies.map(({ status }) => status)], [202, [200, 200, 200, 200]]);
  is((await deliver('same')).status, 200);
  is(spool!.status().rows, 1);
  end();
  await untilDrained();
  is(accepted().length, 2);
});

test('while the event store is down, a redelivery of a delivery that another process has recorded gets 202, and is not recorded again', async () => {
  const given = await platformWithSpool();
  const other = await given.startSecondProcess(given.log);
  afterTest(other.close);
  is((await other.post(given.hook, '{"other":1}', { 'x-github-delivery': 'other' })).status, 202);
  const end = given.log.outage();
  is((await given.deliver('other', '{"differs":true}')).status, 202);
  end();
  await given.untilDrained();
  equal([given.accepted().length, given.drained], [2, ['known']]);
  await eventually('the different body is recorded', () => given.ofType('WebhookRedeliveryDiffered').length === 1);
});

test('while a delivery of an integration is in the spool, later deliveries of that integration wait behind it, even if the event store is reachable again', async () => {
  const { log, deliver, untilDrained, accepted, spool } = await platformWithSpool();
  const end = log.outage();
  for (let n = 0; n < 4; n++) is((await deliver(`waiting-${n}`)).status, 202);
  end();
  is((await deliver('later')).headers.get('consistency-token'), null);
  ok(spool!.status().rows > 0);
  await untilDrained();
  equal(
    accepted().map(({ meta }) => meta.facts!.provider_delivery_id),
    ['first', 'waiting-0', 'waiting-1', 'waiting-2', 'waiting-3', 'later'],
  );
  ok((await deliver('direct')).headers.get('consistency-token'));
});

test('of two spooled deliveries with the same body, an integration that blocks replays later accepts one', async () => {
  const { log, deliver, untilDrained, accepted, ofType } = await platformWithSpool({ replay_guard: 'block' });
  const end = log.outage();
  equal([(await deliver('one', '{"same":1}')).status, (await deliver('two', '{"same":1}')).status], [202, 202]);
  end();
  await untilDrained();
  equal(
    accepted().map(({ meta }) => meta.facts!.provider_delivery_id),
    ['first', 'one'],
  );
  const [blocked] = ofType('WebhookBlocked');
  equal([blocked!.meta.facts!.provider_delivery_id, blocked!.meta.facts!.reason], ['two', 'replay']);
});

test('while the event store is down, a body of several chunks is accepted, and can be read after it is recorded', async () => {
  const { log, deliver, untilDrained, call } = await platformWithSpool();
  const body = JSON.stringify({ text: 'ü'.repeat(1_200_000) });
  const end = log.outage();
  const { status, json } = await deliver('large', body);
  is(status, 202);
  end();
  await untilDrained();
  const read = await call('GET', `deliveries/${json.id}/body`);
  equal([read.status, read.text === body], [200, true]);
});

test('if the spool is full while the event store is down, a delivery gets 503 with a Retry-After of 5 to 60 s; sent again later, the delivery is accepted', async () => {
  const { log, deliver, untilDrained, accepted } = await platformWithSpool({ limits: { rows: 1, bytes: 1e9 } });
  const end = log.outage();
  is((await deliver('one')).status, 202);
  const { status, headers, json } = await deliver('two');
  const delay = Number(headers.get('retry-after'));
  equal([status, json.code, delay >= 5 && delay <= 60], [503, 'unavailable', true]);
  end();
  await untilDrained();
  is((await deliver('two')).status, 202);
  await untilDrained();
  is(accepted().length, 3);
});

test('while the event store is down, a delivery to an integration that this process has not loaded gets 503', async () => {
  const given = await platformWithSpool();
  const other = await given.startSecondProcess(given.log);
  afterTest(other.close);
  const end = given.log.outage();
  is((await other.post(given.hook, '{}', { 'x-github-delivery': 'unseen' })).status, 503);
  end();
});

/**
 * Starts a second process that knows the integration, but has not loaded any rules: its only delivery so far was
 * blocked by the filter of events. The rules of the tenant redact one word and block another.
 */
const processWithoutRules = async (provider: string, secret: string) => {
  const given = await createWebhookPlatform({}, undefined, { dir: createTempDirectory().dir });
  afterTest(given.close);
  const rules = [
    { name: 'words', kind: 'pattern', options: { pattern: 'hidden' }, action: 'redact' },
    { name: 'secrets', kind: 'pattern', options: { pattern: 'forbidden' }, action: 'block' },
  ];
  is((await given.call('PUT', 'guardrails', rules)).status, 200);
  const hook = (await given.connect({ provider, secret, event_filter: ['push', 'repo:push'] })).json.id as string;
  const other = await given.startSecondProcess(given.log);
  afterTest(other.close);
  const deliver = (id: string, body: string, event = 'push') =>
    other.post(hook, body, {
      'x-github-delivery': id,
      'x-github-event': event,
      'x-request-uuid': id,
      'x-event-key': `repo:${event}`,
      'x-hub-signature': sign(body, secret),
      'x-hub-signature-256': sign(body, secret),
    });
  equal((await deliver('noise', '{}', 'noise')).json.outcome, 'blocked');
  return { ...given, other, deliver };
};

test('a delivery whose rules cannot be loaded is stored and evaluated later, if its provider sends it only once', async () => {
  const { log, other, deliver, vault, accepted, ofType } = await processWithoutRules('github', SECRET);
  const end = log.outage();
  for (const word of ['hidden', 'forbidden', 'harmless']) is((await deliver(word, `{"word":"${word}"}`)).status, 202, word);
  end();
  await eventually('the spool is empty', () => other.spool!.status().rows === 0);
  const bodies = await Promise.all(accepted().map(async (event) => String(Buffer.from((await vault.openEvent(event)).data as Uint8Array))));
  equal(bodies, ['{"word":"[redacted:words]"}', '{"word":"harmless"}']);
  const { reason, provider_delivery_id } = ofType('WebhookBlocked').at(-1)!.meta.facts as Record<string, unknown>;
  equal([reason, provider_delivery_id], ['pattern', 'forbidden']);
});

test('a delivery whose rules cannot be loaded gets 503 if its provider sends it again', async () => {
  const { log, deliver, accepted } = await processWithoutRules('bitbucket', SECRET);
  const end = log.outage();
  is((await deliver('first', '{"word":"hidden"}')).status, 503);
  end();
  is((await deliver('first', '{"word":"hidden"}')).status, 202);
  is(accepted().length, 1);
});

/** Creates the recording of deliveries in a log, with its own spool. `record` records a delivery of a tenant. */
const recordingIn = async (log: ReturnType<typeof memoryLog>, sealEvent: SealedEvents['sealEvent'], lines = logger) => {
  const { dir } = createTempDirectory();
  const spool = openSpool({ dir, key: { kid: 'kid', key: randomBytes(32) }, logger });
  await spool.opened;
  const ignore = (): void => {};
  const recording = createDeliveryRecording({
    log,
    vault: { sealEvent },
    spool: { spool, onDrained: ignore },
    isReplay: () => false,
    evaluateLate: async (delivery) => delivery,
    sealChunk: () => Promise.reject(new Error('no body is large')),
    previews: { erasures: () => 0, keep: ignore },
    count: ignore,
    now: () => new Date().toISOString(),
    logger: lines,
  });
  afterTest(async () => {
    await recording.close();
    await spool.close();
  });
  const record = (tenant_id: string, number: number) =>
    recording.record({
      integration: { id: `${tenant_id}-hook${number}`, tenant_id },
      id: `${tenant_id}${number}`,
      type: 'WebhookAccepted',
      facts: { received_at: '2026-11-23T00:00:00.000Z' },
      body: new Uint8Array([number]),
      ip: '192.0.2.7',
      user_agent: null,
    } as unknown as NewDelivery);
  return { spool, recording, record };
};

test('an outage of the event store is logged with its cause, and its end with the number of deliveries that were spooled', async () => {
  const log = memoryLog();
  const lines: Record<string, unknown>[] = [];
  const collecting = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { spool, recording, record } = await recordingIn(log, (_, event) => event, collecting);
  await record('tenant', 0);
  const end = log.outage();
  for (let number = 1; number <= 6; number++) await record('tenant', number);
  end();
  await eventually('the spool is empty', () => spool.status().rows === 0);
  await eventually('the end is logged', () => lines.length >= 2);
  const [down, back] = [lines[0]!, lines.at(-1)!];
  equal([down.level, down.msg], [40, 'recording of deliveries does not work']);
  not.match(String(down.reason), /send it again/);
  equal([back.level, back.msg, typeof back.down_seconds], [30, 'recording of deliveries works again', 'number']);
  ok(Number(back.spooled_deliveries) >= 3);
  ok(recording.spooledShare() > 0.5);
});

test('deliveries of a tenant whose data key cannot be decrypted are written to the spool, and do not open the circuit breaker', async () => {
  const log = memoryLog();
  let isUnreadable = true;
  const sealEvent: SealedEvents['sealEvent'] = ({ tenant }, event) =>
    isUnreadable && tenant === 'unreadable' ? Promise.reject(new DataKeyUnreadable()) : event;
  const { spool, recording, record } = await recordingIn(log, sealEvent);
  for (let number = 0; number < 5; number++) equal(await record('unreadable', number), { token: null, isSpooled: true });
  ok((await record('other', 0)).token, 'the event store is used');
  is(recording.isBreakerOpen(), false);
  isUnreadable = false;
  await eventually('the spool is empty', () => spool.status().rows === 0);
  equal(
    log.events
      .filter(({ tenant }) => tenant === 'unreadable')
      .map(({ id }) => id)
      .sort(),
    Array.from({ length: 5 }, (_, number) => `unreadable${number}`),
  );
});

test.run();
