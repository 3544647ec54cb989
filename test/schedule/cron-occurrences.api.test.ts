import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nextCursor } from '../../api/console/parts/pager.ts';
import { omit } from '../../domain/omit.ts';
import { decideDueJobs } from '../fixtures/decide-due-jobs.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const HOUR_MS = 3_600_000;
const START = Date.parse('2126-03-04T06:30:00.000Z');

const p = await createTestPlatform();
p.clock.now = () => START;
const createAgent = async (slug: string): Promise<string> =>
  ((await p.send('POST', `${p.tenant}/agents`, { body: { name: slug, slug } })).body as { id: string }).id;
const agent = await createAgent('hourly');
const other = await createAgent('daily');
const createJob = async (agent_id: string, more: Json): Promise<string> => {
  const body = { name: 'Report', kind: 'recurring', target_kind: 'internal_agent', target: agent_id, ...more };
  return ((await p.send('POST', `${p.tenant}/agents/${agent_id}/cron-jobs`, { body })).body as { id: string }).id;
};
const hourly = await createJob(agent, { name: 'Hourly', cron_expr: '0 * * * *' });
const daily = await createJob(other, { name: 'Daily', cron_expr: '30 9 * * *', timezone: 'Europe/Berlin' });

type Occurrence = Json & { readonly due_at: string; readonly occurrence_id: string };
const list = async (query: Readonly<Record<string, string>>, key?: string): Promise<Occurrence[]> => {
  const answer = await p.send('GET', `${p.tenant}/cron-occurrences?${new URLSearchParams(query)}`, key ? { key } : {});
  assert.is(answer.status, 200, answer.text);
  return answer.body as Occurrence[];
};
const day = { from: '2126-03-04T00:00:00Z', to: '2126-03-05T00:00:00Z' };
const marks = (found: readonly Json[]) => found.map(({ decision, reason, predicted }) => [decision, reason ?? null, predicted]);

test('before any occurrence of a day is due, the list predicts all occurrences of the day, in the order of their due times', async () => {
  const found = await list(day);
  assert.is(found.length, 18);
  assert.equal(
    found.filter(({ predicted, decision }) => predicted && decision === 'fired'),
    found,
  );
  assert.equal(
    found.map(({ due_at }) => due_at),
    found.map(({ due_at }) => due_at).toSorted(),
  );
  const [{ job_id, job_name, agent_id, created_at, attempts }] = found.filter((one) => one.job_id === daily) as [Occurrence];
  assert.equal([job_id, job_name, agent_id, created_at, attempts], [daily, 'Daily', other, null, []]);
});

