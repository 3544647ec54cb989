import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import type { DomainEvent } from '../../domain/event.ts';
import { consumerName } from '../../domain/runners/runner-credential.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import { parseCron } from '../../infra/cron-expression.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { ensureConsumer, STREAM } from '../../infra/nats/jetstream.ts';
import { startAcknowledgementRecorder } from '../../infra/relay/record-acknowledgements.ts';
import { startRelay } from '../../infra/relay/relay.ts';
import { agentMessages } from '../../infra/schedule/message-agents.ts';
import { scheduler } from '../../infra/schedule/scheduler.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { blackouts } from '../../projections/schedule/blackout.ts';
import { cronJobs } from '../../projections/schedule/cron-job.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { startNatsServer } from '../fixtures/nats-server.ts';
import { startWorker } from '../fixtures/start-worker.ts';
import { pause, startStore } from '../fixtures/store-process.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const TENANT = `c${'t'.repeat(24)}`;
const MINUTE = 60_000;
const idOf = (name: string): string => `c${name.padEnd(24, '0')}`;
const [AGENT, OTHER] = [idOf('agent'), idOf('other')];
const START = Date.parse('2026-05-04T10:00:00.000Z');

const store = await startStore();
const log = openLog(store.url);
const databaseUrl = await freshDatabase();
const vault = await openVault({ log, masterKeyFile: join(createTempDirectory().dir, 'master.key') });
const broker = await startNatsServer();
const nats = await broker.connect();
const clock = { now: START };

const append = async (category: string, id: string, events: readonly DomainEvent[]): Promise<void> => {
  const meta = { tenant: TENANT, actor: { kind: 'system', id: 'test' } as const, at: new Date(clock.now).toISOString(), v: 1 };
  const last = await log.last(`${category}-${TENANT}.${id}`);
  const appended = events.map(({ type, data }) => ({ id: randomUUID(), type, data, meta }));
  await log.append(`${category}-${TENANT}.${id}`, last?.revision ?? 'none', appended);
};

const until = (condition: () => boolean | Promise<boolean>): Promise<boolean> => waitUntil(String(condition), condition, (holds) => holds);

const createAgent = (id: string): Promise<void> => {
  const settings = { name: 'A', slug: id, generation: 0, owner_id: null, is_seed: false, skill_visibility_scope: 'private_only' };
  return append('agent', id, Agent.create({ ...Agent.initial, ...settings } as never)());
};
await append('tenant', TENANT, [
  { type: 'TenantCreated', data: { name: 'T', slug: 't', plan_id: idOf('plan'), billing_email: null, generation: 0 } },
]);
await createAgent(AGENT);
await createAgent(OTHER);
const platform = await startProjectionPlatform(log, databaseUrl, [cronJobs, blackouts, deliveries] as unknown as AnyProjection[]);

const JOB: Omit<CronJob.JobFields, 'name'> = {
  ...{ kind: 'recurring', target_kind: 'internal_agent', target: AGENT, target_agent_id: AGENT, method: 'POST', headers: {} },
  ...{ sealed_headers: null, body_bytes: null, max_retries: 3, retry_backoff: 'fixed', fire_at: null, cron_expr: null },
  ...{ interval_minutes: null, schedule_type: 'interval', start_time: null, timezone: null },
};

const createJob = async (name: string, more: Partial<CronJob.JobFields>): Promise<string> => {
  const id = idOf(name);
  const create = CronJob.create({ ...JOB, name, ...more, agent_id: AGENT }, new Date(clock.now).toISOString(), parseCron);
  await append('cronjob', id, create(CronJob.initial));
  await waitForProjection(platform.reads, log, cronJobs.name);
  return id;
};
const pauseJob = (job: string): Promise<void> => append('cronjob', job, [{ type: 'CronJobPaused', data: {} }]);

const services = { log, databaseUrl, logger: silentLogger, now: () => clock.now, intervalMs: 50, vault: { open: async () => vault } };
const workers = [1, 2].map(() => startWorker([scheduler, agentMessages], services));
const relay = await startRelay({ log, nats, logger: silentLogger, publicUrl: 'https://annals.test', openEvent: vault.openEvent });
const recorder = startAcknowledgementRecorder({ log, nats, logger: silentLogger, intervalMs: 1_000 });
await until(() => relay.status().state === 'relaying');
for (const agent of [AGENT, OTHER]) await ensureConsumer(nats, TENANT, agent, { ackWaitMs: 5_000 });

type Message = { readonly data: Record<string, unknown>; readonly reply: (how: 'ack' | 'term') => void };

/** Waits for the next message in the broker for this agent. */
const nextMessage = async (agent = AGENT): Promise<Message> => {
  const consumer = await nats.jetstream().consumers.get(STREAM, consumerName(agent));
  for (;;) {
    const message = await consumer.next({ expires: 1_000 });
    if (message) return { data: message.json(), reply: (how) => message[how]() };
  }
};

