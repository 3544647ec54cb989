import { pino } from 'pino';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import { releaseHeldDeliveries } from '../../infra/deliveries/release-held.ts';
import { createReleaseServices } from '../../infra/deliveries/release-services.ts';
import { createSlidingWindows } from '../../infra/ratelimit/sliding-windows.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

type Json = Record<string, unknown>;

const windows = createSlidingWindows();
const p = await createTestPlatform({ windows });
const logger = pino({ level: 'silent' });
const { releases, close } = createReleaseServices({ log: p.log, logger, vault: { open: async () => p.vault }, windows });
const parts = { log: p.log, releases, logger, now: () => p.clock.now() };

/** Lets the reactor run at this time, which also becomes the time of the platform. */
const runAt = async (at: string): Promise<void> => {
  p.clock.now = () => Date.parse(at);
  await p.waitForProjections();
  await releaseHeldDeliveries(parts, p.reads);
  await p.waitForProjections();
};

let number = 0;
const created = async (path: string, body: Json): Promise<string> => {
  const answer = await p.send('POST', `${p.tenant}/${path}`, { body });
  assert.is(answer.status, 201, answer.text);
  return (answer.body as Json).id as string;
};
const newAgent = () => created('agents', { name: `Agent ${++number}`, slug: `agent-${number}` });
const update = async (method: string, path: string, body: unknown): Promise<void> => {
  const answer = await p.send(method, `${p.tenant}/${path}`, { body });
  assert.ok(answer.status < 300, answer.text);
};

const RATE = { name: 'busy', kind: 'rate', options: { max: 2, per_seconds: 60 }, action: 'hold' };
const BUSY = { rule: 'busy', note: 'the limit of 2 in 60 s is reached' };
const KEYS = { name: 'keys', kind: 'pattern', options: { pattern: 'AKIA[0-9A-Z]{16}' }, action: 'redact' };

/** Connects an integration that hands on two deliveries per minute, and holds the others. */
const connect = async (agent_id: string, rules: readonly Json[] = [RATE]): Promise<string> => {
  const hook = await created('webhook-integrations', { provider: 'github', agent_id, label: 'Code', secret: SECRET });
  await update('PUT', `webhook-integrations/${hook}/guardrails`, rules);
  return hook;
};

const deliver = async (hook: string, at: string, raw = `{"n":${++number}}`): Promise<string> => {
  p.clock.now = () => Date.parse(at);
  const headers = { 'x-github-delivery': `h-${++number}`, 'x-github-event': 'push', 'x-hub-signature-256': sign(raw) };
  const answer = await p.send('POST', `/hooks/inbound/${hook}`, { raw, key: '', headers });
  assert.equal([answer.status, (answer.body as Json).outcome], [202, 'accepted'], answer.text);
  return String((answer.body as Json).id);
};
const shown = async (id: string): Promise<Json> => {
  await p.waitForProjections();
  return (await p.send('GET', `${p.tenant}/deliveries/${id}`)).body as Json;
};
const statusOf = async (id: string) => (await shown(id)).status;
const statusesOf = (ids: readonly string[]) => Promise.all(ids.map(statusOf));
/** Returns those of the deliveries that were sent to an agent, in the order in which they were. */
const sentOf = (ids: readonly string[]) =>
  p
    .eventsOf('WebhookAccepted', 'DeliveryReleased')
    .map(({ id }) => id)
    .filter((id) => ids.includes(id));

const minute = (n: number, seconds = 0): string => new Date(Date.UTC(2026, 2, 2, 10, n, seconds)).toISOString();

test('deliveries beyond a rate that holds them wait redacted, and continue at this rate, in order, before newer ones', async () => {
  const agent = await newAgent();
  const hook = await connect(agent, [RATE, KEYS]);
  const ids: string[] = [];
  for (let second = 0; second < 5; second++)
    ids.push(await deliver(hook, minute(0, second), `{"n":${second},"key":"AKIA0123456789ABCDEF"}`));
  assert.equal(await statusesOf(ids), ['waiting', 'waiting', 'held', 'held', 'held']);
  const third = await shown(ids[2]!);
  assert.equal(third.held, { reason: 'rate', ...BUSY, until: minute(1, 0), since: minute(0, 2) });
  assert.equal([third.outcome, third.reason, third.payload], ['accepted', null, { n: 2, key: '[redacted:keys]' }]);
  const [event] = p.eventsOf('WebhookHeld');
  assert.equal([factsOf(event!).reason, factsOf(event!).guardrails.at(-1)!.verdict], ['rate', 'hold']);
  await runAt(minute(0, 30));
  assert.equal(sentOf(ids), ids.slice(0, 2));
  ids.push(await deliver(hook, minute(1, 5)));
  assert.is(await statusOf(ids[5]!), 'held');
  await runAt(minute(1, 6));
  assert.equal(sentOf(ids), ids.slice(0, 4));
  await runAt(minute(1, 30));
  assert.equal(sentOf(ids), ids.slice(0, 4));
  await runAt(minute(2, 7));
  assert.equal(sentOf(ids), ids);
  const released = await shown(ids[2]!);
  assert.equal([released.status, released.held, released.redactions], ['waiting', null, 1]);
  const { actor, reason } = released.released as Json;
  assert.equal([actor, reason], [{ kind: 'system', id: 'guardrails' }, null]);
  assert.equal((released.released as Json).from, { outcome: 'held', reason: 'rate', ...BUSY, since: minute(0, 2) });
  await deliver(hook, minute(9));
  const length = p.log.events.length;
  await runAt(minute(9, 30));
  assert.is(p.log.events.length, length);
});

