import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Rejection } from '../../domain/deliveries/rejection.ts';
import { omit } from '../../domain/omit.ts';
import { rejectionCounter, rejectionWriter } from '../../infra/refusals/webhook-rejections.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

const rejection = (ip: string | null): Rejection => ({
  delivery_id: 'c000000000000000000000000',
  agent_id: 'c000000000000000000000001',
  reason: 'signature_mismatch',
  ip,
  user_agent: null,
  provider_delivery_id: null,
  event: null,
  size_bytes: 2,
});
const at = (second: number, minute = 0) => new Date(Date.UTC(2026, 0, 1, 12, minute, second)).toISOString();

test("an integration's first 60 rejections in a minute have an event each; the others have one event per IP address", () => {
  const { add, take } = rejectionCounter();
  for (let n = 0; n < 100; n++) add(rejection(n % 2 ? '192.0.2.1' : '192.0.2.2'), at(n % 60));
  assert.is(take(at(59), false).length, 60);
  assert.is(take(at(59), false).length, 0);
  const counted = take(at(0, 1), false).map(({ event }) => event.data);
  assert.equal(
    counted.map((data) => 'count' in data && [data.caller, data.count]),
    [
      ['192.0.2.2', 20],
      ['192.0.2.1', 20],
    ],
  );
});

test('in every new minute, the first 60 rejections are again recorded as one event each', () => {
  const { add, take } = rejectionCounter();
  for (const minute of [0, 1]) for (let n = 0; n < 60; n++) add(rejection('192.0.2.1'), at(0, minute));
  assert.is(take(at(0, 1), false).length, 120);
});

test('during a long outage of the log, the oldest 1,000 rejection events are kept to be recorded later; newer ones are dropped', () => {
  const { add, take, putBack } = rejectionCounter();
  for (let minute = 0; minute < 40; minute++) {
    for (let n = 0; n < 60; n++) add(rejection('192.0.2.1'), at(0, minute));
    putBack(take(at(0, minute), false));
  }
  const pending = take(at(0, 40), false);
  assert.equal([pending.length, pending[0]!.at], [1_000, at(0, 0)]);
});

test('rejections are counted per IP address for the first 100 addresses; the rejections of all other addresses are counted together', () => {
  const { add, take } = rejectionCounter();
  for (let n = 0; n < 10_000; n++) add(rejection(`2001:db8::${n.toString(16)}`), at(1));
  const counted = take(at(1), true).slice(60);
  assert.is(counted.length, 101);
  assert.is(
    counted.reduce((sum, { event }) => sum + ('count' in event.data ? event.data.count : 0), 0),
    9_940,
  );
});

test('rejection events that could not be recorded and were put back into the counter are taken from it again before newer ones', () => {
  const { add, take, putBack } = rejectionCounter();
  add(rejection('192.0.2.1'), at(1));
  const taken = take(at(2), false);
  add(rejection('192.0.2.2'), at(2));
  putBack(taken);
  assert.equal(
    take(at(3), false).map((event) => event.at),
    [at(1), at(2)],
  );
});

test('a rejection counter becomes idle only when the minute of the last rejection is over', () => {
  const { add, take, isIdle } = rejectionCounter();
  add(rejection('192.0.2.1'), at(1));
  take(at(2), false);
  assert.not.ok(isIdle(at(3)));
  assert.ok(isIdle(at(0, 1)));
});

test('forged requests are recorded about a second after the response, without their bodies; a valid delivery can later use the delivery id of a forged one', async () => {
  const given = await createWebhookPlatform();
  const now = Date.now();
  given.clock.now = () => now;
  const forged = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}`, 'x-github-delivery': 'wanted' };
  await Promise.all(Array.from({ length: 100 }, () => given.deliver('{"forged":"canary"}', forged)));
  assert.is(given.ofType('WebhookRejected').length, 0);
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  const recorded = given.ofType('WebhookRejected');
  assert.is(recorded.length, 60);
  assert.is(recorded[0]!.stream, `rejection-${given.tenant_id}.${given.hook}`);
  assert.is((await given.deliver('{}', { 'x-github-delivery': 'wanted' })).status, 202);
  await given.close();
  const [counted] = given.ofType('WebhookRejectionsCounted');
  assert.equal([(counted!.data as { caller: string }).caller, (counted!.data as { count: number }).count], ['192.0.2.7', 40]);
  assert.not.ok(given.log.events.some(({ data, meta }) => /canary/.test(JSON.stringify([data, meta]))));
});

test('rejections that happen during an outage of the log are recorded afterwards', async () => {
  const given = await createWebhookPlatform();
  await given.deliver('{}', { 'x-hub-signature-256': null });
  const endOutage = given.log.outage();
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  endOutage();
  await given.close();
  assert.is(given.ofType('WebhookRejected').length, 1);
});

test('if rejections cannot be recorded, a log line says that they are kept in memory; when the process ends, another one says that they are lost', async () => {
  const given = await createWebhookPlatform();
  const lines: [number, string][] = [];
  const warn = ({ lost }: { lost: number }, message: string) => void lines.push([lost, message]);
  const writer = rejectionWriter({ log: given.log, logger: { warn } as never, now: () => new Date().toISOString() });
  const refused = omit(rejection('192.0.2.9'), 'delivery_id');
  const endOutage = given.log.outage();
  writer.record({ id: given.hook, tenant_id: given.tenant_id } as never, refused, new Date().toISOString());
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  await writer.close();
  endOutage();
  assert.equal(lines, [
    [0, 'refusals could not be recorded; they stay in memory until the next attempt'],
    [1, 'refusals could not be recorded and are lost: the process ends'],
  ]);
  await given.close();
});

test('two processes can record rejections of the same integration at the same time', async () => {
  const given = await createWebhookPlatform();
  const other = rejectionWriter({ log: given.log, logger: { warn: () => {} }, now: () => new Date().toISOString() });
  const integration = { id: given.hook, tenant_id: given.tenant_id };
  await given.deliver('{}', { 'x-hub-signature-256': null });
  const theirs = omit(rejection('192.0.2.9'), 'delivery_id');
  other.record(integration as never, theirs, new Date().toISOString());
  await Promise.all([other.close(), given.close()]);
  assert.is(given.ofType('WebhookRejected').length, 2);
});

test.run();