type Run = {
  readonly occurrence_id: string;
  readonly decision: string;
  readonly reason: string | null;
  readonly delivery_id: string | null;
  readonly session_id: string | null;
  readonly attempts: { error: string | null; status_code: number | null }[];
};
const docsOf = async <Doc>(table: string, column: string, id: string): Promise<Doc[]> =>
  (await query<{ doc: string }>(databaseUrl, `select doc from ${table} where ${column} = $1 order by 1`, [id])).map(
    ({ doc }) => JSON.parse(doc) as Doc,
  );
const runsOf = async (job: string): Promise<Run[]> =>
  (await query<{ doc: string }>(databaseUrl, 'select doc from cron_jobs.runs where job_id = $1 order by due_at', [job])).map(
    ({ doc }) => JSON.parse(doc) as Run,
  );
const jobOf = async (job: string) => (await docsOf<Record<string, unknown>>('cron_jobs.jobs', 'id', job))[0]!;
const deliveryOf = async (id: string) => (await docsOf<Record<string, unknown>>('deliveries.deliveries', 'id', id))[0];
const decisionsOf = async (job: string) => (await runsOf(job)).map(({ decision, reason, attempts }) => [decision, reason, attempts.length]);

test('a due cron job sends one message with its body to its agent; when the runner acknowledges the message, the run of the job succeeds', async () => {
  const fire_at = new Date(START + MINUTE).toISOString();
  const job = await createJob('once', { kind: 'one_shot', fire_at, body_bytes: Buffer.from('{"report":1}').toString('base64') });
  clock.now = START + MINUTE;
  const { data, reply } = await nextMessage();
  await until(async () => (await runsOf(job))[0]?.delivery_id != null);
  const [{ occurrence_id, delivery_id }] = (await runsOf(job)) as [Run];
  const { id, time, subject, deliveryid, ...rest } = data;
  assert.equal([subject, deliveryid], [delivery_id, delivery_id]);
  assert.equal(rest, {
    ...{ specversion: '1.0', source: `https://annals.test/tenant/${TENANT}/agents/${AGENT}/cron-jobs/${job}`, type: 'annals.cron.fired' },
    ...{ datacontenttype: 'application/json', tenant: TENANT, agent: AGENT, provider: 'cron', providerid: occurrence_id },
    ...{ contenttrust: 'trusted', cronjob: job, cronname: 'once', occurrence: occurrence_id, dueat: fire_at, data: { report: 1 } },
  });
  reply('ack');
  await until(async () => (await jobOf(job)).status === 'completed');
  const [{ attempts }] = (await runsOf(job)) as [Run];
  assert.equal(
    attempts.map(({ error, status_code }) => [error, status_code]),
    [[null, null]],
  );
  const { last_fired_at, last_status_code, next_fire_at } = await jobOf(job);
  assert.equal([last_fired_at, last_status_code, next_fire_at], [fire_at, null, null]);
  await until(async () => (await deliveryOf(delivery_id!))?.status === 'done');
  const delivery = await deliveryOf(delivery_id!);
  assert.equal([delivery!.provider, delivery!.integration_id, delivery!.provider_delivery_id], ['cron', job, occurrence_id]);
  assert.ok(id && time);
});

test("a cron job's message that the broker gives up is sent again with the same id until no attempt is left", async () => {
  const job = await createJob('failing', { kind: 'one_shot', fire_at: new Date(clock.now + MINUTE).toISOString(), max_retries: 1 });
  clock.now += MINUTE;
  const first = await nextMessage();
  first.reply('term');
  await until(async () => (await runsOf(job))[0]?.attempts.length === 1);
  clock.now += 29_000;
  await pause(300);
  assert.is((await runsOf(job))[0]!.attempts.length, 1);
  clock.now += 2_000;
  const second = await nextMessage();
  assert.equal([second.data.id, second.data.subject], [first.data.id, first.data.subject]);
  second.reply('term');
  await until(async () => (await jobOf(job)).status === 'failed');
  assert.equal(
    (await runsOf(job))[0]!.attempts.map(({ error }) => error),
    ['The runner of the agent failed', 'The runner of the agent failed'],
  );
});

test('while no runner has acknowledged the message of a job, later occurrences of the job are suppressed as overlaps', async () => {
  const job = await createJob('waiting', { interval_minutes: 1, target: OTHER, target_agent_id: OTHER });
  clock.now += MINUTE;
  await until(async () => (await runsOf(job))[0]?.delivery_id != null);
  clock.now += MINUTE;
  await until(async () => (await runsOf(job)).length === 2);
  assert.equal(await decisionsOf(job), [
    ['fired', null, 0],
    ['suppressed', 'overlap', 0],
  ]);
  const { data, reply } = await nextMessage(OTHER);
  assert.equal(data.data, { job_id: job, name: 'waiting', occurrence_id: data.occurrence, due_at: data.dueat });
  reply('ack');
  await until(async () => (await runsOf(job))[0]!.attempts.length === 1);
  await pauseJob(job);
});

