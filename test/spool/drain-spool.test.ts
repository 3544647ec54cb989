import { randomBytes, randomUUID } from 'node:crypto';
import pino from 'pino';
import { equal, is, ok } from 'uvu/assert';
import { createCircuitBreaker } from '../../infra/spool/circuit-breaker.ts';
import { type DrainResult, startSpoolDrain } from '../../infra/spool/drain-spool.ts';
import { openSpool } from '../../infra/spool/open-spool.ts';
import { entryOf, type SpooledDelivery } from '../../infra/spool/spooled-delivery.ts';
import { eventually } from '../fixtures/child-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const logger = pino({ level: 'silent' });
/**
 * The number of deliveries that the test adds to the spool at the same time. It must be below the maximum number of
 * deliveries that may wait for a write to the disk.
 */
const AT_ONCE = 1_000;
const key = { kid: 'kid', key: randomBytes(32) };

const delivery = (number: number, integration: string): SpooledDelivery =>
  ({
    integration: { id: integration, tenant_id: 'tenant' },
    id: `${integration}-${number}`,
    eventId: randomUUID(),
    type: 'WebhookAccepted',
    facts: { received_at: '2026-11-23T00:00:00.000Z' },
    body: new Uint8Array([number % 256]),
    ip: '192.0.2.7',
    user_agent: null,
  }) as unknown as SpooledDelivery;

/** Fills a spool with deliveries of these integrations in turn, and then drains it with `record`. */
const drained = async (integrations: readonly string[], count: number, record: (one: SpooledDelivery) => DrainResult) => {
  const spool = openSpool({ dir: createTempDirectory().dir, key, logger });
  afterTest(spool.close);
  await spool.opened;
  const all = Array.from({ length: count }, (_, number) => delivery(number, integrations[number % integrations.length]!));
  for (let at = 0; at < count; at += AT_ONCE)
    equal([...new Set(await Promise.all(all.slice(at, at + AT_ONCE).map((one) => spool.put(entryOf(one)))))], ['stored']);
  const breaker = createCircuitBreaker();
  const recorded: SpooledDelivery[] = [];
  const results: string[] = [];
  const drain = startSpoolDrain({
    spool,
    breaker,
    logger,
    onDrained: (result) => results.push(result),
    record: async (one) => {
      const result = record(one);
      if (result === 'recorded') recorded.push(one);
      return result;
    },
  });
  afterTest(drain.close);
  return { spool, breaker, all, recorded, results };
};

const ofIntegration = (deliveries: readonly SpooledDelivery[], id: string): string[] =>
  deliveries.filter(({ integration }) => integration.id === id).map(({ eventId }) => eventId);

test('deliveries in the spool are recorded with their event ids, in order for each integration', async () => {
  const { spool, all, recorded, results } = await drained(['a', 'b', 'c'], 1_200, () => 'recorded');
  await eventually('the spool is empty', () => spool.status().rows === 0);
  for (const id of ['a', 'b', 'c']) equal(ofIntegration(recorded, id), ofIntegration(all, id));
  is(results.length, 1_200);
  ok(!['a', 'b', 'c'].some(spool.hasWaiting));
});

test('while no delivery can be recorded, the circuit breaker opens and all deliveries stay in the spool; later they are recorded in order', async () => {
  let isDown = true;
  const { spool, breaker, all, recorded } = await drained(['a', 'b'], 40, () => (isDown ? 'unavailable' : 'recorded'));
  await eventually('the breaker is open', breaker.isOpen);
  equal([spool.status().rows, spool.hasWaiting('a'), recorded.length], [40, true, 0]);
  isDown = false;
  await eventually('the spool is empty', () => spool.status().rows === 0);
  for (const id of ['a', 'b']) equal(ofIntegration(recorded, id), ofIntegration(all, id));
  is(breaker.isOpen(), false);
});

test('while the deliveries of one integration cannot be recorded, those of others are recorded without delay; later, all of them are recorded', async () => {
  let isStuck = true;
  const { spool, breaker, all, recorded } = await drained(['stuck', 'stuck', 'stuck', 'b'], 4_000, ({ integration }) =>
    isStuck && integration.id === 'stuck' ? 'unavailable' : 'recorded',
  );
  await eventually('the others are recorded', () => !spool.hasWaiting('b'));
  equal(ofIntegration(recorded, 'b'), ofIntegration(all, 'b'));
  await eventually('their rows are removed', () => spool.status().rows === 3_000);
  is(breaker.isOpen(), false);
  isStuck = false;
  await eventually('the spool is empty', () => spool.status().rows === 0);
  equal(ofIntegration(recorded, 'stuck'), ofIntegration(all, 'stuck'));
});

test('deliveries whose data key cannot be decrypted neither open the circuit breaker nor delay others; once the key works again, they are recorded', async () => {
  let isUnreadable = true;
  let attempts = 0;
  const { spool, breaker, all, recorded } = await drained(['a', 'b', 'c', 'd', 'ok'], 100, ({ integration }) => {
    if (!isUnreadable || integration.id === 'ok') return 'recorded';
    attempts++;
    return 'key_unreadable';
  });
  await eventually('the others are recorded, and the rest was tried again', () => !spool.hasWaiting('ok') && attempts > 20);
  equal([breaker.isOpen(), ofIntegration(recorded, 'ok')], [false, ofIntegration(all, 'ok')]);
  isUnreadable = false;
  await eventually('the spool is empty', () => spool.status().rows === 0);
  for (const id of ['a', 'b', 'c', 'd']) equal(ofIntegration(recorded, id), ofIntegration(all, id));
});

test('a delivery that the event store refuses permanently is parked; deliveries of an erased tenant are removed from the spool', async () => {
  const { spool, recorded, results } = await drained(['a'], 5, ({ id }) => {
    if (id === 'a-1') return { refused: 'too large' };
    return id === 'a-2' ? 'erased' : 'recorded';
  });
  await eventually('nothing waits', () => spool.status().rows === 0);
  equal([recorded.map(({ id }) => id), spool.status().parked], [['a-0', 'a-3', 'a-4'], 1]);
  equal(results.sort(), ['erased', 'parked', 'recorded', 'recorded', 'recorded']);
});

test.run();
