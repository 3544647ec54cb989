import { readFileSync } from 'node:fs';
import * as assert from 'uvu/assert';
import { openLog } from '../../infra/eventstore/client.ts';
import { rowsIn, silentLogger, startWorker, waitUntil } from '../fixtures/live-projections.ts';
import { flipBits, segmentsOf } from '../fixtures/store-files.ts';
import { startStore } from '../fixtures/store-process.ts';
import { appendEvents, ideas, recordedEvents } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

test('a projection stops before a corrupted event, reports the error in its status, and continues once the event is repaired', async () => {
  const store = await startStore();
  const filling = openLog(store.url);
  await appendEvents(
    filling,
    recordedEvents([
      ['a', 'IdeaNoted', { title: 'first' }],
      ['b', 'IdeaNoted', { title: 'broken' }],
      ['c', 'IdeaNoted', { title: 'third' }],
    ]),
  );
  await filling.close();
  assert.is(await store.end(), 0);
  const [segment] = segmentsOf(store.dir);
  const at = readFileSync(segment!).indexOf('"broken"') + 1;
  flipBits(segment!, at);
  const again = await startStore({ dir: store.dir, port: store.port });
  const reports: string[] = [];
  const log = openLog(again.url, { onDamage: (message) => void reports.push(message) });
  afterTest(log.close);
  const databaseUrl = await freshDatabase();
  const worker = await startWorker({ log, databaseUrl, projections: [ideas], logger: silentLogger });
  await waitUntil('the error in the status', worker.status, ([status]) => /damaged at position/.test(status!.last_error ?? ''));
  const titles = async () => (await rowsIn(databaseUrl, 'ideas', 'ideas')).map(({ title }) => title).sort();
  await waitUntil('the rows of the events before', titles, (found) => found.length === 1);
  const reportsBefore = reports.length;
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  assert.ok(reports.length - reportsBefore < 20, `${reports.length - reportsBefore} more attempts in two seconds`);
  assert.equal(await titles(), ['first'], 'no event is skipped');
  flipBits(segment!, at);
  await waitUntil('the rows of the other events', titles, (found) => found.length === 3, 20);
  await worker.close();
});

test.run();