test('a cron job does not fire while the agent that it belongs to, or the agent that it calls, is inactive', async () => {
  const job = await createJob('inactive', { interval_minutes: 1, target: OTHER, target_agent_id: OTHER });
  await append('agent', OTHER, [{ type: 'AgentDeactivated', data: {} }]);
  clock.now += MINUTE;
  await until(async () => (await runsOf(job)).length === 1);
  await append('agent', OTHER, [{ type: 'AgentActivated', data: {} }]);
  await append('agent', AGENT, [{ type: 'AgentDeactivated', data: {} }]);
  clock.now += MINUTE;
  await until(async () => (await runsOf(job)).length === 2);
  await append('agent', AGENT, [{ type: 'AgentActivated', data: {} }]);
  await append('tenant', TENANT, [{ type: 'TenantSuspended', data: { reason: null } }]);
  clock.now += MINUTE;
  await until(async () => (await runsOf(job)).length === 3);
  await append('tenant', TENANT, [{ type: 'TenantResumed', data: {} }]);
  assert.equal(await decisionsOf(job), [
    ['suppressed', 'agent_inactive', 0],
    ['suppressed', 'agent_inactive', 0],
    ['suppressed', 'tenant_suspended', 0],
  ]);
  await pauseJob(job);
});

test('a cron job that calls an agent observes blackouts and skips; those of its occurrences that were due during a downtime are recorded as missed', async () => {
  const job = await createJob('decided', { interval_minutes: 10 });
  const state = { ...CronJob.initial, id: job, tenant_id: TENANT, agent_id: AGENT };
  const [due, next] = [10, 20].map((minutes) => new Date(clock.now + minutes * MINUTE).toISOString()) as [string, string];
  await append('cronrun', CronRun.occurrenceId(job, due), CronRun.skip(state, due, next)(CronRun.initial));
  clock.now += 35 * MINUTE;
  (await nextMessage()).reply('ack');
  await until(async () => (await runsOf(job)).at(-1)?.attempts.length === 1);
  const day = new Date(clock.now).toISOString().slice(0, 10);
  const blackout = { name: 'B', start_date: day, end_date: day, agent_id: null, reason: null, recurring_yearly: false, timezone: 'UTC' };
  await append('blackout', idOf('blackout'), [{ type: 'BlackoutDeclared', data: blackout }]);
  await until(async () => (await query(databaseUrl, 'select 1 from blackouts.blackouts')).length === 1);
  clock.now += 10 * MINUTE;
  await until(async () => (await runsOf(job)).length === 4);
  await append('blackout', idOf('blackout'), [{ type: 'BlackoutLifted', data: {} }]);
  await until(async () => (await query(databaseUrl, 'select 1 from blackouts.blackouts')).length === 0);
  assert.equal(await decisionsOf(job), [
    ['skipped', null, 0],
    ['missed', null, 0],
    ['fired', null, 1],
    ['suppressed', 'blackout', 0],
  ]);
  await pauseJob(job);
});

test('an attempt of a run fails if the agent is inactive when the attempt starts; acknowledging a redelivery of the message ends the run', async () => {
  const job = await createJob('late', { kind: 'one_shot', fire_at: new Date(clock.now + MINUTE).toISOString() });
  clock.now += MINUTE;
  const { data, reply } = await nextMessage();
  reply('term');
  await until(async () => (await runsOf(job))[0]?.attempts.length === 1);
  await append('agent', AGENT, [{ type: 'AgentDeactivated', data: {} }]);
  clock.now += MINUTE;
  await until(async () => (await runsOf(job))[0]?.attempts.length === 2);
  await append('agent', AGENT, [{ type: 'AgentActivated', data: {} }]);
  await append('delivery', data.subject as string, [{ type: 'DeliveryRequeued', data: { agent_id: AGENT } }]);
  const redelivered = await nextMessage();
  assert.equal([redelivered.data.redeliveryof, redelivered.data.subject], [data.id, data.subject]);
  redelivered.reply('ack');
  await until(async () => (await jobOf(job)).status === 'completed');
  assert.equal(
    (await runsOf(job))[0]!.attempts.map(({ error }) => error),
    ['The runner of the agent failed', 'The agent is inactive or deleted', null],
  );
});

test.after(async () => {
  await Promise.all([...workers, relay, recorder].map((each) => each.close()));
  await platform.close();
  await broker.close();
  await log.close();
  await store.end();
});
test.run();
