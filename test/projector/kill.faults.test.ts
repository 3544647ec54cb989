// limit: 300 s for this file (test/run.ts)
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import pino from 'pino';
import * as assert from 'uvu/assert';
import { openLog } from '../../infra/eventstore/client.ts';
import { createReads } from '../../infra/readmodel/postgres-read-model.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import {
  comparableRows,
  foldedRows,
  query,
  rowsIn,
  silentLogger,
  startWorker,
  waitForProjection,
  waitUntil,
  watchCheckpoint,
} from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { seededRandom } from '../fixtures/seeded-random.ts';
import { startStore } from '../fixtures/store-process.ts';
import { appendEvents, type EventSpec, ideasOf, recordedEvents } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const KILLS = Number(process.env.TEST_KILLS ?? 6);

const eventSpecs = (count: number): EventSpec[] => {
  const random = seededRandom(42);
  return Array.from({ length: count }, (_, n): EventSpec => {
    const id = `i${n < 30 ? n : Math.floor(random() * 30)}`;
    if (n < 30) return [id, 'IdeaNoted', { title: `first ${n}` }];
    const kind = random();
    if (kind < 0.5) return [id, 'IdeaLinked', { to: `i${Math.floor(random() * 30)}` }];
    if (kind < 0.9) return [id, 'IdeaRenamed', { title: `title ${n}`, extra: { n } }];
    return [id, kind < 0.98 ? 'IdeaViewed' : 'IdeaRenamed', kind < 0.999 ? {} : { title: 7 }];
  });
};

const startWorkerProcess = async (...args: string[]): Promise<ChildProcess> => {
  const child = spawn(process.execPath, [new URL('../fixtures/projector-process.ts', import.meta.url).pathname, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  afterTest(() => child.kill('SIGKILL'));
  await once(child.stdout!, 'data');
  return child;
};

const eventsIn = (category: string, count: number) => recordedEvents(eventSpecs(count), {}, category);

const lockHolders = (databaseUrl: string) =>
  query<{ pid: number }>(
    databaseUrl,
    `select pid from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and datname = current_database() and application_name = 'annals projection locks'`,
  ).then((rows) => rows.map(({ pid }) => pid));

test('if a worker loses its locks and no other worker takes them, the worker takes them again and continues', async () => {
  const databaseUrl = await freshDatabase();
  const log = memoryLog();
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  await startWorker({ log, databaseUrl, projections: [ideasOf('slow')], logger });
  const reads = await createReads(databaseUrl, silentLogger);
  afterTest(reads.close);
  const events = eventsIn('slow', 60);
  await appendEvents(log, events.slice(0, 30));
  await waitForProjection(reads, log, 'ideas');
  const [before] = await lockHolders(databaseUrl);
  await query(databaseUrl, `select pg_terminate_backend(${before})`);
  await waitUntil(
    'it holds the lock again',
    () => lockHolders(databaseUrl),
    ([holder]) => holder !== undefined && holder !== before,
  );
  await appendEvents(log, events.slice(30));
  await waitForProjection(reads, log, 'ideas');
  assert.is(lines.filter((line) => line.includes('following projections')).length, 1, lines.join(''));
});

test('if a worker is suspended, another one takes over within seconds; after the suspended one is resumed, no event is applied twice', async () => {
  const { url: eventstoreUrl } = await startStore();
  const databaseUrl = await freshDatabase();
  const log = openLog(eventstoreUrl);
  afterTest(log.close);
  const events = eventsIn('still', 1_200);
  const [before, meanwhile, after] = [events.slice(0, 400), events.slice(400, 800), events.slice(800)];
  const reads = await createReads(databaseUrl, silentLogger);
  afterTest(reads.close);
  const first = await startWorkerProcess(eventstoreUrl, databaseUrl, 'still');
  await appendEvents(log, before);
  await waitForProjection(reads, log, 'ideas');
  await startWorkerProcess(eventstoreUrl, databaseUrl, 'still');
  // Suspend the first worker while events are being appended. It then stops at an arbitrary point of its work.
  const writing = appendEvents(log, meanwhile);
  first.kill('SIGSTOP');
  await writing;
  await waitForProjection(reads, log, 'ideas');
  first.kill('SIGCONT');
  await appendEvents(log, after);
  await waitForProjection(reads, log, 'ideas');
  for (const table of ['ideas', 'tags'])
    assert.equal(comparableRows(await rowsIn(databaseUrl, 'ideas', table)), comparableRows(await foldedRows(log, ideasOf('still'), table)));
});

test(`after the worker was killed ${KILLS} times, the rows equal those that the log yields, and the checkpoint has never moved back`, async () => {
  const { url: eventstoreUrl } = await startStore();
  const databaseUrl = await freshDatabase();
  const category = `kill${[...crypto.randomUUID()].filter((letter) => /[a-f]/.test(letter)).join('')}`;
  const log = openLog(eventstoreUrl);
  afterTest(log.close);
  const events = eventsIn(category, 60 * KILLS);
  const writing = appendEvents(log, events);
  const stopWatching = await watchCheckpoint(databaseUrl, 'ideas');
  let child = await startWorkerProcess(eventstoreUrl, databaseUrl, category);
  for (let kill = 0; kill < KILLS; kill++) {
    const next = await startWorkerProcess(eventstoreUrl, databaseUrl, category);
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 250));
    child.kill('SIGKILL');
    child = next;
  }
  await writing;
  const reads = await createReads(databaseUrl, silentLogger);
  afterTest(reads.close);
  await waitForProjection(reads, log, 'ideas');
  await stopWatching();
  child.kill('SIGKILL');
  await once(child, 'exit');
  const projection = ideasOf(category);
  for (const table of ['ideas', 'tags'])
    assert.equal(comparableRows(await rowsIn(databaseUrl, 'ideas', table)), comparableRows(await foldedRows(log, projection, table)));
  const store = openMemoryStore([projection]);
  for await (const event of log.readAll()) store.feed([event]);
  assert.ok(store.rows('ideas', 'ideas').size === 30 && store.unapplied('ideas').length > 0);
});

test.run();
