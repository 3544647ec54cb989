import pg from 'pg';
import * as assert from 'uvu/assert';
import { startReactors } from '../../infra/reactors/reactor.ts';
import { openReactorSessions, type ReactorSessions } from '../../infra/reactors/reactor-sessions.ts';
import { timedRuns } from '../../infra/reactors/timed.ts';
import { silentLogger, waitUntil } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

/** Opens the sessions of `count` processes with one database, and a connection for the test. */
const openProcesses = async (count: number) => {
  const databaseUrl = await freshDatabase();
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  const processes = Array.from({ length: count }, () => openReactorSessions(databaseUrl, silentLogger));
  afterTest(() => Promise.all([db.end(), ...processes.map(({ close }) => close())]));
  const sessionsOf = async (name: string): Promise<number> =>
    (await db.query('select from pg_stat_activity where datname = current_database() and application_name = $1', [`annals ${name}`])).rows
      .length;
  return { databaseUrl, db, processes, sessionsOf };
};

const LOCKS = ['one', 'two', 'three'];
const acquireAll = (sessions: ReactorSessions): Promise<boolean[]> => Promise.all(LOCKS.map((name) => sessions.acquire(name)));

test('a process holds the locks of all its reactors in one session, and another process gets them when it ends', async () => {
  const { processes, sessionsOf } = await openProcesses(2);
  const [first, second] = processes;
  assert.equal(await acquireAll(first!), [true, true, true]);
  assert.equal(await acquireAll(second!), [false, false, false]);
  assert.equal(await acquireAll(first!), [true, true, true]);
  assert.is(await sessionsOf('projection locks'), 2);
  await first!.close();
  await waitUntil(
    'the other process holds the locks',
    () => acquireAll(second!),
    (held) => held.every(Boolean),
  );
});

test('after its session was ended by the server, a process holds no lock until it gets it again', async () => {
  const { db, processes } = await openProcesses(2);
  const [first, second] = processes;
  await acquireAll(first!);
  await db.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'annals projection locks'`);
  await waitUntil('another process gets a lock', () => second!.acquire('one'), Boolean);
  await waitUntil('the first process reconnects', () => first!.acquire('two').catch(() => false), Boolean);
  assert.equal([await first!.acquire('one'), await second!.acquire('two')], [false, false]);
});

test('twelve timed reactors of a process use three database sessions together', async () => {
  const { processes, sessionsOf } = await openProcesses(1);
  const names = Array.from({ length: 12 }, (_, n) => `reactor ${n}`);
  const runs = new Set<string>();
  const reactors = names.map((lock) =>
    timedRuns({
      ...{ lock, everyMs: 20, failure: 'a reactor failed' },
      open: () => ({
        run: async (_, at) => {
          await processes[0]!.query('select pg_sleep(0.01)');
          runs.add(`${lock}`);
          return at === '';
        },
      }),
    }),
  );
  const running = startReactors(reactors, { log: memoryLog(), sessions: processes[0]!, logger: silentLogger });
  await waitUntil(
    'each reactor has run',
    () => runs.size,
    (size) => size === 12,
  );
  assert.equal([await sessionsOf('projection locks'), await sessionsOf('reactors')], [1, 2]);
  await running.close();
  assert.is(await processes[0]!.acquire('reactor 0'), true, 'closing a reactor leaves the sessions open');
});

test.run();
