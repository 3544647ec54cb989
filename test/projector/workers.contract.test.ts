import * as assert from 'uvu/assert';
import { openLog } from '../../infra/eventstore/client.ts';
import { createReads } from '../../infra/readmodel/postgres-read-model.ts';
import type { Source } from '../../projections/read-model.ts';
import { silentLogger, startProjectionPlatform, startWorker, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { startStore } from '../fixtures/store-process.ts';
import { startTcpProxy } from '../fixtures/tcp-proxy.ts';
import { appendEvents, type EventSpec, ideas, ideasOf, ideasTable, recordedEvents } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const from: Source = { projection: 'ideas', table: ideasTable };
const key = (id: string) => ({ tenant_id: 't', id });
const noted = (id: string, more: object = {}): EventSpec => [id, 'IdeaNoted', { title: `title ${id}`, ...more }];

test('only one of several workers writes; after that worker ends, another one takes over, and no event is applied twice', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const start = () => startWorker({ log, databaseUrl, projections: [ideas], logger: silentLogger });
  const workers = await Promise.all([start(), start(), start()]);
  const writers = () => workers.filter((worker) => worker.status()[0]!.writer);
  await waitUntil('a writer', writers, ({ length }) => length === 1);
  const events = recordedEvents([noted('a'), ...Array.from({ length: 300 }, (): EventSpec => ['a', 'IdeaLinked', { to: 'a' }])]);
  const adding = appendEvents(log, events);
  for (let round = 0; round < 2; round++) {
    const [writer] = writers();
    const started = Date.now();
    await writer!.close();
    workers.splice(workers.indexOf(writer!), 1);
    await waitUntil('another writer', writers, ({ length }) => length === 1, 5);
    assert.ok(Date.now() - started < 5_000);
  }
  await adding;
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, []);
  await waitForProjection(reads, log, 'ideas');
  assert.is(writers().length, 1);
  assert.is(await reads.counter(from, key('a'), 'links'), 300);
  await close();
  await Promise.all(workers.map((worker) => worker.close()));
});

test('if the writing worker is cut off from the database, another one takes over', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { url, ...proxy } = await startTcpProxy(databaseUrl);
  const cutOff = await startWorker({ log, databaseUrl: url, projections: [ideas], logger: silentLogger });
  await waitUntil('a writer', cutOff.status, ([one]) => one!.writer);
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, [ideas]);
  proxy.stall();
  await appendEvents(log, recordedEvents([noted('a')]));
  await waitForProjection(reads, log, 'ideas');
  proxy.close();
  proxy.resume();
  proxy.open();
  await appendEvents(log, recordedEvents([noted('a'), ['a', 'IdeaLinked', { to: 'a' }]]).slice(1));
  await waitForProjection(reads, log, 'ideas');
  assert.is(await reads.counter(from, key('a'), 'links'), 1);
  await close();
  await cutOff.close();
  proxy.end();
});

test('if the writing worker is cut off from the log, another one takes over', async () => {
  const { url: eventstoreUrl } = await startStore();
  const databaseUrl = await freshDatabase();
  const { url, ...proxy } = await startTcpProxy(eventstoreUrl);
  const [cutOff, log] = [openLog(url), openLog(eventstoreUrl)];
  afterTest(cutOff.close);
  afterTest(log.close);
  const projections = [ideasOf('cut')];
  const worker = await startWorker({ log: cutOff, databaseUrl, projections, logger: silentLogger });
  await waitUntil('a writer', worker.status, ([one]) => one!.writer);
  const { reads, close } = await startProjectionPlatform(log, databaseUrl, projections);
  const events = recordedEvents([noted('a'), ['a', 'IdeaLinked', { to: 'a' }]], {}, 'cut');
  proxy.stall();
  await appendEvents(log, events.slice(0, 1));
  await waitForProjection(reads, log, 'ideas');
  // The worker releases its locks first, so the other one may write before the status says why.
  await waitUntil(
    'the reason',
    () => worker.status()[0]!.last_error ?? '',
    (reason) => /the log does not answer/.test(reason),
  );
  await close();
  proxy.close();
  proxy.resume();
  proxy.open();
  await appendEvents(log, events.slice(1));
  const after = await createReads(databaseUrl, silentLogger);
  afterTest(after.close);
  await waitForProjection(after, log, 'ideas');
  assert.is(await after.counter(from, key('a'), 'links'), 1);
  proxy.end();
});

test.run();
