import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAgent, createCronJob, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { decideDueJobs } from '../fixtures/decide-due-jobs.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';

const START = Date.parse('2126-03-04T06:30:00.000Z');
const RUN = '/console/run/declareCronBlackout';

const p = await startConsole();
p.clock.now = () => START;
const cookie = await p.signIn();
const abroad = await createAgent(p, 'Abroad');
const inactive = await createAgent(p, 'Resting');
const free = await createAgent(p, 'Free');
for (const [cron_expr, timezone] of [
  ['30 23 * * *', 'America/New_York'],
  ['30 0 * * *', 'Europe/Berlin'],
  ['0 */6 * * *', 'UTC'],
  ['0 12 6 * *', 'UTC'],
] as const)
  await createCronJob(p, abroad, { name: `${cron_expr} ${timezone}`, cron_expr, timezone });
for (const agent of [inactive, free]) await createCronJob(p, agent, { name: 'Hourly', cron_expr: '0 * * * *' });
await p.send('PATCH', `${p.tenant}/agents/${inactive}`, { body: { is_active: false } });
const earlier = { name: 'Earlier', start_date: '2126-03-06', end_date: '2126-03-06', agent_id: free };
// If there are several blackouts, the oldest is the one that suppresses a run.
p.clock.now = () => START - 60_000;
await p.send('POST', `${p.tenant}/cron-blackouts`, { body: earlier });
p.clock.now = () => START;

const form = formIn((await p.open(`${RUN}?tenant_id=${p.tenant_id}`, cookie)).text, 'declareCronBlackout');
const DAYS = { '/start_date': '2126-03-06', '/end_date': '2126-03-07', '/timezone': 'Europe/Berlin' };
const filled = (more: Record<string, string>) => Object.fromEntries(submittedBy(form, { '/name': 'Move', ...DAYS, ...more }));
const impactIn = (text: string) => Number(/data-impact="(\d+)"/.exec(text)?.[1]);

/** Decides every due time of the four days after the start, and returns those that these blackouts have suppressed. */
const suppressedBy = async (ids: readonly string[]) => {
  for (let hour = 0; hour < 4 * 24; hour++) {
    p.clock.now = () => START + hour * 3_600_000;
    await decideDueJobs(p);
  }
  const query = 'from=2126-03-04T00:00:00Z&to=2126-03-10T00:00:00Z&decision=suppressed&limit=500';
  const all = (await p.send('GET', `${p.tenant}/cron-occurrences?${query}`)).body as Record<'job_id' | 'due_at' | 'blackout_id', string>[];
  return all.filter(({ blackout_id }) => ids.includes(blackout_id));
};

test('the form of a blackout counts its runs by job and day without script, and names jobs that it skips entirely', async () => {
  const events = p.log.events.length;
  const { status, text } = await p.submit(RUN, { ...filled({}), _preview: '1' }, OWN_PAGE, cookie);
  assert.is(status, 200, text);
  assert.match(text, /<strong>Exactly \d+ runs of 2 agents<\/strong> would be suppressed from 6 March 2126 to 7 March 2126\./);
  assert.match(
    text,
    /data-skipped=""[\s\S]+not run at all in a month:[\s\S]{0,20}<strong>0 12 6 \* \* UTC<\/strong> of Abroad in March 2126/,
  );
  assert.match(text, /further runs on these days are suppressed by present blackouts/);
  assert.match(text, /data-day="2126-03-07">\d+ runs/);
  const wrong = await p.submit(RUN, { ...filled({ '/end_date': '2126-03-05' }), _preview: '1' }, OWN_PAGE, cookie);
  assert.is(wrong.status, 422);
  assert.match(wrong.text, /data-pointer="\/end_date"[\s\S]+?class="field-error"/);
  assert.is(p.log.events.length, events);
});

test('a blackout for some agents is refused without an agent, with the error at that field', async () => {
  for (const agent_id of ['', ',']) {
    const { status, text } = await p.submit(RUN, filled({ '_one/agents': 'some', '/agent_id': agent_id }), OWN_PAGE, cookie);
    assert.is(status, 422);
    assert.match(text, /data-pointer="\/agent_id"[\s\S]+?class="field-error"/);
  }
});

test('if one of several agents is refused, the form says how many are done and has only the others', async () => {
  for (const other of ['no-id', `c${'0'.repeat(24)}`]) {
    const fields = new URLSearchParams(filled({ '_one/agents': 'some', '/name': `Half ${other}` }));
    fields.set('_key', crypto.randomUUID());
    for (const id of [inactive, other]) fields.append('/agent_id', id);
    const { status, text } = await p.submit(RUN, `${fields}`, OWN_PAGE, cookie);
    assert.ok(status >= 400 && status < 500, text);
    assert.match(text, /data-done="1"[\s\S]{0,300}1 of the chosen ones is done, and no longer in the form\./);
    const left = new URLSearchParams(submittedBy(formIn(text, 'declareCronBlackout'), {}));
    assert.equal(
      left.getAll('/agent_id').filter((one) => one !== ''),
      [other],
      text,
    );
  }
});

test('the runs that several blackouts suppress are those which the impact has counted, by job and day', async () => {
  const fields = new URLSearchParams(filled({ '_one/agents': 'some' }));
  for (const id of [abroad, free]) fields.append('/agent_id', id);
  const preview = await p.submit(RUN, `${fields}&_preview=1`, OWN_PAGE, cookie);
  assert.is(preview.status, 200, preview.text);
  const draft = { start_date: '2126-03-06', end_date: '2126-03-07', timezone: 'Europe/Berlin', agent_ids: [abroad, free] };
  type Impact = { jobs: { job_id: string; days: { date: string; runs: number }[] }[]; runs: number; exact: boolean };
  const impact = (await p.send('POST', `${p.tenant}/cron-blackouts/impact`, { body: draft })).body as Impact;
  assert.equal([impact.exact, impact.runs], [true, impactIn(preview.text)]);
  assert.is((await p.submit(RUN, `${fields}`, OWN_PAGE, cookie)).status, 303);
  const declared = (await p.send('GET', `${p.tenant}/cron-blackouts?limit=10`)).body as Record<'id' | 'name' | 'agent_id', string>[];
  const own = declared.filter(({ name }) => name === 'Move');
  assert.equal(own.map(({ agent_id }) => agent_id).toSorted(), [abroad, free].toSorted());
  const dayOf = (at: string) => new Date(at).toLocaleDateString('en-CA', { timeZone: 'Europe/Berlin' });
  const suppressed = await suppressedBy(own.map(({ id }) => id));
  const counts = Map.groupBy(suppressed, ({ job_id, due_at }) => `${job_id} ${dayOf(due_at)}`);
  assert.ok(suppressed.length > 30, String(suppressed.length));
  assert.equal(
    [...counts].map(([key, all]) => `${key} ${all.length}`).toSorted(),
    impact.jobs.flatMap(({ job_id, days }) => days.map(({ date, runs }) => `${job_id} ${date} ${runs}`)).toSorted(),
  );
});

test.after(p.close);
test.run();
