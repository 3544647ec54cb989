import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dayAfterKey } from '../../api/console/browser/calendar-keys.mjs';
import { createAgent, createCronJob, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { decideDueJobs } from '../fixtures/decide-due-jobs.ts';
import { addMember } from '../fixtures/users.ts';

const HOUR_MS = 3_600_000;
/** This is a Monday. */
const START = Date.parse('2126-03-04T06:30:00.000Z');

const p = await startConsole();
const path = `${p.base}/schedules`;
const empty = await p.open(path);
p.clock.now = () => START;
const cookie = await p.signIn();
const open = (page: string, session = cookie) => p.open(page, session);
const agent = await createAgent(p, 'Reporter');
const other = await createAgent(p, 'Cleaner');
const hourly = await createCronJob(p, agent, { name: 'Hourly report', cron_expr: '0 * * * *' });
const daily = await createCronJob(p, other, { name: 'Clean up', cron_expr: '0 9 * * *' });
const blackout = { name: 'Maintenance', start_date: '2126-03-05', end_date: '2126-03-05', reason: 'The database is moved' };
await p.send('POST', `${p.tenant}/cron-blackouts`, { body: blackout });
p.clock.now = () => START + 3 * HOUR_MS;
await decideDueJobs(p);
await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs/${hourly}/skip`);

const week = `${path}?date=2126-03-04`;
type Mark = { readonly due: string; readonly state: string };
const marksIn = (text: string): Mark[] =>
  [...text.matchAll(/data-kind="cron-occurrence" data-id="[^"]+" data-state="(\w+)" data-due="([^"]+)"/g)].map(([, state, due]) => ({
    due: due!,
    state: state!,
  }));

test('without jobs and blackouts, the page says what a calendar would show', () => {
  assert.is(empty.status, 200);
  assert.match(empty.text, /data-empty[\s\S]+Nothing is due in this period/);
});

test('the calendar has one mark for each due time of a week or a month, with the decision that the API lists', async () => {
  for (const [view, from, to] of [
    ['day', '2126-03-04', '2126-03-05'],
    ['week', '2126-03-04', '2126-03-11'],
    ['month', '2126-03-01', '2126-04-01'],
  ]) {
    const query = `from=${from}T00:00:00Z&to=${to}T00:00:00Z&limit=500`;
    const listed = (await p.send('GET', `${p.tenant}/cron-occurrences?${query}`)).body as {
      due_at: string;
      decision: string;
      predicted: boolean;
    }[];
    const { status, text } = await open(`${week}&view=${view}`);
    assert.is(status, 200);
    const expected = listed.map(
      ({ due_at, decision, predicted }) => `${due_at} ${predicted && decision === 'fired' ? 'predicted' : decision}`,
    );
    const shown = marksIn(text).map(({ due, state }) => `${due} ${state}`);
    assert.equal(shown.toSorted(), expected.toSorted());
    assert.ok(listed.length > (view === 'day' ? 15 : 150), String(listed.length));
  }
  const states = new Set(marksIn((await open(week)).text).map(({ state }) => state));
  assert.equal([...states].toSorted(), ['fired', 'missed', 'predicted', 'skipped', 'suppressed']);
});

test('the week shows blackouts as bands, the busiest minutes, links to jobs and to other weeks, and a table with the same data', async () => {
  const { text } = await open(week);
  assert.match(text, /class="band" data-kind="blackout"[\s\S]+Blackout: Maintenance · The database is moved[\s\S]+class="covered"/);
  assert.match(text, /data-busy="2126-03-04T09:00"[\s\S]+ 2 runs of 2 agents/);
  assert.match(text, new RegExp(`href="${p.base}/agents/${agent}/cron-jobs/${hourly}"[^>]*>Hourly report`));
  for (const date of ['2126-02-25', '2126-03-11']) assert.match(text, new RegExp(`href="${path}\\?date=${date}"`));
  assert.match(text, /The same due times as a table[\s\S]+<caption class="hidden">Due times<\/caption>/);
  assert.match(text, /suppressed: blackout, predicted/);
});

test('the days of the calendar and its times are those of the time zone', async () => {
  const { text } = await open(`${path}?view=day&date=2126-03-05&zone=Asia%2FTokyo`);
  const due = marksIn(text).map((mark) => mark.due);
  assert.equal([due.toSorted()[0], due.toSorted().at(-1)], ['2126-03-04T15:00:00.000Z', '2126-03-05T14:00:00.000Z']);
  assert.match(text, /data-due="2126-03-05T09:00:00.000Z"[\s\S]*?<time datetime="2126-03-05T09:00:00.000Z">18:00</);
  assert.match(text, /Times are in Asia\/Tokyo/);
});

test('a month in which the clocks change has one mark for each due time, in zones that change by an hour or by half an hour', async () => {
  const zoned = await createAgent(p, 'Zoned');
  for (const [zone, ...months] of [
    ['Europe/Berlin', '2126-10', '2127-03'],
    ['Australia/Lord_Howe', '2126-10', '2127-04'],
  ] as const) {
    const jobs = await Promise.all(
      ['30 2 * * *', '45 1 * * *', '0 0 * * *', '30 23 * * *'].map((cron_expr) =>
        createCronJob(p, zoned, { name: `${cron_expr} ${zone}`, cron_expr, timezone: zone }),
      ),
    );
    for (const month of months) {
      const { status, text } = await open(`${path}?view=month&date=${month}-01&agent_id=${zoned}&zone=${encodeURIComponent(zone)}`);
      assert.is(status, 200, `${month} ${zone}`);
      const dates = marksIn(text).map(({ due }) => new Date(due).toLocaleDateString('en-CA', { timeZone: zone }));
      const days = [...text.matchAll(/data-day="([^"]+)"/g)].map(([, day]) => day!);
      assert.is(days.length, month === '2127-04' ? 30 : 31);
      assert.equal(
        dates.toSorted(),
        days.flatMap((day) => jobs.map(() => day)),
      );
    }
    for (const id of jobs) await p.send('DELETE', `${p.tenant}/agents/${zoned}/cron-jobs/${id}`);
  }
});

test('a filter of the schedule page keeps the other parameters of the URL; a filter without matches offers to clear it', async () => {
  const only = marksIn((await open(`${week}&agent_id=${other}`)).text);
  assert.is(only.length, 7);
  assert.equal(
    marksIn((await open(`${week}&decision=skipped`)).text).map(({ due }) => due),
    ['2126-03-04T10:00:00.000Z'],
  );
  const none = await open(`${week}&agent_id=${other}&decision=skipped`);
  assert.match(none.text, /data-empty[\s\S]+href="[^"]+schedules\?date=2126-03-04"[^>]*>Clear the filters/);
  assert.match((await open(`${path}?date=2126-02-31`)).text, /data-empty/);
});

test('each day of the month calendar links to the page of that day, and the arrow keys move from day to day', async () => {
  const { text } = await open(`${week}&view=month`);
  assert.match(text, /calendar-keys\.mjs/);
  const days = [...text.matchAll(/href="([^"]+)" data-day="([^"]+)"/g)];
  assert.is(days.length, 31);
  const [, href] = days.find(([, , day]) => day === '2126-03-05')!;
  assert.match((await open(href!.replaceAll('&amp;', '&'))).text, /Tuesday, 5 March 2126/);
  assert.equal(
    ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Enter'].map((key) => dayAfterKey(key, 8, 31)),
    [7, 9, 1, 15, null],
  );
  assert.equal([dayAfterKey('ArrowLeft', 0, 31), dayAfterKey('ArrowDown', 30, 31), dayAfterKey('ArrowDown', -1, 31)], [null, null, null]);
});

test('if there are more due times than fit on the schedule page, the page says so, and the next page has the others', async () => {
  const busy = await createCronJob(p, other, { name: 'Often', cron_expr: '*/10 * * * *' });
  const first = await open(week);
  assert.match(first.text, /data-cut=""[^>]*>Only the due times up to /);
  const next = /href="([^"]+cursor=[^"]+)"/.exec(first.text)![1]!.replaceAll('&amp;', '&');
  const both = [...marksIn(first.text), ...marksIn((await open(next)).text)];
  assert.is(marksIn(first.text).length, 500);
  assert.ok(both.length > 500);
  await p.send('DELETE', `${p.tenant}/agents/${other}/cron-jobs/${busy}`);
});

test('if none of the first due times matches a filter, the schedule page says so, and leads to the later ones', async () => {
  const busy = await createCronJob(p, other, { name: 'Always', cron_expr: '* * * * *' });
  const { status, text } = await open(`${path}?date=2126-03-11&decision=missed`);
  assert.is(status, 200);
  assert.match(text, /data-cut=""[^>]*>The first due times do not match\. There are later ones\.[\s\S]+cursor=/);
  assert.not.match(text, /Nothing matches/);
  await p.send('DELETE', `${p.tenant}/agents/${other}/cron-jobs/${busy}`);
});

test('the page of a cron job shows its schedule, its next due times, each decision and the buttons for changes; its pause button works', async () => {
  const at = `${p.base}/agents/${agent}/cron-jobs/${hourly}`;
  const { status, text } = await open(at);
  assert.is(status, 200);
  assert.match(text, new RegExp(`aria-label="Breadcrumb"[\\s\\S]*?href="${p.base}/agents/${agent}">Reporter</a>`));
  assert.match(text, new RegExp(`the agent <a href="${p.base}/agents/${agent}">Reporter</a>`));
  assert.is(text.split('class="next-times"')[1]!.split('<ul class="marks">').length - 1, 5);
  assert.match(text, /At minute 0 of every hour, UTC[\s\S]+<code>0 \* \* \* \*<\/code>/);
  for (const state of ['fired', 'missed', 'skipped']) assert.match(text, new RegExp(`data-kind="cron-run"[^>]+data-state="${state}"`));
  for (const form of ['runCronJobNow', 'skipCronOccurrence', 'pauseCronJob', 'deleteCronJob'])
    assert.match(text, new RegExp(`data-form="${form}"`));
  const fields = { ':tenant_id': p.tenant_id, ':agent_id': agent, ':id': hourly, _key: crypto.randomUUID(), _return: at };
  const paused = await p.submit('/console/run/pauseCronJob', fields, OWN_PAGE, cookie);
  assert.is(paused.status, 303);
  assert.match((await open(at)).text, /data-state="paused"[\s\S]+data-form="resumeCronJob"/);
  await p.submit('/console/run/resumeCronJob', { ...fields, _key: crypto.randomUUID() }, OWN_PAGE, cookie);
  assert.match((await open(`${p.base}/agents/${agent}/cron-jobs`)).text, /data-kind="cron-job"[\s\S]+Hourly report/);
  assert.is((await open(`${p.base}/agents/${other}/cron-jobs/${hourly}`)).status, 404);
});

test('the form of a cron job says what its expression means, its next five due times, and what happens when the clocks change', async () => {
  const from = { ':tenant_id': p.tenant_id, ':agent_id': agent };
  const preview = (fields: Record<string, string>, operation = 'createCronJob') =>
    p.submit(`/console/run/${operation}`, { ...from, _preview: '1', ...fields }, OWN_PAGE, cookie);
  const events = p.log.events.length;
  const berlin = await preview({ '/cron_expr': '30 2 * * *', '/timezone': 'Europe/Berlin' });
  assert.is(berlin.status, 200, berlin.text);
  assert.match(berlin.text, /data-words=""><strong>At 02:30, Europe\/Berlin/);
  assert.is(berlin.text.match(/<li data-due=/g)!.length, 5);
  const changes = (text: string) => [...text.matchAll(/data-change="">[\s\S]*?<span>([^<]+)/g)].map(([, change]) => change!);
  assert.equal(
    changes(berlin.text)
      .map((text) => text.replace(/^\d+ (\w+) \d+/, '$1'))
      .toSorted(),
    [
      'March: clocks skip from 02:00 to 03:00. What is due in between, such as 02:30, fires once, at 03:00.',
      'October: clocks go back from 03:00 to 02:00. What is due in between, such as 02:30, fires the first time only.',
    ],
  );
  const lordHowe = await preview({ '/cron_expr': '*/15 1,2 * * *', '/timezone': 'Australia/Lord_Howe' });
  assert.match(
    changes(lordHowe.text).join(),
    /clocks skip from 02:00 to 02:30. What is due in between, such as 02:00, fires once, at 02:30/,
  );
  assert.match(changes(lordHowe.text).join(), /clocks go back from 02:00 to 01:30. What is due in between, such as 01:30, fires the first/);
  const rhythm = await preview({ '/cron_expr': '0 */2 * * *', '/timezone': 'Europe/Berlin' });
  assert.match(changes(rhythm.text).join(), /such as 02:00, fires both times/);
  assert.equal(changes((await preview({ '/cron_expr': '0 12 * * *', '/timezone': 'Europe/Berlin' })).text), []);
  const wrong = await preview({ '/cron_expr': '0 25 * * *' });
  assert.is(wrong.status, 422);
  assert.match(wrong.text, /data-pointer="\/cron_expr"[\s\S]+?class="field-error"/);
  const edited = await preview({ ':id': hourly, '/cron_expr': '5 * * * *' }, 'updateCronJob');
  assert.match(edited.text, /data-form="updateCronJob"[\s\S]+At minute 5 of every hour, UTC/);
  assert.is((await preview({ ':agent_id': '', '/cron_expr': '5 * * * *' })).status, 422);
  assert.is(p.log.events.length, events);
});

test('a member sees the due times of the agents on which they have a role, and no others', async () => {
  const { key, user_id } = await addMember(p, 'MEMBER');
  const session = await p.signIn(key);
  assert.equal(marksIn((await open(week, session)).text), []);
  await p.send('PUT', `${p.tenant}/agents/${other}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  const { text } = await open(week, session);
  assert.is(marksIn(text).length, 7);
  assert.not.match(text, /Hourly report/);
  assert.is((await open(`${p.base}/agents/${agent}/cron-jobs/${hourly}`, session)).status, 404);
  const own = await open(`${p.base}/agents/${other}/cron-jobs/${daily}`, session);
  assert.is(own.status, 200);
  assert.not.match(own.text, /data-form="pauseCronJob"/);
});

test.after(p.close);
test.run();
