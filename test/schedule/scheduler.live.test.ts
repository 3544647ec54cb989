import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as BudgetHour from '../../domain/billing/budget-hour.ts';
import { query } from '../fixtures/live-projections.ts';
import { AGENT, idOf, MINUTE, startSchedulerPlatform } from '../fixtures/scheduler-platform.ts';
import { pause } from '../fixtures/store-process.ts';

const { target, clock, databaseUrl, append, until, createJob, runsOf, jobOf, decisionsOf, close } = await startSchedulerPlatform();

test('after a downtime, the newest missed occurrence of a job fires unless it is too old; older missed ones are recorded as missed', async () => {
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

test('an occurrence is suppressed within a blackout and while the agent of its job is inactive, and the reason is recorded', async () => {
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

test('if the clock is set back, no occurrence fires twice', async () => {
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

test('if the clock jumps a day forward, only the newest occurrence of a job fires and the others are recorded as missed; if the clock jumps back, nothing fires', async () => {
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

test('while the hourly budget of the agent is used up, an occurrence is suppressed; an occurrence in the next hour fires', async () => {
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

test.after(close);
test.run();
