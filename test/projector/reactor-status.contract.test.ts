import pg from 'pg';
import { pino } from 'pino';
import * as assert from 'uvu/assert';
import { openProjectionAdmin } from '../../infra/projector/projection-admin.ts';
import { publishReactors, RELAY_REACTOR, withdrawReactors } from '../../infra/projector/reactor-status.ts';
import { silentLogger, startWorker, waitUntil } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { ideas } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const relay = (works: boolean) => [{ name: RELAY_REACTOR, works, reason: works ? null : 'it is starting' }];

test('the relay counts as not working until a worker reports that it works, and again when that worker has ended', async () => {
  const log = memoryLog();
  const databaseUrl = await freshDatabase();
  const worker = await startWorker({ log, databaseUrl, projections: [ideas], logger: silentLogger });
  const admin = openProjectionAdmin(databaseUrl, log, pino({ level: 'silent' }));
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  afterTest(async () => {
    await admin.close();
    await db.end();
    await worker.close();
  });
  await waitUntil(
    'the report of the worker',
    () => admin.missingWorkers(),
    (missing) => missing.length > 0 && missing[0] !== 'worker',
  );
  const steps: [what: string, step: () => Promise<void>, missing: string[]][] = [
    ['no report', async () => {}, [RELAY_REACTOR]],
    ['it starts', () => publishReactors(db, 'one', relay(false)), [RELAY_REACTOR]],
    ['it works', () => publishReactors(db, 'one', relay(true)), []],
    ['a second one starts', () => publishReactors(db, 'two', relay(false)), []],
    ['the first one has ended', () => withdrawReactors(db, 'one'), [RELAY_REACTOR]],
    ['the second one works', () => publishReactors(db, 'two', relay(true)), []],
    [
      'no report for 11 s',
      async () => void (await db.query("update annals.reactors set seen_at = now() - interval '11 s'")),
      [RELAY_REACTOR],
    ],
  ];
  for (const [what, step, missing] of steps) {
    await step();
    assert.equal(await admin.missingWorkers(), missing, what);
  }
});

test.run();