test('the list shows occurrences that were due as the scheduler recorded them, and predicts the other ones of the day with the ids that they will have', async () => {
  const before = await list(day);
  p.clock.now = () => START + 3 * HOUR_MS;
  await decideDueJobs(p);
  await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs/${hourly}/skip`);
  const found = await list(day);
  assert.equal(
    found.map(({ occurrence_id, due_at }) => [occurrence_id, due_at]),
    before.map(({ occurrence_id, due_at }) => [occurrence_id, due_at]),
  );
  for (const job_id of [hourly, daily]) {
    const agent_id = job_id === hourly ? agent : other;
    const runs = (await p.send('GET', `${p.tenant}/agents/${agent_id}/cron-jobs/${job_id}/runs?sort=due_at`)).body as Json[];
    const recorded = found.filter((one) => one.job_id === job_id && !one.predicted);
    assert.equal(
      recorded.map((run) => omit(run, 'job_id', 'job_name', 'job_status', 'agent_id', 'predicted')),
      runs,
    );
  }
});

test('occurrences in a blackout are predicted as suppressed, and are recorded as suppressed when they are due', async () => {
  const body = { name: 'Maintenance', start_date: '2126-03-05', end_date: '2126-03-05', timezone: 'UTC', agent_id: agent };
  const { id } = (await p.send('POST', `${p.tenant}/cron-blackouts`, { body })).body as Json;
  const next = { from: '2126-03-05T00:00:00Z', to: '2126-03-05T03:00:00Z' };
  const before = await list(next);
  assert.equal(marks(before), Array(3).fill(['suppressed', 'blackout', true]));
  assert.ok(before.every(({ blackout_id }) => blackout_id === id));
  assert.is((await list({ from: '2126-03-05T00:00:00Z', to: '2126-03-06T00:00:00Z', decision: 'suppressed' })).length, 24);
  assert.equal(
    (await list({ from: '2126-03-05T00:00:00Z', to: '2126-03-06T00:00:00Z', decision: 'fired' })).map(({ job_id }) => job_id),
    [daily],
  );
  for (const due of ['2126-03-05T00:00:05Z', '2126-03-05T01:00:05Z', '2126-03-05T02:00:05Z']) {
    p.clock.now = () => Date.parse(due);
    await decideDueJobs(p);
  }
  const after = await list(next);
  assert.equal(marks(after), Array(3).fill(['suppressed', 'blackout', false]));
  assert.equal(
    after.map(({ occurrence_id }) => occurrence_id),
    before.map(({ occurrence_id }) => occurrence_id),
  );
});

test('the pages of the list of occurrences together contain each occurrence once, even where recorded occurrences end and predicted ones begin', async () => {
  const query = { from: '2126-03-04T00:00:00Z', to: '2126-03-06T00:00:00Z' };
  const all = await list({ ...query, limit: '1000' });
  const paged: Occurrence[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `${p.tenant}/cron-occurrences?${new URLSearchParams({ ...query, limit: '7', ...(cursor ? { cursor } : {}) })}`;
    const { body, headers } = await p.send('GET', path);
    paged.push(...(body as Occurrence[]));
    cursor = nextCursor({ headers });
  }
  assert.equal(paged, all);
});

test("the list predicts the occurrences of an inactive agent's jobs as suppressed, and contains no predicted ones of paused jobs", async () => {
  const future = { from: '2126-03-10T00:00:00Z', to: '2126-03-11T00:00:00Z', agent_id: other };
  await p.send('PATCH', `${p.tenant}/agents/${other}`, { body: { is_active: false } });
  assert.equal(marks(await list(future)), [['suppressed', 'agent_inactive', true]]);
  await p.send('PATCH', `${p.tenant}/agents/${other}`, { body: { is_active: true } });
  await p.send('POST', `${p.tenant}/agents/${other}/cron-jobs/${daily}/pause`);
  assert.equal(await list(future), []);
  await p.send('POST', `${p.tenant}/agents/${other}/cron-jobs/${daily}/resume`);
});

test('a member sees only the occurrences of agents on which they have a role', async () => {
  const { key, user_id } = await addMember(p, 'MEMBER');
  assert.equal(await list(day, key), []);
  assert.equal(await list({ ...day, agent_id: agent }, key), []);
  await p.send('PUT', `${p.tenant}/agents/${other}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  assert.equal(new Set((await list(day, key)).map(({ agent_id }) => agent_id)), new Set([other]));
  assert.equal(await list({ ...day, agent_id: agent }, key), []);
});

test('if an occurrence is skipped while an earlier one is due, the earlier one still fires, and the job continues after the skipped one', async () => {
  p.clock.now = () => Date.parse('2126-03-05T06:30:00Z');
  const late = await createJob(other, { name: 'Late', cron_expr: '0 * * * *' });
  p.clock.now = () => Date.parse('2126-03-05T07:10:00Z');
  await p.send('POST', `${p.tenant}/agents/${other}/cron-jobs/${late}/skip`);
  for (const at of ['2126-03-05T07:10:01Z', '2126-03-05T08:00:05Z', '2126-03-05T09:00:05Z']) {
    p.clock.now = () => Date.parse(at);
    await p.waitForProjections();
    await decideDueJobs(p);
  }
  await p.waitForProjections();
  const runs = (await p.send('GET', `${p.tenant}/agents/${other}/cron-jobs/${late}/runs?sort=due_at`)).body as Json[];
  assert.equal(
    runs.map(({ due_at, decision }) => [due_at, decision]),
    [
      ['2126-03-05T07:00:00.000Z', 'fired'],
      ['2126-03-05T08:00:00.000Z', 'skipped'],
      ['2126-03-05T09:00:00.000Z', 'fired'],
    ],
  );
});

