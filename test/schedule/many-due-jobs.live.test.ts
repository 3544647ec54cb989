// limit: 240 s for this file (test/run.ts)
import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import type { DomainEvent } from '../../domain/event.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { startScheduler } from '../../infra/reactors/scheduler.ts';
import { parseCron } from '../../infra/schedule/cron-expression.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { blackouts } from '../../projections/schedule/blackout.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { startStore } from '../fixtures/store-process.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const JOBS = 10_000;
const MAX_DECISION_MS = 10_000;
const CONCURRENCY = 200;
const TENANT = `c${'t'.repeat(24)}`;
const AGENT = `c${'agent'.padEnd(24, '0')}`;
const START = Date.parse('2026-05-04T10:00:00.000Z');
const MINUTE = 60_000;

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
  ...{ kind: 'recurring', target_kind: 'external_url', target: 'https://example.com/', method: 'POST', headers: {}, sealed_headers: null },
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

/** How many decisions the schedulers have appended. */
let appended = 0;
const countedAppend: typeof log.append = async (...parameters) => {
  const result = await log.append(...parameters);
  appended++;
  return result;
};
const startWorkers = () =>
  [1, 2].map(() => startScheduler({ log: { ...log, append: countedAppend }, databaseUrl, logger: silentLogger, now: () => clock.now }));

/** The jobs of the decisions in the log. */
const decidedJobs = async (): Promise<string[]> => {
  const jobs: string[] = [];
  for await (const { type, data } of log.readAll()) if (type === 'CronFired') jobs.push((data as { job_id: string }).job_id);
  return jobs;
};

test(`${JOBS} jobs that are due in the same minute are all decided within ${MAX_DECISION_MS / 1_000} s, none twice`, async () => {
  await createJobs(JOBS);
  const workers = startWorkers();
  clock.now = START + MINUTE;
  const startedAt = Date.now();
  await waitUntil(
    'all jobs are decided',
    () => appended,
    (count) => count >= JOBS,
    120,
  );
  const ms = Date.now() - startedAt;
  console.log(`${JOBS} decisions took ${ms} ms, at a load factor of ${loadFactor().toFixed(1)}`);
  await waitForProjection(platform.reads, log, cronJobs.name);
  await Promise.all(workers.map((worker) => worker.close()));
  const jobs = await decidedJobs();
  assert.equal([jobs.length, new Set(jobs).size], [JOBS, JOBS]);
  assert.ok(ms < MAX_DECISION_MS * loadFactor(), `the decisions took ${ms} ms`);
});

test.after(async () => {
  await platform.close();
  await log.close();
  await store.end();
});
test.run();
