import { pino } from 'pino';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Plan from '../../domain/billing/plan.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { classify } from '../../infra/eventstore/errors.ts';
import type { Follower, Log } from '../../infra/eventstore/event-log.ts';
import { createCorruptionReporter } from '../../infra/logging/logger.ts';
import { waitUntil } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';

const stream = 'plan-platform.p';
let number = 0;
const change = (log: Log, revision: number, name: string) =>
  log.append(stream, revision < 0 ? 'none' : revision, [
    {
      id: `00000000-0000-4000-8000-${String(number++).padStart(12, '0')}`,
      type: 'PlanCreated',
      data: { id: 'p', slug: 'p', name, monthly_usd: 0, price_id: null, limits: {} },
      meta: { tenant: 'platform', actor: { kind: 'system', id: 'test' }, at: '2026-01-01T00:00:00.000Z', v: 1 },
    },
  ]);

/**
 * Creates a log that simulates damage. Each function in `ends` ends one subscription with the error about a damaged
 * log. While `isDamaged` is true, reading the whole log fails.
 */
const damageableLog = () => {
  const log = memoryLog();
  const state = { isDamaged: false, ends: [] as (() => void)[] };
  const follow: Log['follow'] = (follower: Follower) => {
    const subscription = log.follow(follower);
    const failure = new Promise<Error | null>((resolve) => {
      state.ends.push(() => {
        resolve(new Error('the log is damaged at position 7'));
        void subscription.stop();
      });
      void subscription.failure.then(resolve);
    });
    return { ...subscription, failure };
  };
  const readAll: Log['readAll'] = async function* (options) {
    if (state.isDamaged) throw new Error('the log is damaged at position 7');
    yield* log.readAll(options);
  };
  return { log: { ...log, follow, readAll }, state };
};

test('the aggregate cache is empty while its subscription is down; after it has resubscribed, it caches aggregates again', async () => {
  const { log, state } = damageableLog();
  const cache = openAggregateCache(log, [Plan]);
  await change(log, -1, 'One');
  await cache.start();
  const nameNow = async () => (await cache.load(Plan, 'platform', 'p')).state.name;
  assert.is(await nameNow(), 'One');
  state.isDamaged = true;
  state.ends.at(-1)!();
  await waitUntil(
    'the cache is empty',
    () => cache.peek(Plan, 'platform', 'p'),
    (cached) => cached === undefined,
  );
  assert.is(await nameNow(), 'One');
  await change(log, 0, 'Two');
  assert.is(await nameNow(), 'Two', 'a change while the subscription was down is read');
  assert.is(cache.peek(Plan, 'platform', 'p'), undefined);
  state.isDamaged = false;
  await waitUntil(
    'the cache is resubscribed',
    () => nameNow().then(() => cache.peek(Plan, 'platform', 'p')?.state.name),
    (name) => name === 'Two',
  );
  await change(log, 1, 'Three');
  await waitUntil(
    'the cache is updated',
    () => cache.peek(Plan, 'platform', 'p')?.state.name,
    (name) => name === 'Three',
  );
  await cache.close();
});

test("a damaged event is classified as 'damaged', logged once per position, and reported as a degraded event log", () => {
  for (const message of [
    '15 DATA_LOSS: the log is damaged at position 12: run',
    'Could not recognize the log is damaged at position 12: run',
  ])
    assert.is(classify(new Error(message)).kind, 'damaged');
  assert.is(classify(new Error('damaged goods')).kind, 'wrong-request');
  const lines: string[] = [];
  const { report, degradedParts } = createCorruptionReporter(pino({}, { write: (line: string) => void lines.push(line) }));
  assert.equal(degradedParts(), []);
  for (const position of [12, 12, 40]) report(`the log is damaged at position ${position}: run "annals store verify"`);
  assert.equal(degradedParts(), ['event log (damaged at position 12)', 'event log (damaged at position 40)']);
  assert.is(lines.length, 2);
});

test.run();
