import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAgent, createCronJob, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { decideDueJobs } from '../fixtures/decide-due-jobs.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';

const p = await startConsole();

test('the runs that are suppressed by a blackout are those which the preview of its form has listed', async () => {
  const start = Date.parse('2126-03-04T06:30:00.000Z');
  p.clock.now = () => start;
  const cookie = await p.signIn();
  const zoned = await createAgent(p, 'Abroad');
  for (const [cron_expr, timezone] of [
    ['30 23 * * *', 'America/New_York'],
    ['30 0 * * *', 'Europe/Berlin'],
    ['0 */6 * * *', 'UTC'],
  ] as const)
    await createCronJob(p, zoned, { name: timezone, cron_expr, timezone });
  const run = '/console/run/declareCronBlackout';
  const form = formIn((await p.open(`${run}?tenant_id=${p.tenant_id}`, cookie)).text, 'declareCronBlackout');
  const filled = {
    '/name': 'Move',
    '/start_date': '2126-03-06',
    '/end_date': '2126-03-07',
    '/timezone': 'Europe/Berlin',
    '/agent_id': zoned,
  };
  const fields = Object.fromEntries(submittedBy(form, filled));
  const preview = (await p.submit(run, { ...fields, _preview: '1' }, OWN_PAGE, cookie)).text;
  const rows = preview.matchAll(/data-kind="cron-job"[^>]*><td class="main-cell"><strong><span class="event">([^<]+)</g);
  const listed = [...rows].map(([, due]) => new Date(due!).toISOString());
  assert.is((await p.submit(run, fields, OWN_PAGE, cookie)).status, 303);
  for (let hour = 0; hour < 4 * 24; hour++) {
    p.clock.now = () => start + hour * 3_600_000;
    await decideDueJobs(p);
  }
  const query = `from=2126-03-04T00:00:00Z&to=2126-03-10T00:00:00Z&agent_id=${zoned}&decision=suppressed&limit=200`;
  const suppressed = (await p.send('GET', `${p.tenant}/cron-occurrences?${query}`)).body as { due_at: string; predicted: boolean }[];
  assert.is(listed.length, 12);
  assert.equal(
    suppressed.map(({ due_at, predicted }) => ({ due_at, predicted })),
    listed.map((due_at) => ({ due_at, predicted: false })),
  );
});

test.after(p.close);
test.run();
