import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import type { DomainEvent } from '../../domain/event.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { secret } from '../../domain/secret.ts';
import { createGuardedClient } from '../../infra/egress/guarded-client.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { startTargetCaller } from '../../infra/reactors/call-targets.ts';
import { startScheduler } from '../../infra/reactors/scheduler.ts';
import { parseCron } from '../../infra/schedule/cron-expression.ts';
import { openVault } from '../../infra/vault/vault.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { blackouts } from '../../projections/schedule/blackout.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { pause, startStore } from '../fixtures/store-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const TENANT = `c${'t'.repeat(24)}`;
const MINUTE = 60_000;
const idOf = (name: string): string => `c${name.padEnd(24, '0')}`;
const AGENT = idOf('agent');
const START = Date.parse('2026-05-04T10:00:00.000Z');

type Call = { readonly url: string; readonly key: string; readonly authorization: string; readonly body: string };

const bodyOf = async (request: IncomingMessage): Promise<string> => Buffer.concat(await Array.fromAsync(request)).toString();

/** Sends an answer that claims to be compressed and never ends. */
const sendForever = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-encoding': 'gzip' });
  const timer = setInterval(() => response.write(Buffer.alloc(65_536)), 1);
  response.on('close', () => clearInterval(timer));
};

/** A target that records its calls and answers with the first of `statuses`, or 200. */
const startTarget = async () => {
  const calls: Call[] = [];
  const statuses: number[] = [];
  const server = createServer(async (request, response) => {
    const { authorization = '', 'idempotency-key': key } = request.headers;
    calls.push({ url: request.url!, key: String(key), authorization, body: await bodyOf(request) });
    if (request.url === '/endless') return sendForever(response);
    response.writeHead(statuses.shift() ?? 200, { location: '/elsewhere' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { calls, statuses, port, url: `http://127.0.0.1:${port}/hook`, close: () => server.close() };
};

const store = await startStore();
const log = openLog(store.url);
const databaseUrl = await freshDatabase();
const target = await startTarget();
const vault = await openVault({ log, masterKeyFile: join(createTempDirectory().dir, 'master.key') });
const clock = { now: START };

const append = async (category: string, id: string, events: readonly DomainEvent[]): Promise<void> => {
  const meta = { tenant: TENANT, actor: { kind: 'system', id: 'test' } as const, at: new Date(clock.now).toISOString(), v: 1 };
  const last = await log.last(`${category}-${TENANT}.${id}`);
  const appended = events.map(({ type, data }) => ({ id: randomUUID(), type, data, meta }));
  await log.append(`${category}-${TENANT}.${id}`, last?.revision ?? 'none', appended);
};

/** Waits until the condition holds. */
const until = (condition: () => boolean | Promise<boolean>): Promise<boolean> =>
  waitUntil('the condition holds', condition, (holds) => holds);

const JOB: Omit<CronJob.JobFields, 'name'> = {
  ...{ kind: 'recurring', target_kind: 'external_url', target: target.url, method: 'POST', headers: {}, sealed_headers: null },
  ...{ body_bytes: null, max_retries: 3, retry_backoff: 'exponential', fire_at: null, cron_expr: null, interval_minutes: null },
  ...{ schedule_type: 'interval', start_time: null, timezone: null },
};

const createJob = async (name: string, more: Partial<CronJob.JobFields>): Promise<string> => {
  const id = idOf(name);
  const create = CronJob.create({ ...JOB, name, ...more, agent_id: AGENT }, new Date(clock.now).toISOString(), parseCron);
  await append('cronjob', id, create(CronJob.initial));
  await waitForProjection(platform.reads, log, cronJobs.name);
  return id;
};

const parts = { log, databaseUrl, logger: silentLogger, now: () => clock.now, intervalMs: 50 };
const services = async () => ({ client: createGuardedClient({ allow: [`127.0.0.1:${target.port}`] }), vault });
const startWorker = () => [startScheduler(parts), startTargetCaller({ ...parts, services })];
const workers = [...startWorker(), ...startWorker()];

await append('tenant', TENANT, [
  { type: 'TenantCreated', data: { name: 'T', slug: 't', plan_id: idOf('plan'), billing_email: null, generation: 0 } },
]);
const settings = { name: 'A', slug: 'a', generation: 0, owner_id: null, is_seed: false, skill_visibility_scope: 'private_only' };
await append('agent', AGENT, Agent.create({ ...Agent.initial, ...settings } as never)());
const platform = await startProjectionPlatform(log, databaseUrl, [cronJobs, blackouts] as unknown as AnyProjection[]);

type Run = {
  readonly decision: string;
  readonly due_at: string;
  readonly reason: string | null;
  readonly attempts: { error: string | null }[];
};
const runsOf = async (job: string): Promise<Run[]> =>
  (await query<{ doc: string }>(databaseUrl, 'select doc from cron_jobs.runs where job_id = $1 order by due_at, created_at', [job])).map(
    ({ doc }) => JSON.parse(doc) as Run,
  );
const jobOf = async (job: string) =>
  JSON.parse((await query<{ doc: string }>(databaseUrl, 'select doc from cron_jobs.jobs where id = $1', [job]))[0]!.doc) as Record<
    string,
    unknown
  >;
const decisionsOf = async (job: string) => (await runsOf(job)).map(({ decision, reason, attempts }) => [decision, reason, attempts.length]);

test('two workers fire a due job once and call its target once, with its headers, body and the id of the occurrence', async () => {
  const sealed_headers = await vault.seal(
    { tenant: TENANT, category: CronJob.category, id: idOf('once'), field: 'headers' },
    secret(JSON.stringify({ authorization: 'Bearer opened' })),
  );
  const job = await createJob('once', {
    kind: 'one_shot',
    fire_at: new Date(START + MINUTE).toISOString(),
    headers: { authorization: '***' },
    sealed_headers,
    body_bytes: Buffer.from('the body').toString('base64'),
  });
  clock.now = START + MINUTE;
  await until(async () => (await jobOf(job)).status === 'completed');
  assert.equal(await decisionsOf(job), [['fired', null, 1]]);
  const { last_fired_at, last_status_code, next_fire_at } = await jobOf(job);
  assert.equal([last_fired_at, last_status_code, next_fire_at], [new Date(clock.now).toISOString(), 200, null]);
  const [{ key, ...call }] = target.calls as [Call];
  assert.equal([target.calls.length, call], [1, { url: '/hook', authorization: 'Bearer opened', body: 'the body' }]);
  assert.match(key, /^[0-9a-f]{32}$/);
});

test('a failed call is repeated with the same key after the back-off, and overlapping occurrences are suppressed meanwhile', async () => {
  target.calls.length = 0;
  target.statuses.push(503, 500);
  const job = await createJob('retried', { interval_minutes: 1, max_retries: 2, retry_backoff: 'fixed' });
  clock.now += MINUTE;
  await until(() => target.calls.length === 1);
  await until(async () => (await runsOf(job))[0]!.attempts.length === 1);
  clock.now += 29_000;
  await pause(300);
  assert.is(target.calls.length, 1);
  clock.now += 31_000;
  await until(async () => (await runsOf(job)).length === 2 && target.calls.length === 2);
  assert.equal((await decisionsOf(job))[1], ['suppressed', 'overlap', 0]);
  await until(async () => (await runsOf(job))[0]!.attempts.length === 2);
  clock.now += 31_000;
  await until(async () => (await runsOf(job))[0]!.attempts.length === 3);
  assert.equal(
    (await runsOf(job))[0]!.attempts.map(({ error }) => error),
    ['The target answered 503', 'The target answered 500', null],
  );
  assert.is(new Set(target.calls.map(({ key }) => key)).size, 1);
  await append('cronjob', job, [{ type: 'CronJobPaused', data: {} }]);
});

test('a redirect is not followed: the attempt has failed with its status', async () => {
  target.calls.length = 0;
  target.statuses.push(307);
  const job = await createJob('redirected', { kind: 'one_shot', fire_at: new Date(clock.now + MINUTE).toISOString(), max_retries: 0 });
  clock.now += MINUTE;
  await until(async () => (await jobOf(job)).status === 'failed');
  assert.equal([(await jobOf(job)).last_status_code, target.calls.map(({ url }) => url)], [307, ['/hook']]);
});

test('an answer with a success status ends the run, however long its body is and whatever it claims to be', async () => {
  const endless = { target: target.url.replace('/hook', '/endless'), max_retries: 0 };
  const job = await createJob('endless', { kind: 'one_shot', fire_at: new Date(clock.now + MINUTE).toISOString(), ...endless });
  clock.now += MINUTE;
  await until(async () => (await jobOf(job)).last_status_code !== null);
  assert.equal([(await jobOf(job)).status, (await jobOf(job)).last_status_code], ['completed', 200]);
});

test('many jobs that are due at once call the same host, each with success at the first attempt', async () => {
  target.calls.length = 0;
  const fire_at = new Date(clock.now + MINUTE).toISOString();
  const jobs = await Promise.all(Array.from({ length: 80 }, (_, index) => createJob(`burst${100 + index}`, { kind: 'one_shot', fire_at })));
  clock.now += MINUTE;
  await until(async () => (await Promise.all(jobs.map(jobOf))).every(({ status }) => status === 'completed'));
  assert.is(target.calls.length, 80);
  for (const job of jobs) assert.equal(await decisionsOf(job), [['fired', null, 1]]);
});

test('a failed call is not repeated while the agent is inactive, nor after the job was deleted', async () => {
  target.calls.length = 0;
  target.statuses.push(503);
  const fire_at = new Date(clock.now + MINUTE).toISOString();
  const job = await createJob('switchedoff', { kind: 'one_shot', fire_at, max_retries: 5, retry_backoff: 'fixed' });
  clock.now += MINUTE;
  await until(async () => (await runsOf(job))[0]?.attempts.length === 1);
  await append('agent', AGENT, [{ type: 'AgentDeactivated', data: {} }]);
  await pause(1_100);
  clock.now += 31_000;
  await until(async () => (await runsOf(job))[0]!.attempts.length === 2);
  await append('agent', AGENT, [{ type: 'AgentActivated', data: {} }]);
  await append('cronjob', job, [{ type: 'CronJobDeleted', data: {} }]);
  await pause(1_100);
  clock.now += 31_000;
  await until(async () => (await runsOf(job))[0]!.attempts.length === 3);
  const { attempts } = (await runsOf(job))[0]!;
  assert.equal(
    attempts.map(({ error }) => error),
    ['The target answered 503', 'The agent is inactive or deleted', 'The cron job was deleted'],
  );
  clock.now += 31_000;
  await pause(300);
  assert.equal([(await runsOf(job))[0]!.attempts.length, target.calls.length], [3, 1]);
});

test('after a downtime the newest occurrence fires if it is not too old, and the others are recorded as missed', async () => {
  const job = await createJob('late', { interval_minutes: 10 });
  clock.now += 35 * MINUTE;
  await until(async () => (await runsOf(job)).at(-1)?.attempts.length === 1);
  assert.equal(await decisionsOf(job), [
    ['missed', null, 0],
    ['missed', null, 0],
    ['fired', null, 1],
  ]);
  await append('cronjob', job, [{ type: 'CronJobPaused', data: {} }]);
  const old = await createJob('old', { kind: 'one_shot', fire_at: new Date(clock.now + MINUTE).toISOString() });
  clock.now += 62 * MINUTE;
  await until(async () => (await jobOf(old)).status === 'failed');
  assert.equal(await decisionsOf(old), [['missed', null, 0]]);
});

test('an occurrence in a blackout, or of an agent that is not active, is suppressed with its reason', async () => {
  const day = new Date(clock.now).toISOString().slice(0, 10);
  const blackout = { name: 'B', start_date: day, end_date: day, agent_id: null, reason: null, recurring_yearly: false, timezone: 'UTC' };
  await append('blackout', idOf('blackout'), [{ type: 'BlackoutDeclared', data: blackout }]);
  await until(async () => (await query(databaseUrl, 'select 1 from blackouts.blackouts')).length === 1);
  const job = await createJob('dark', { interval_minutes: 1 });
  clock.now += MINUTE;
  await until(async () => (await runsOf(job)).length === 1);
  await append('blackout', idOf('blackout'), [{ type: 'BlackoutLifted', data: {} }]);
  await append('agent', AGENT, [{ type: 'AgentDeactivated', data: {} }]);
  await until(async () => (await query(databaseUrl, 'select 1 from blackouts.blackouts')).length === 0);
  clock.now += MINUTE;
  await until(async () => (await runsOf(job)).length === 2);
  assert.equal(await decisionsOf(job), [
    ['suppressed', 'blackout', 0],
    ['suppressed', 'agent_inactive', 0],
  ]);
});

test('a clock that jumps back fires nothing twice', async () => {
  await append('agent', AGENT, [{ type: 'AgentActivated', data: {} }]);
  target.calls.length = 0;
  const job = await createJob('back', { interval_minutes: 5 });
  clock.now += 5 * MINUTE;
  await until(async () => (await runsOf(job))[0]?.attempts.length === 1);
  clock.now -= 60 * MINUTE;
  await pause(300);
  clock.now += 61 * MINUTE;
  await pause(300);
  assert.equal(await decisionsOf(job), [['fired', null, 1]]);
});

test('a clock that jumps a day forward fires the newest occurrence once and records the others as missed; a jump back changes nothing', async () => {
  const job = await createJob('day', { interval_minutes: 30, target: target.url.replace('/hook', '/day') });
  clock.now += 24 * 60 * MINUTE;
  await until(async () => (await runsOf(job)).at(-1)?.attempts.length === 1);
  const decisions = await decisionsOf(job);
  assert.equal(decisions, [...Array.from({ length: 47 }, () => ['missed', null, 0]), ['fired', null, 1]]);
  clock.now -= 24 * 60 * MINUTE;
  await pause(1_200);
  clock.now += 24 * 60 * MINUTE;
  await pause(1_200);
  assert.equal(await decisionsOf(job), decisions);
  assert.is(target.calls.filter(({ url }) => url === '/day').length, 1);
  clock.now += 30 * MINUTE;
  await until(async () => (await runsOf(job)).length === 49);
  await append('cronjob', job, [{ type: 'CronJobPaused', data: {} }]);
});

test('an occurrence is suppressed while the budget of the hour is used up, and fires in the next hour', async () => {
  clock.now = Math.ceil(clock.now / (60 * MINUTE)) * 60 * MINUTE + 57 * MINUTE;
  await append('agent', AGENT, [{ type: 'AgentBudgetChanged', data: { hourly_limit_micros: 1_000 } }]);
  const at = new Date(clock.now).toISOString();
  const usage = BudgetHour.countUsage([{ session_id: idOf('s'), cost_micros: 1_000 }], { agent_id: AGENT, limit_micros: null, at }, at);
  await append('budget', BudgetHour.budgetHourId(AGENT, at), usage(BudgetHour.initial));
  const job = await createJob('poor', { interval_minutes: 2 });
  clock.now += 2 * MINUTE;
  await until(async () => (await runsOf(job)).length === 1);
  clock.now += 2 * MINUTE;
  await until(async () => (await runsOf(job))[1]?.attempts.length === 1);
  assert.equal(await decisionsOf(job), [
    ['suppressed', 'budget', 0],
    ['fired', null, 1],
  ]);
});

test.after(async () => {
  await Promise.all(workers.map((worker) => worker.close()));
  await platform.close();
  await log.close();
  await store.end();
  target.close();
});
test.run();