test('a held delivery is passed on once, even by two processes and after a repetition', async () => {
  const hook = await connect(await newAgent());
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push(await deliver(hook, minute(20, n)));
  p.clock.now = () => Date.parse(minute(22));
  await p.waitForProjections();
  await Promise.all([1, 2, 3].map(() => releaseHeldDeliveries(parts, p.reads)));
  await runAt(minute(25));
  assert.equal(sentOf(ids).toSorted(), ids.toSorted());
});

test('what is held for one source delays no other source', async () => {
  const agent = await newAgent();
  const [first, second] = [await connect(agent), await connect(agent)];
  for (let n = 0; n < 4; n++) await deliver(first, minute(30, n));
  assert.is(await statusOf(await deliver(second, minute(30, 10))), 'waiting');
});

test('a person releases a held delivery at once, and it is not redacted again', async () => {
  const hook = await connect(await newAgent());
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.push(await deliver(hook, minute(40, n)));
  const held = ids[2]!;
  const again = await p.send('POST', `${p.tenant}/deliveries/${held}/redeliver`, { body: {} });
  assert.equal([again.status, /continues by itself: to send it now, release it/.test(again.text)], [409, true]);
  const dry = await p.send('POST', `${p.tenant}/deliveries/replay`, { body: { integration_id: hook, dry_run: true } });
  assert.is((dry.body as Json).total, 2);
  const answer = await p.send('POST', `${p.tenant}/deliveries/${held}/release`, { body: { reason: 'It is urgent' } });
  assert.is(answer.status, 202, answer.text);
  assert.equal([await statusOf(held), sentOf(ids)], ['waiting', ids]);
  await runAt(minute(45));
  assert.is(sentOf(ids).length, 3);
});

test('a held delivery waits while its agent is inactive or its integration paused; after seven days it is dead', async () => {
  const agent = await newAgent();
  const hook = await connect(agent);
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push(await deliver(hook, minute(50, n)));
  const [held, other] = [ids[2]!, ids[3]!];
  await update('PATCH', `agents/${agent}`, { is_active: false });
  await runAt(minute(55));
  await update('PATCH', `agents/${agent}`, { is_active: true });
  await update('PATCH', `webhook-integrations/${hook}`, { is_paused: true });
  await runAt(minute(56));
  assert.equal(await statusesOf([held, other]), ['held', 'held']);
  await runAt(new Date(Date.parse(minute(50, 2)) + 7 * 86_400_000).toISOString());
  assert.is(await statusOf(held), 'held');
  await runAt(new Date(Date.parse(minute(50, 2)) + 7 * 86_400_000 + 1).toISOString());
  const dead = await shown(held);
  assert.equal([dead.status, dead.outcome, dead.reason, dead.held], ['dead', 'dead', 'held_too_long', null]);
  const from = { outcome: 'held', reason: 'rate', ...BUSY, since: minute(50, 2) };
  assert.equal(dead.expired, { at: new Date(p.clock.now()).toISOString(), from });
  const again = await p.send('POST', `${p.tenant}/deliveries/${held}/redeliver`, { body: {} });
  assert.equal([again.status, /held too long \(rate\): .* release it/.test(again.text)], [409, true]);
  const period = { from: minute(0), to: new Date(p.clock.now()).toISOString() };
  for (const path of ['deliveries/replay', `webhook-integrations/${hook}/replay`]) {
    const body = path.startsWith('deliveries') ? { integration_id: hook } : {};
    const dry = await p.send('POST', `${p.tenant}/${path}`, { body: { ...body, ...period, dry_run: true } });
    assert.equal([dry.status, (dry.body as Json).total], [202, 2], `${path} ${dry.text}`);
  }
  await update('PATCH', `webhook-integrations/${hook}`, { is_paused: false });
  assert.is((await p.send('POST', `${p.tenant}/deliveries/${held}/release`, { body: { reason: 'Late' } })).status, 202);
  assert.equal(sentOf([held]), [held]);
  assert.equal(((await shown(held)).released as Json).from, from);
});

