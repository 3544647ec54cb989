// limit: 240 s for this file (test/run.ts)
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import type { DomainEvent } from '../../domain/event.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { parseCron } from '../../infra/cron-expression.ts';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { targetCalls } from '../../infra/schedule/call-targets.ts';
import { scheduler } from '../../infra/schedule/scheduler.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { blackouts } from '../../projections/schedule/blackout.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { startWorker } from '../fixtures/start-worker.ts';
import { startStore } from '../fixtures/store-process.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

/** More than one query returns of due calls (5,000), and more than one tenant may have waiting. */
const JOBS = 5_100;
/** A limit for slow machines, in milliseconds. The test prints the time. */
const MAX_MS = 40_000;
const CONCURRENCY = 20;
const TENANT = `c${'t'.repeat(24)}`;
const AGENT = `c${'agent'.padEnd(24, '0')}`;
const START = Date.parse('2026-05-04T10:00:00.000Z');
const MINUTE = 60_000;

/** The number of calls that the target received with each idempotency key. */
const calls = new Map<string, number>();
const target = createServer((request, response) => {
  const key = String(request.headers['idempotency-key']);
  calls.set(key, (calls.get(key) ?? 0) + 1);
  request.resume().on('end', () => response.end());
});
await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
const host = `127.0.0.1:${(target.address() as AddressInfo).port}`;

const store = await startStore();
const log = openLog(store.url);
const databaseUrl = await freshDatabase();
const clock = { now: START };

const append = (category: string, id: string, events: readonly DomainEvent[]): Promise<unknown> => {
  const meta = { tenant: TENANT, actor: { kind: 'system', id: 'test' } as const, at: new Date(clock.now).toISOString(), v: 1 };
  const appended = events.map(({ type, data }) => ({ id: randomUUID(), type, data, meta }));
  return log.append(`${category}-${TENANT}.${id}`, 'none', appended);
};

const JOB: Omit<CronJob.JobFields, 'name'> = {
  ...{ kind: 'recurring', target_kind: 'external_url', target: `http://${host}/`, method: 'POST', headers: {}, sealed_headers: null },
  ...{ body_bytes: null, max_retries: 3, retry_backoff: 'exponential', fire_at: null, cron_expr: '1 10 * * *', interval_minutes: null },
  ...{ schedule_type: 'interval', start_time: null, timezone: null },
};

const createJobs = async (count: number): Promise<void> => {
  const create = CronJob.create({ ...JOB, name: 'many', agent_id: AGENT }, new Date(clock.now).toISOString(), parseCron);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await append('cronjob', `c${String(next++).padStart(24, '0')}`, create(CronJob.initial));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  await waitForProjection(platform.reads, log, cronJobs.name);
};

await append('tenant', TENANT, [
  { type: 'TenantCreated', data: { name: 'T', slug: 't', plan_id: AGENT, billing_email: null, generation: 0 } },
]);
const settings = { name: 'A', slug: 'a', generation: 0, owner_id: null, is_seed: false, skill_visibility_scope: 'private_only' };
await append('agent', AGENT, Agent.create({ ...Agent.initial, ...settings } as never)());
const platform = await startProjectionPlatform(log, databaseUrl, [cronJobs, blackouts] as unknown as AnyProjection[]);

/** The numbers of decisions and of successful calls that the workers have appended to the log. */
let decided = 0;
let succeeded = 0;
const countedAppend: typeof log.append = async (stream, expected, events) => {
  const result = await log.append(stream, expected, events);
  if (events[0]!.type === 'CronFired') decided++;
  if (events[0]!.type === 'CronSucceeded') succeeded++;
  return result;
};
const startWorkers = () => {
  const services = {
    ...{ log: { ...log, append: countedAppend }, databaseUrl, logger: silentLogger, now: () => clock.now },
    egress: async () => createGuardedClient({ allow: [host] }),
    vault: { open: async () => ({ open: () => Promise.reject(new Error('no job has secret headers')) }) },
  };
  return [1, 2].map(() => startWorker([scheduler, targetCalls], services));
};

/** Counts the events of each type in the log. */
const countEvents = async (): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {};
  for await (const { type } of log.readAll()) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};

const waitForCount = (what: string, count: () => number): Promise<number> => waitUntil(what, count, (found) => found >= JOBS, 120);

test(`for ${JOBS} jobs that are due in the same minute, a decision is recorded for each, and each target is called once`, async () => {
  await createJobs(JOBS);
  const workers = startWorkers();
  clock.now = START + MINUTE;
  const startedAt = Date.now();
  await waitForCount('all jobs are decided', () => decided);
  const decisionMs = Date.now() - startedAt;
  await waitForCount('all targets are called', () => calls.size);
  const ms = Date.now() - startedAt;
  console.log(`${JOBS} decisions took ${decisionMs} ms, with the calls ${ms} ms, at a load factor of ${loadFactor().toFixed(1)}`);
  await waitForCount('all calls are recorded', () => succeeded);
  await Promise.all(workers.map((worker) => worker.close()));
  const { CronFired, CronSucceeded, CronAttemptFailed = 0 } = await countEvents();
  assert.equal([CronFired, CronSucceeded, CronAttemptFailed], [JOBS, JOBS, 0]);
  assert.equal([calls.size, Math.max(...calls.values())], [JOBS, 1]);
  assert.ok(decisionMs < MAX_MS * loadFactor(), `the decisions took ${decisionMs} ms`);
});

test.after(async () => {
  await platform.close();
  await log.close();
  await store.end();
  target.close();
});
test.run();
