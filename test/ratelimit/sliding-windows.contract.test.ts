import pg from 'pg';
import * as assert from 'uvu/assert';
import type { RateLimit } from '../../domain/guardrails/sliding-window.ts';
import { createSystemTables } from '../../infra/projector/schema.ts';
import { createSlidingWindows, type WindowTable } from '../../infra/ratelimit/sliding-windows.ts';
import { openWindowTable } from '../../infra/ratelimit/window-table.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const limitOf = (key: string, max: number): RateLimit => ({ key, max, windowMs: 60_000 });

/** Creates the tables of counts for the sliding windows of `count` API processes that share one database. */
const openProcesses = async (count: number) => {
  const databaseUrl = await freshDatabase();
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await createSystemTables(client);
  await client.end();
  const tables = Array.from({ length: count }, () => openWindowTable(databaseUrl, silentLogger));
  afterTest(() => Promise.all(tables.map((table) => table.close())));
  return tables;
};

test('two processes that count at the same time together accept exactly as many deliveries as the limit allows', async () => {
  const processes = (await openProcesses(2)).map((table) => createSlidingWindows(table));
  const limit = limitOf('k', 30);
  const taken = await Promise.all(Array.from({ length: 100 }, (_, n) => processes[n % 2]!.take('t', [limit], 1_000 + n)));
  assert.is(taken.filter((reached) => reached === null).length, 30);
  assert.is(await processes[0]!.take('t', [limit], 60_999), 0);
  assert.is(await processes[1]!.take('t', [limit], 61_100), null);
});

test('if one of several limits refuses a delivery, the delivery counts against none of them', async () => {
  const [one, other] = (await openProcesses(2)).map((table) => createSlidingWindows(table));
  const [minute, hour] = [limitOf('minute', 2), { key: 'hour', max: 1, windowMs: 3_600_000 }];
  assert.is(await one!.take('t', [minute, hour], 0), null);
  for (let n = 1; n < 5; n++) assert.is(await other!.take('t', [minute, hour], n), 1);
  assert.is(await other!.take('t', [minute], 5), null);
  assert.is(await one!.take('t', [minute], 6), 0);
});

test('a sliding window without recent deliveries has the count 0, even after its row was deleted', async () => {
  const [table] = await openProcesses(1);
  const windows = createSlidingWindows(table);
  const limit = limitOf('k', 1);
  assert.is(await windows.take('t', [limit], 0), null);
  assert.is(await windows.take('t', [limit], 60_000), null);
  const again = createSlidingWindows(table);
  assert.is(await again.take('t', [limit], 60_001), 0);
});

test('while the table of counts is unreachable, a process counts alone; afterwards it uses the shared counts again', async () => {
  const [table] = await openProcesses(1);
  const state = { isDown: false };
  const failing: WindowTable = {
    read: (limits, now) => (state.isDown ? Promise.reject(new Error('down')) : table!.read(limits, now)),
    store: (updates) => (state.isDown ? Promise.reject(new Error('down')) : table!.store(updates)),
  };
  const [one, other] = [createSlidingWindows(failing), createSlidingWindows(table)];
  const limit = limitOf('k', 2);
  assert.is(await one.take('t', [limit], 0), null);
  state.isDown = true;
  assert.is(await one.take('t', [limit], 1), null);
  assert.is(await one.take('t', [limit], 2), 0, 'its own two deliveries');
  assert.is(await other.take('t', [limit], 3), null, 'the other process knows of one only');
});

test('while the counts of one tenant wait for the database, deliveries of another tenant are counted', async () => {
  const [table] = await openProcesses(1);
  const held = Promise.withResolvers<void>();
  const windows = createSlidingWindows({
    read: async (limits, now) => {
      if (limits[0]!.key.startsWith('slow ')) await held.promise;
      return table!.read(limits, now);
    },
    store: table!.store,
  });
  const slow = Promise.all([1, 2].map((now) => windows.take('slow', [limitOf('k', 1)], now)));
  assert.equal([await windows.take('fast', [limitOf('k', 1)], 3), await windows.take('fast', [limitOf('k', 1)], 4)], [null, 0]);
  held.resolve();
  assert.equal(await slow, [null, 0], 'the deliveries of one tenant are counted in their order');
});

test('a process without a table of counts counts only the deliveries that it receives itself', async () => {
  const windows = createSlidingWindows();
  assert.equal(
    [0, 1, 2].map((now) => windows.take('t', [limitOf('k', 2)], now)),
    [null, null, 0],
  );
});

test.run();
