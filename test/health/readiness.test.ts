import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LogError } from '../../infra/eventstore/event-log.ts';
import { confirm, createReadiness, type ReadinessOptions } from '../../infra/processes/readiness.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

const answering = (...readings: string[][]) => {
  let reads = 0;
  return { confirmed: confirm(async () => readings[Math.min(reads++, readings.length - 1)]!, 1), reads: () => reads };
};

test('one failure of a part does not degrade the platform', async () => {
  const { confirmed, reads } = answering(['event store'], [], []);
  assert.equal([await confirmed(), reads()], [[], 2]);
});

test('a part that fails twice in a row is reported in the same answer; later, one failure is enough until it works', async () => {
  const { confirmed, reads } = answering(['NATS'], ['NATS'], ['NATS'], []);
  assert.equal([await confirmed(), reads()], [['NATS'], 2]);
  assert.equal([await confirmed(), reads()], [['NATS'], 3]);
  assert.equal([await confirmed(), reads()], [[], 4]);
});

test('while one part is down, another part that fails once is asked again before it is reported', async () => {
  const { confirmed } = answering(['NATS'], ['NATS'], ['NATS', 'spool'], ['NATS', 'file store'], ['NATS']);
  assert.equal(await confirmed(), ['NATS']);
  assert.equal(await confirmed(), ['NATS']);
});

const optionsWith = (log: ReadinessOptions['log']): ReadinessOptions => ({
  log,
  onLogEnd: () => {},
  isFailing: () => false,
  spool: () => ({ canTake: true, rows: 0, bytes: 0, parked: 0, oldestAt: null, largestBytes: 0, refusedShares: 0 }),
  degraded: async () => [],
});

test('an event store that answers late is not down; one that refuses is', async () => {
  const log = memoryLog();
  let failure: Error | undefined;
  const readiness = createReadiness(optionsWith({ ...log, ping: () => (failure ? Promise.reject(failure) : log.ping()) }));
  assert.equal((await readiness()).degraded, []);
  failure = new LogError('unavailable', 'the event store did not answer within 2000 ms');
  assert.equal((await readiness()).degraded, []);
  failure = new LogError('unavailable', 'connect ECONNREFUSED');
  assert.equal((await readiness()).degraded, []);
  await new Promise((resolve) => setTimeout(resolve, 600));
  assert.equal(await readiness(), { ready: true, degraded: ['event store'], platform: null });
});

test.run();
