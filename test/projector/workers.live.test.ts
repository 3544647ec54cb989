import * as assert from 'uvu/assert';
import { openLog } from '../../infra/eventstore/client.ts';
import { createReads } from '../../infra/readmodel/postgres-read-model.ts';
import type { Source } from '../../projections/read-model.ts';
import { quiet, settled, until, working, world } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { startStore } from '../fixtures/store-process.ts';
import { road } from '../fixtures/tcp-proxy.ts';
import { append, type Given, happened, ideas, ideasOf, ideasTable } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterwards, test } from '../fixtures/test-with-cleanup.ts';

const from: Source = { projection: 'ideas', table: ideasTable };
const key = (id: string) => ({ tenant_id: 't', id });
const noted = (id: string, more: object = {}): Given => [id, 'IdeaNoted', { title: `title ${id}`, ...more }];

test('of several workers one writes, another takes over, and nothing is applied twice', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const start = () => working({ log, databaseUrl, projections: [ideas], logger: quiet });
  const workers = await Promise.all([start(), start(), start()]);
  const writers = () => workers.filter((worker) => worker.status()[0]!.writer);
  await until('a writer', writers, ({ length }) => length === 1);
  const events = happened([noted('a'), ...Array.from({ length: 300 }, (): Given => ['a', 'IdeaLinked', { to: 'a' }])]);
  const adding = append(log, events);
  for (let round = 0; round < 2; round++) {
    const [writer] = writers();
    const started = Date.now();
    await writer!.close();
    workers.splice(workers.indexOf(writer!), 1);
    await until('another writer', writers, ({ length }) => length === 1, 5);
    assert.ok(Date.now() - started < 5_000);
  }
  await adding;
  const { reads, close } = await world(log, databaseUrl, []);
  await settled(reads, log, 'ideas');
  assert.is(writers().length, 1);
  assert.is(await reads.counter(from, key('a'), 'links'), 300);
  await close();
  await Promise.all(workers.map((worker) => worker.close()));
});

test('a worker from which nothing comes through any more keeps nobody else from writing', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const { url, ...way } = await road(databaseUrl);
  const cutOff = await working({ log, databaseUrl: url, projections: [ideas], logger: quiet });
  await until('a writer', cutOff.status, ([one]) => one!.writer);
  const { reads, close } = await world(log, databaseUrl, [ideas]);
  way.holdUp();
  await append(log, happened([noted('a')]));
  await settled(reads, log, 'ideas');
  way.close();
  way.goOn();
  way.open();
  await append(log, happened([noted('a'), ['a', 'IdeaLinked', { to: 'a' }]]).slice(1));
  await settled(reads, log, 'ideas');
  assert.is(await reads.counter(from, key('a'), 'links'), 1);
  await close();
  await cutOff.close();
  way.end();
});

test('a worker to which nothing comes from the log any more lets another one write', async () => {
  const { url: eventstoreUrl } = await startStore();
  const databaseUrl = await freshDatabase();
  const { url, ...way } = await road(eventstoreUrl);
  const [cutOff, log] = [openLog(url), openLog(eventstoreUrl)];
  afterwards(cutOff.close);
  afterwards(log.close);
  const projections = [ideasOf('cut')];
  const worker = await working({ log: cutOff, databaseUrl, projections, logger: quiet });
  await until('a writer', worker.status, ([one]) => one!.writer);
  const { reads, close } = await world(log, databaseUrl, projections);
  const events = happened([noted('a'), ['a', 'IdeaLinked', { to: 'a' }]], {}, 'cut');
  way.holdUp();
  await append(log, events.slice(0, 1));
  await settled(reads, log, 'ideas');
  assert.match(worker.status()[0]!.last_error ?? '', /the log does not answer/);
  await close();
  way.close();
  way.goOn();
  way.open();
  await append(log, events.slice(1));
  const after = await createReads(databaseUrl, quiet);
  afterwards(after.close);
  await settled(after, log, 'ideas');
  assert.is(await after.counter(from, key('a'), 'links'), 1);
  way.end();
});

test.run();
