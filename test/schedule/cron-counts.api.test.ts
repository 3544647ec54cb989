import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { COUNT_LIMITS, type CountLimits, countPage } from '../../api/schedule/cron-counts.ts';
import type { Summary } from '../../api/schedule/cron-summary-fields.ts';
import type { CursorKey } from '../../projections/cursor.ts';
import { decideDueJobs } from '../fixtures/decide-due-jobs.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const HOUR_MS = 3_600_000;
const START = Date.parse('2126-03-27T20:30:00.000Z');

const p = await createTestPlatform();
p.clock.now = () => START;
const { body: agent } = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Reporter', slug: 'reporter' } });
const agent_id = (agent as { id: string }).id;
const JOBS = `${p.tenant}/agents/${agent_id}/cron-jobs`;
const createJob = async (name: string, cron_expr: string): Promise<string> => {
  const body = { name, cron_expr, kind: 'recurring', target_kind: 'internal_agent', target: agent_id };
  return ((await p.send('POST', JOBS, { body })).body as { id: string }).id;
};
const ahead = await createJob('Ahead', '0 * * * *');
await createJob('Before', '0 9 28 * *');
await createJob('Daily', '30 2 * * *');
await createJob('Often', '*/10 * * * *');
await createJob('Rare', '0 0 29 * *');
// The times that were skipped are due again with the new schedule.
for (let n = 0; n < 2; n++) await p.send('POST', `${JOBS}/${ahead}/skip`);
await p.send('PATCH', `${JOBS}/${ahead}`, { body: { cron_expr: '0,30 * * * *' } });
await p.send('POST', `${p.tenant}/cron-blackouts`, {
  body: { name: 'Closed', start_date: '2126-03-29', end_date: '2126-03-29', agent_id, timezone: 'UTC' },
});
await p.waitForProjections();

const dates = ['2126-03-27', '2126-03-28', '2126-03-29'];
const bounds = [...dates, '2126-03-30'].map((date) => Date.parse(date));
const tenant_id = p.tenant.split('/').at(-1)!;
const ctx = () => p.systemContext(tenant_id);

type Asked = { readonly after?: CursorKey | null; readonly decision?: 'missed' | 'suppressed' | 'skipped' };

const count = (limits: Partial<CountLimits>, { after = null, decision }: Asked = {}, context = ctx()) =>
  countPage(context, { dates, bounds, tenant_id, agent_ids: undefined, job_id: undefined, decision, limit: 100 }, after, {
    ...COUNT_LIMITS,
    ...limits,
  });

const allPages = async (limits: Partial<CountLimits>, decision?: Asked['decision']): Promise<readonly (readonly Summary[])[]> => {
  const pages: (readonly Summary[])[] = [];
  for (let after: CursorKey | null = null; pages.length < 20; ) {
    const { found, next } = await count(limits, { after, ...(decision && { decision }) });
    pages.push(found);
    if (next === null) return pages;
    after = next;
  }
  return pages;
};

const inexact = (found: readonly Summary[]): readonly string[] => found.filter(({ exact }) => !exact).map(({ job_name }) => job_name);

test('a page that ends because its time is over contains only complete jobs, and the next page continues it', async () => {
  const { found } = await count({});
  assert.equal(
    found.map(({ job_name }) => job_name),
    ['Ahead', 'Before', 'Daily', 'Often', 'Rare'],
  );
  assert.equal(
    await allPages({ ms: 0 }),
    found.map((one) => [one]),
  );
  const skipped = (await count({}, { decision: 'skipped' })).found;
  assert.equal((await allPages({ ms: 0 }, 'skipped')).flat(), skipped);
  assert.equal(
    (await allPages({ ms: 0 }, 'suppressed')).map((page) => page.map(({ job_name }) => job_name)),
    [['Ahead'], [], ['Daily'], ['Often'], ['Rare']],
  );
});

test('jobs whose occurrences are decided ahead are inexact if there are more of them than the maximum, each on its own', async () => {
  assert.equal(inexact((await count({ ahead: 2 })).found), []);
  assert.equal(inexact((await count({ ahead: 1 })).found), ['Ahead']);
});

test('times that were skipped in advance are counted once', async () => {
  const [{ due, skipped, days } = {} as Summary] = (await count({})).found;
  assert.equal([due, skipped, days.map((day) => day.due)], [7 - 1 + 48 + 48, 2, [6, 48, 48]]);
});

test('an occurrence that is decided after the jobs were read is counted once', async () => {
  const before = (await count({})).found;
  const context = ctx();
  let reads = 0;
  const rows = async (...given: Parameters<typeof p.reads.rows>) => {
    const found = await p.reads.rows(...given);
    if (reads++ > 0) return found;
    p.clock.now = () => START + 5 * HOUR_MS;
    await decideDueJobs(p);
    return found;
  };
  const during = { ...context, reads: Object.assign(Object.create(p.reads), { rows }) };
  const { found } = await count({}, {}, during);
  const dueOf = (all: readonly Summary[]) => all.map(({ job_name, due }) => [job_name, due]);
  assert.equal(dueOf(found), dueOf(before));
  assert.equal(dueOf((await count({})).found), dueOf(before));
});

test('jobs with too many recorded occurrences for one read are read in smaller batches, with the same result', async () => {
  const { found } = await count({});
  const most = Math.max(...found.map(({ due, planned, suppressed }) => due - planned - suppressed));
  assert.ok(most > 5);
  for (const limits of [{ jobs: 1 }, { jobs: 3 }, { recorded: most }])
    assert.equal((await count(limits)).found, found, JSON.stringify(limits));
});

test('a single job with more recorded occurrences than the maximum has the others, and is inexact', async () => {
  const { found } = await count({ recorded: 4 });
  assert.equal(inexact(found), ['Ahead', 'Often']);
  assert.ok(found.every(({ due }) => due > 0));
});

test('for missed occurrences, jobs that are due later are neither read nor predicted', async () => {
  const all = (await count({})).found.filter(({ missed }) => missed > 0);
  const { found } = await count({}, { decision: 'missed' });
  assert.equal(
    found.map(({ job_name, missed }: Json) => [job_name, missed]),
    all.map(({ job_name, missed }) => [job_name, missed]),
  );
  assert.equal((await allPages({ ms: 0 }, 'missed')).flat(), found);
});

test.after(p.close);
test.run();
