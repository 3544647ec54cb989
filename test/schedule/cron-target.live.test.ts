import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { secret } from '../../domain/secret.ts';
import { repeatIfBusy } from '../fixtures/load-factor.ts';
import { AGENT, idOf, MINUTE, START, startSchedulerPlatform, TENANT } from '../fixtures/scheduler-platform.ts';
import { pause } from '../fixtures/store-process.ts';

const { target, vault, clock, append, until, createJob, runsOf, jobOf, decisionsOf, close } = await startSchedulerPlatform();

test("if two workers find a job due at the same time, its target is called once, with the job's headers and body and the id of the occurrence", async () => {
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
  const [{ key, ...call }] = target.calls as [(typeof target.calls)[0]];
  assert.equal([target.calls.length, call], [1, { url: '/hook', authorization: 'Bearer opened', body: 'the body' }]);
  assert.match(key, /^[0-9a-f]{32}$/);
});

test('a failed call is repeated with the same key after the back-off; occurrences of the job that become due in the meantime are suppressed', async () => {
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

test('a call to the target of a job does not follow a redirect: the attempt fails with the status of the redirect', async () => {
  target.calls.length = 0;
  target.statuses.push(307);
  const job = await createJob('redirected', { kind: 'one_shot', fire_at: new Date(clock.now + MINUTE).toISOString(), max_retries: 0 });
  clock.now += MINUTE;
  await until(async () => (await jobOf(job)).status === 'failed');
  assert.equal([(await jobOf(job)).last_status_code, target.calls.map(({ url }) => url)], [307, ['/hook']]);
});

test('a response with a success status ends the run of a job successfully, whatever the length and content of the response body', async () => {
  const endless = { target: target.url.replace('/hook', '/endless'), max_retries: 0 };
  const job = await createJob('endless', { kind: 'one_shot', fire_at: new Date(clock.now + MINUTE).toISOString(), ...endless });
  clock.now += MINUTE;
  await until(async () => (await jobOf(job)).last_status_code !== null);
  assert.equal([(await jobOf(job)).status, (await jobOf(job)).last_status_code], ['completed', 200]);
});

let bursts = 0;
const checkBurst = async (): Promise<void> => {
  target.calls.length = 0;
  const name = `burst${bursts++}`;
  const fire_at = new Date(clock.now + MINUTE).toISOString();
  const jobs = await Promise.all(
    Array.from({ length: 80 }, (_, index) => createJob(`${name}n${100 + index}`, { kind: 'one_shot', fire_at })),
  );
  clock.now += MINUTE;
  await until(async () => (await Promise.all(jobs.map(jobOf))).every(({ status }) => status === 'completed'));
  assert.is(target.calls.length, 80);
  for (const job of jobs) assert.equal(await decisionsOf(job), [['fired', null, 1]]);
};

// On a busy machine, an attempt can exceed its time limit and is then repeated, as it should be.
test('many jobs that are due at once and call the same host all succeed at their first attempt', () => repeatIfBusy(checkBurst));

test('a failed call is not repeated while the agent of the job is inactive, or after the job was deleted', async () => {
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

test.after(close);
test.run();