/** Makes a request during which `change` happens, after the jobs are read and before anything else is. */
const changing = async <T>(change: () => Promise<unknown>, request: () => Promise<T>): Promise<T> => {
  const { rows } = p.reads;
  let isRead = false;
  p.reads.rows = (async (...given: Parameters<typeof rows>) => {
    const found = await rows.apply(p.reads, given);
    if (isRead || !found.some((row) => 'next_fire_at' in (row as object))) return found;
    isRead = true;
    await change();
    await p.waitForProjections();
    return found;
  }) as typeof rows;
  try {
    return await request();
  } finally {
    p.reads.rows = rows;
    assert.ok(isRead);
  }
};

test('an occurrence that is decided while the list is read is in it once', async () => {
  p.clock.now = () => Date.parse('2126-03-05T09:30:00Z');
  const job_id = await createJob(other, { name: 'Decided', cron_expr: '0 * * * *' });
  p.clock.now = () => Date.parse('2126-03-05T10:00:05Z');
  const period = { from: '2126-03-05T10:00:00Z', to: '2126-03-05T13:00:00Z', agent_id: other };
  const found = await changing(
    () => decideDueJobs(p),
    () => list(period),
  );
  const times = found.filter((one) => one.job_id === job_id).map(({ due_at, predicted }) => [due_at.slice(11, 16), predicted]);
  assert.equal(times, [
    ['10:00', false],
    ['11:00', true],
    ['12:00', true],
  ]);
});

test('an occurrence that is skipped while the list or the impact of a blackout is read is in neither', async () => {
  p.clock.now = () => Date.parse('2126-03-05T13:30:00Z');
  const lonely = await createAgent('lonely');
  const job_id = await createJob(lonely, { name: 'Skipped', cron_expr: '0 * * * *' });
  const skip = () => p.send('POST', `${p.tenant}/agents/${lonely}/cron-jobs/${job_id}/skip`);
  const period = { from: '2126-03-05T13:30:00Z', to: '2126-03-05T17:00:00Z', agent_id: lonely, decision: 'fired' };
  const planned = await changing(skip, () => list(period));
  assert.equal(
    planned.map(({ due_at }) => due_at.slice(11, 16)),
    ['15:00', '16:00'],
  );
  const draft = { start_date: '2126-03-05', end_date: '2126-03-05', timezone: 'UTC', agent_ids: [lonely] };
  const impact = await changing(skip, () => p.send('POST', `${p.tenant}/cron-blackouts/impact`, { body: draft }));
  assert.is((impact.body as Json).runs, 8, 'those from 16:00 to 23:00');
});

test('a request for the list of occurrences is refused if its period is empty or longer than 32 days, but not if it is a month in which clocks go back', async () => {
  for (const query of ['from=2126-03-05T00:00:00Z&to=2126-03-05T00:00:00Z', 'from=2126-03-01T00:00:00Z&to=2126-04-02T00:00:01Z']) {
    const { status, body } = await p.send('GET', `${p.tenant}/cron-occurrences?${query}`);
    assert.equal([status, (body as { errors: { pointer: string }[] }).errors[0]!.pointer], [422, '/query/to']);
  }
  const october = 'from=2126-09-30T22:00:00Z&to=2126-10-31T23:00:00Z';
  assert.is((await p.send('GET', `${p.tenant}/cron-occurrences?${october}`)).status, 200);
});

test.after(p.close);
test.run();
