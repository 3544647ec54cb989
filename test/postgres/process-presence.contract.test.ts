import pg from 'pg';
import * as assert from 'uvu/assert';
import {
  type ProcessPresence,
  readProcesses,
  reportProcess,
  startProcessReports,
  withdrawProcess,
} from '../../infra/postgres/process-presence.ts';
import { createSystemTables } from '../../infra/projector/schema.ts';
import { waitUntil } from '../fixtures/live-projections.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const MINUTE_MS = 60_000;

const start = async () => {
  const client = new pg.Client({ connectionString: await freshDatabase() });
  await client.connect();
  afterTest(() => client.end());
  return client as unknown as pg.Pool & pg.Client;
};

const process = (name: string, kind: ProcessPresence['kind'], minutes: number) => ({
  ...{ name, kind, version: '0.1.0', build: '3f9c21ab', node: '26.10.0' },
  started_at: new Date(Date.UTC(2026, 10, 29, 6) + minutes * MINUTE_MS).toISOString(),
});

const ageOf = (db: pg.Client, name: string, seconds: number) =>
  db.query('update annals.processes set seen_at = now() - make_interval(secs => $2) where name = $1', [name, seconds]);

test('the processes of all hosts are known until they end; those that stop reporting are silent, and forgotten after an hour', async () => {
  const db = await start();
  await createSystemTables(db);
  const shown = async () => (await readProcesses(db, 'serve')).slice(1).map(({ name, kind, state }) => [name, kind, state]);
  const [first, second, worker] = [process('one 1', 'serve', 0), process('two 1', 'serve', 5), process('two 2', 'work', 1)];
  for (const each of [first, second, worker]) await reportProcess(db, each);
  const [own, newest] = await readProcesses(db, 'serve');
  assert.equal([own!.kind, own!.state, typeof own!.version], ['serve', 'running', 'string']);
  const { last_seen_at, ...known } = newest!;
  assert.equal(known, { ...second, state: 'running' });
  assert.ok(Math.abs(Date.parse(last_seen_at) - Date.now()) < MINUTE_MS);
  await ageOf(db, 'one 1', 20);
  assert.equal(await shown(), [
    ['two 1', 'serve', 'running'],
    ['one 1', 'serve', 'silent'],
    ['two 2', 'work', 'running'],
  ]);
  await withdrawProcess(db, 'two 2');
  await ageOf(db, 'one 1', 3_700);
  assert.equal(await shown(), [['two 1', 'serve', 'running']]);
  await reportProcess(db, second);
  assert.is((await db.query('select from annals.processes')).rowCount, 1, 'what is forgotten is deleted');
  await reportProcess(db, first);
  await ageOf(db, 'one 1', 3_700);
  await reportProcess(db, first);
  assert.is((await shown()).length, 2, 'a process that reports again after an hour is known again');
});

test('a process reports itself as soon as the tables exist, and is removed when it ends', async () => {
  const db = await start();
  const early = startProcessReports(db, 'work');
  await early.close();
  await createSystemTables(db);
  const reports = startProcessReports(db, 'work');
  const count = async () => (await db.query('select from annals.processes')).rowCount;
  await waitUntil('the report', count, (found) => found === 1);
  await reports.close();
  assert.is(await count(), 0);
});

test.run();
