import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import * as assert from 'uvu/assert';
import type { z } from 'zod';
import type { HealthReport } from '../../api/operations/health.ts';
import { openPool } from '../../infra/postgres/pool.ts';
import { createHealthReport, type HealthParts } from '../../infra/processes/health-report.ts';
import { deadline, loadFactor } from '../fixtures/load-factor.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { readModelDatabase } from '../fixtures/template-database.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { createSecondTenant } from '../fixtures/users.ts';

type Report = z.output<typeof HealthReport>;

const NO_SERVICES = { annalsData: '', eventstoreUrl: 'esdb://external', natsUrl: 'nats://127.0.0.1:1' };
const EMPTY_SPOOL = { canTake: true, rows: 0, parked: 0, oldestAt: null } as ReturnType<HealthParts['spool']>;

const NOTHING = { count: 0, until: null };
const NO_QUEUES = { at: 0, queues: [], hasMore: false, tenants: new Map() };
const NONE_HELD = { budget: NOTHING, rate: NOTHING, hours: NOTHING };

/**
 * Returns the parts of a process with an in-memory log and a database, but without a broker. `databaseUrl` selects
 * another database.
 */
const partsOf = async (databaseUrl?: string): Promise<HealthParts> => {
  const { dir, clear } = createTempDirectory();
  const pool = openPool(databaseUrl ?? (await readModelDatabase()), pino({ level: 'silent' }), 'operators', { max: 2 });
  afterTest(async () => {
    await pool.end();
    clear();
  });
  return {
    config: { ...NO_SERVICES, annalsData: dir } as HealthParts['config'],
    log: memoryLog(),
    db: pool,
    broker: { isHealthy: () => false, current: () => undefined },
    blobPlace: null,
    spool: () => EMPTY_SPOOL,
    isFailing: () => false,
    faults: () => [],
    readHeld: async () => NONE_HELD,
    read: { queues: async () => NO_QUEUES, asked: async () => [], stopped: async () => [] },
  };
};

const statusesOf = ({ parts }: Report): Record<string, string> => Object.fromEntries(parts.map(({ name, status }) => [name, status]));

test('the health report names each part with its state and with what to do, and leaves out services that are not configured', async () => {
  const report = await createHealthReport(await partsOf())();
  assert.equal(statusesOf(report), {
    service: 'ok',
    'event store': 'ok',
    Postgres: 'ok',
    NATS: 'down',
    processes: 'ok',
    worker: 'down',
    projections: 'degraded',
    relay: 'down',
    runners: 'ok',
    queues: 'ok',
    budgets: 'ok',
    'dead letters': 'ok',
    'held deliveries': 'ok',
    spool: 'ok',
    disk: 'ok',
  });
  for (const { name, status, advice } of report.parts) assert.is(status === 'ok', advice === null, name);
  assert.match(report.parts.find(({ name }) => name === 'worker')!.advice!, 'start annals work');
});

test('while Postgres is down, the health report shows worker and projections as not known, and the other parts without delay', async () => {
  const parts = await partsOf('postgres://127.0.0.1:1/annals');
  const report = await createHealthReport(parts)();
  const { Postgres, worker, projections, ...rest } = statusesOf(report);
  assert.equal([Postgres, worker, projections, rest['event store']], ['down', 'degraded', 'degraded', 'ok']);
  assert.match(report.parts.find(({ name }) => name === 'worker')!.detail, /^not known: connect ECONNREFUSED/);
});

test('the health report shows a part that does not answer in time as down, without delaying other parts; soon after that part works, it is shown as ok', async () => {
  const parts = await partsOf();
  let isHanging = true;
  const log = { ...parts.log, ping: () => (isHanging ? new Promise<void>(() => {}) : parts.log.ping()) } as HealthParts['log'];
  const read = createHealthReport({ ...parts, log });
  const startedAt = performance.now();
  const found = (await read()).parts.find(({ name }) => name === 'event store')!;
  assert.ok(performance.now() - startedAt < 5_000 * loadFactor());
  assert.equal([found.status, found.detail], ['down', 'no answer within 1.5 s']);
  isHanging = false;
  for (const isOver = deadline(20_000); statusesOf(await read())['event store'] !== 'ok'; await sleep(50))
    assert.not.ok(isOver(), 'the event store is shown as ok');
});

test('the health report includes a failing recording of deliveries, refused deliveries in the spool, and data keys that cannot be decrypted', async () => {
  const parts = await partsOf();
  const spool = () => ({ ...EMPTY_SPOOL, rows: 2, parked: 1, oldestAt: Date.now() - 3_000 });
  const report = await createHealthReport({ ...parts, spool, isFailing: () => true, faults: () => ['data keys (of 1 tenant)'] })();
  const statuses = statusesOf(report);
  assert.equal([statuses['event store'], statuses.spool, statuses.service], ['down', 'down', 'degraded']);
  assert.match(report.parts[0]!.detail, 'data keys (of 1 tenant)');
});

test('the health report says how many deliveries are held, because of what, and until when', async () => {
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const over = new Date(Date.now() - 1_000).toISOString();
  const readHeld = async () => ({ budget: { count: 2, until }, rate: { count: 1, until: over }, hours: NOTHING });
  const report = await createHealthReport({ ...(await partsOf()), readHeld })();
  const { status, detail, figures } = report.parts.find(({ name }) => name === 'held deliveries')!;
  assert.equal(
    [status, detail, figures],
    [
      'ok',
      `3 deliveries are held: 2 because the hourly budget of the agent is used up until ${until}; 1 because of rates`,
      { held_by_budget: 2, held_by_rate: 1, held_by_hours: 0 },
    ],
  );
});

test('while budgets cannot be read, the health report has the deliveries that rules hold, and advises to repair the event store', async () => {
  const readHeld = async () => ({ budget: new Error('no answer within 1 s'), rate: { count: 1, until: null }, hours: NOTHING });
  const report = await createHealthReport({ ...(await partsOf()), readHeld })();
  const { status, detail, figures, advice } = report.parts.find(({ name }) => name === 'held deliveries')!;
  assert.equal(
    [status, detail, figures],
    [
      'degraded',
      'by rules: 1 delivery is held: 1 because of rates; by budgets: not known (no answer within 1 s)',
      { held_by_rate: 1, held_by_hours: 0 },
    ],
  );
  assert.match(advice!, /^repair the event store/);
});

test('only a super-admin can read the health of the platform', async () => {
  const parts = [{ name: 'NATS', status: 'down' as const, detail: 'is not connected', advice: 'start nats-server', figures: {} }];
  const p = await createTestPlatform({ readHealth: async () => ({ at: new Date().toISOString(), parts, processes: [] }) });
  afterTest(p.close);
  const other = await createSecondTenant(p);
  assert.equal(((await p.send('GET', '/admin/health')).body as Report).parts, parts);
  assert.is((await p.send('GET', '/admin/health', { key: other.key })).status, 403);
  assert.is((await p.send('GET', '/admin/health', { key: '' })).status, 401);
});

test.run();