test('a held delivery that cannot be read stays held, and delays neither other sources nor its own later deliveries', async () => {
  const agent = await newAgent();
  const [first, second] = [await connect(agent), await connect(agent)];
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push(await deliver(n < 4 ? first : second, minute(60, n)));
  for (let n = 5; n < 7; n++) ids.push(await deliver(second, minute(60, n)));
  const stored = p.eventsOf('WebhookHeld').find(({ id }) => id === ids[2])!;
  (stored.data as Uint8Array)[0]! ^= 1;
  await update('PUT', 'guardrails', [KEYS]);
  await runAt(minute(62));
  await update('PUT', 'guardrails', []);
  assert.equal(await statusesOf([ids[2]!, ids[3]!, ids[6]!]), ['held', 'waiting', 'waiting']);
  (stored.data as Uint8Array)[0]! ^= 1;
  await runAt(minute(64));
  assert.is(await statusOf(ids[2]!), 'waiting');
});

test('a held delivery is redacted by the rules that apply when it continues', async () => {
  const hook = await connect(await newAgent());
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) ids.push(await deliver(hook, minute(65, n), `{"n":${n},"key":"AKIA0123456789ABCDEF"}`));
  await update('PUT', `webhook-integrations/${hook}/guardrails`, [RATE, KEYS]);
  const answer = await p.send('POST', `${p.tenant}/deliveries/${ids[3]}/release`, { body: { reason: 'It is urgent' } });
  assert.is(answer.status, 202, answer.text);
  await runAt(minute(67));
  const payloads = await Promise.all([ids[2]!, ids[3]!].map(async (id) => (await shown(id)).payload));
  assert.equal(
    payloads,
    [2, 3].map((n) => ({ n, key: '[redacted:keys]' })),
  );
});

test('if the rule that holds a delivery is removed, the delivery continues', async () => {
  const hook = await connect(await newAgent());
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.push(await deliver(hook, minute(70, n)));
  await update('PUT', `webhook-integrations/${hook}/guardrails`, []);
  await runAt(minute(70, 10));
  assert.equal(sentOf(ids), ids);
});

test('outside the working hours, deliveries from Slack wait until the working hours start if the agent holds them', async () => {
  const agent = await newAgent();
  const { secret, headersOf } = SIGNERS.slack;
  const hook = await created('webhook-integrations', { provider: 'slack', agent_id: agent, label: 'Chat', secret });
  const hours = { working_hours_enabled: true, working_hours_start: '09:00', working_hours_end: '17:00', slack_rpm_limit: 1 };
  await update('PUT', `agents/${agent}/slack-config`, { ...hours, when_closed: 'hold' });
  const send = async (at: string): Promise<string> => {
    p.clock.now = () => Date.parse(at);
    const id = `Ev${++number}`;
    const raw = JSON.stringify({ type: 'event_callback', event_id: id, event: { type: 'message', text: 'hi' } });
    const url = `http://annals.test/hooks/inbound/${hook}`;
    const headers = headersOf({ body: raw, url, id, seconds: Math.floor(Date.parse(at) / 1_000) });
    const answer = await p.send('POST', `/hooks/inbound/${hook}`, { raw, key: '', headers });
    assert.equal([answer.status, (answer.body as Json).outcome], [202, 'accepted'], answer.text);
    return (answer.body as Json).id as string;
  };
  const ids = [await send('2026-03-06T17:30:00.000Z'), await send('2026-03-07T10:00:00.000Z')];
  const opensAt = '2026-03-09T09:00:00.000Z';
  for (const id of ids) {
    const { status, held } = await shown(id);
    assert.equal([status, (held as Json).reason, (held as Json).until], ['held', 'outside_working_hours', opensAt]);
  }
  await runAt('2026-03-09T08:59:59.999Z');
  assert.equal(await statusesOf(ids), ['held', 'held']);
  ids.push(await send(opensAt));
  assert.equal([await statusOf(ids[2]!), ((await shown(ids[2]!)).held as Json).reason], ['held', 'earlier_held']);
  const counts: number[] = [];
  for (const time of ['09:00:01', '09:00:30', '09:01:02', '09:02:03']) {
    await runAt(`2026-03-09T${time}.000Z`);
    counts.push(sentOf(ids).length);
  }
  assert.equal([counts, sentOf(ids)], [[1, 1, 2, 3], ids]);
});

test('only a rate rule can hold deliveries, and a list shows those that it holds', async () => {
  const rule = { ...KEYS, action: 'hold' };
  const answer = await p.send('PUT', `${p.tenant}/guardrails`, { body: [rule] });
  assert.equal([answer.status, ((answer.body as Json).errors as Json[])[0]!.pointer], [422, '/0/action']);
  const hook = await connect(await newAgent());
  const ids: string[] = [];
  for (let n = 0; n < 3; n++) ids.push(await deliver(hook, minute(80, n)));
  await p.waitForProjections();
  const listed = (await p.send('GET', `${p.tenant}/deliveries?status=held&integration_id=${hook}`)).body as Json[];
  assert.equal(
    listed.map(({ id, status }) => [id, status]),
    [[ids[2], 'held']],
  );
  assert.equal(listed[0]!.held, { reason: 'rate', ...BUSY, until: minute(81, 0), since: minute(80, 2) });
});

afterLastTest(async () => {
  await close();
  await p.close();
});

test.run();
