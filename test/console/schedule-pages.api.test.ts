import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dayAfterKey } from '../../api/console/browser/calendar-keys.mjs';
import { createAgent, createCronJob, startConsole } from '../fixtures/console-platform.ts';
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
/** The rows of the table of due times, which a day has. */
const marksIn = (text: string): Mark[] =>
  [...text.matchAll(/data-kind="cron-occurrence" data-id="[^"]+" data-state="(\w+)" data-due="([^"]+)"/g)].map(([, state, due]) => ({
    due: due!,
    state: state!,
  }));

/** The numbers of the calendar: how many runs a job has on a day. */
const runsIn = (text: string): string[] =>
  [...text.matchAll(/data-kind="cron-job" data-id="([^"]+)"([\s\S]*?)(?=data-kind=|<\/table>)/g)].flatMap(([, job, rest]) =>
    [...rest!.matchAll(/data-runs="(\d+)" data-date="([^"]+)"/g)].map(([, runs, date]) => `${job} ${date} ${runs}`),
  );

type Summary = { readonly job_id: string; readonly days: readonly { readonly date: string; readonly due: number }[] };

const summarized = async (query: string): Promise<string[]> => {
  const { body, status, text } = await p.send('GET', `${p.tenant}/cron-occurrences/summary?${query}`);
  assert.is(status, 200, text);
  return (body as Summary[]).flatMap(({ job_id, days }) => days.map(({ date, due }) => `${job_id} ${date} ${due}`));
};

test('without jobs and blackouts, the page says what a calendar would show', () => {
  assert.is(empty.status, 200);
  assert.match(empty.text, /data-empty[\s\S]+Nothing is due in this period/);
});

test('the calendar of a day, week or month has the number of runs of each job and day that the API counts', async () => {
  for (const [view, first, last] of [
    ['day', '2126-03-04', '2126-03-04'],
    ['week', '2126-03-04', '2126-03-10'],
    ['month', '2126-03-01', '2126-03-31'],
  ]) {
    const { status, text } = await open(`${week}&view=${view}`);
    assert.is(status, 200);
    const expected = await summarized(`first_day=${first}&last_day=${last}`);
    assert.equal(runsIn(text).toSorted(), expected.toSorted());
    assert.is(expected.length, { day: 2, week: 14, month: 56 }[view!]);
  }
});

test('a day of the calendar has the times of a rare job, and the counts by decision of a frequent one', async () => {
  const { text } = await open(week);
  assert.match(text, /class="mark fired" title="fired">[\s\S]{0,300}<time datetime="2126-03-04T09:00:00.000Z">09:00<\/time>/);
  assert.match(text, /class="mark suppressed" title="suppressed: blackout, predicted">/);
  for (const [count, word] of [
    ['1', 'fired'],
    ['2', 'missed'],
    ['1', 'skipped'],
    ['13', 'planned'],
    ['24', 'suppressed'],
  ])
    assert.match(text, `<span>${count}<span class="state-word"> ${word}</span></span>`);
  assert.match(text, '<span>24 runs</span>');
});

test('the page of a day lists its due times as the API does, and the busiest minutes', async () => {
  const query = 'from=2126-03-04T00:00:00Z&to=2126-03-05T00:00:00Z&limit=500';
  const listed = (await p.send('GET', `${p.tenant}/cron-occurrences?${query}`)).body as {
    due_at: string;
    decision: string;
    predicted: boolean;
  }[];
  const { text } = await open(`${week}&view=day`);
  const expected = listed.map(
    ({ due_at, decision, predicted }) => `${due_at} ${predicted && decision === 'fired' ? 'predicted' : decision}`,
  );
  assert.equal(
    marksIn(text).map(({ due, state }) => `${due} ${state}`),
    expected,
  );
  assert.match(text, /data-busy="2126-03-04T09:00"[\s\S]+ 2 runs of 2 agents/);
  assert.not.match(text, /data-incomplete/);
  const filtered = await open(`${week}&view=day&decision=skipped`);
  assert.is(marksIn(filtered.text).length, 1);
  assert.not.match(filtered.text, /Busiest minutes/);
});

test('the week shows blackouts as bands, links to jobs and to other weeks, and says its time zone once', async () => {
  const { text } = await open(week);
  assert.match(text, /class="band" data-kind="blackout"[\s\S]+Blackout: Maintenance · The database is moved[\s\S]+class="covered"/);
  assert.match(text, new RegExp(`href="${p.base}/agents/${agent}/cron-jobs/${hourly}"[^>]*>Hourly report`));
  for (const date of ['2126-02-25', '2126-03-11']) assert.match(text, new RegExp(`href="${path}\\?date=${date}"`));
  assert.is(text.split('Times are in UTC').length, 2);
  assert.not.match(text, /data-skipped/);
});

test('the calendar and the page of a job name a job of which a blackout skips every run', async () => {
  const rare = await createCronJob(p, other, { name: 'Month-end close', cron_expr: '0 12 5 * *' });
  const named = new RegExp(
    `data-skipped=""[\\s\\S]+?every run of this week of: <a [^>]+cron-jobs/${rare}"[^>]*>Month-end close</a> of Cleaner`,
  );
  assert.match((await open(week)).text, named);
  assert.match((await open(`${week}&view=month`)).text, /data-skipped=""[\s\S]+?of this month of: /);
  for (const query of ['view=day&date=2126-03-05', 'date=2126-03-04&decision=suppressed', 'date=2126-04-02&view=month'])
    assert.not.match((await open(`${path}?${query}`)).text, /data-skipped/, query);
  assert.match(
    (await open(`${p.base}/agents/${other}/cron-jobs/${rare}?date=2126-03-01`)).text,
    /data-skipped=""[\s\S]+?every run of this month/,
  );
  await p.send('DELETE', `${p.tenant}/agents/${other}/cron-jobs/${rare}`);
});

test('the days of the calendar and its times are those of the time zone', async () => {
  const { text } = await open(`${path}?view=day&date=2126-03-05&zone=Asia%2FTokyo`);
  const due = marksIn(text).map((mark) => mark.due);
  assert.equal([due.toSorted()[0], due.toSorted().at(-1)], ['2126-03-04T15:00:00.000Z', '2126-03-05T14:00:00.000Z']);
  assert.match(text, /<time datetime="2126-03-05T09:00:00.000Z">18:00</);
  assert.match(text, /Times are in Asia\/Tokyo/);
});

test('a month in which clocks change by an hour or half an hour has one run of a daily job on each day', async () => {
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
      const days = [...text.matchAll(/data-day="([^"]+)"/g)].map(([, day]) => day!);
      assert.is(days.length, month === '2127-04' ? 30 : 31);
      assert.equal(runsIn(text).toSorted(), days.flatMap((day) => jobs.map((job) => `${job} ${day} 1`)).toSorted());
    }
    for (const id of jobs) await p.send('DELETE', `${p.tenant}/agents/${zoned}/cron-jobs/${id}`);
  }
});

test('a filter of the schedule page keeps the other parameters of the URL; a filter without matches offers to clear it', async () => {
  const only = runsIn((await open(`${week}&agent_id=${other}`)).text);
  assert.equal(new Set(only.map((run) => run.split(' ')[0])), new Set([daily]));
  assert.equal(runsIn((await open(`${week}&decision=skipped`)).text), [`${hourly} 2126-03-04 1`]);
  assert.equal(
    marksIn((await open(`${week}&view=day&decision=skipped`)).text).map(({ due }) => due),
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

test('no job cuts off the calendar; a day with more due times than fit in its table says so, and has a further page', async () => {
  const busy = await createCronJob(p, other, { name: 'Always', cron_expr: '* * * * *' });
  const all = (await open(week)).text;
  assert.equal(new Set(runsIn(all).map((run) => run.split(' ')[1])).size, 7);
  assert.ok(runsIn(all).includes(`${busy} 2126-03-10 1440`), all);
  const first = await open(`${path}?view=day&date=2126-03-06`);
  assert.match(first.text, /<span>1,440 runs<\/span>[\s\S]+data-cut=""[^>]*>Only the due times up to /);
  const next = /href="([^"]+times=[^"]+)"/.exec(first.text)![1]!.replaceAll('&amp;', '&');
  const both = [...marksIn(first.text), ...marksIn((await open(next)).text)];
  assert.is(marksIn(first.text).length, 500);
  assert.ok(both.length > 500);
  await p.send('DELETE', `${p.tenant}/agents/${other}/cron-jobs/${busy}`);
});

test('a day of the month with more jobs than fit shows the rarest ones, and links to the others', async () => {
  const more = await Promise.all([1, 2, 3, 4, 5].map((n) => createCronJob(p, other, { name: `Job ${n}`, cron_expr: `${n} ${n} 9 * *` })));
  const { text } = await open(`${week}&view=month`);
  const ninth = text.split('data-day="2126-03-09"')[1]!.split('data-day="2126-03-10"')[0]!;
  for (const id of more.slice(0, 4)) assert.match(ninth, new RegExp(`data-id="${id}"`));
  assert.match(ninth, /class="more-jobs" href="[^"]+date=2126-03-09[^"]*"[^>]*>2 more jobs, 25 due/);
  for (const id of more) await p.send('DELETE', `${p.tenant}/agents/${other}/cron-jobs/${id}`);
});

test('a tenant with more jobs than a week shows has further pages of jobs, each with the whole week', async () => {
  const many = await Promise.all(
    Array.from({ length: 51 }, (_, n) => createCronJob(p, other, { name: `Many ${n}`, cron_expr: `${n} 8 * * *` })),
  );
  const pages: string[] = [];
  for (let href: string | null = `${path}?date=2126-03-11`; href !== null; ) {
    const { text } = await open(href);
    pages.push(...runsIn(text));
    href = /rel="next">Further jobs/.test(text) ? /href="([^"]+cursor=[^"]+)"/.exec(text)![1]!.replaceAll('&amp;', '&') : null;
  }
  assert.equal(pages.toSorted(), (await summarized('first_day=2126-03-11&last_day=2126-03-17')).toSorted());
  assert.is(pages.length, (51 + 2) * 7);
  for (const id of many) await p.send('DELETE', `${p.tenant}/agents/${other}/cron-jobs/${id}`);
});

test('if no due time of a day matches the filters, the page says so', async () => {
  const busy = await createCronJob(p, other, { name: 'Always', cron_expr: '* * * * *' });
  const { status, text } = await open(`${path}?view=day&date=2126-03-11&decision=missed`);
  assert.is(status, 200);
  assert.match(text, /Nothing matches/);
  await p.send('DELETE', `${p.tenant}/agents/${other}/cron-jobs/${busy}`);
});

test('the page has all blackouts, also those after the first page of the list', async () => {
  const body = { ...blackout, start_date: '2127-01-01', end_date: '2127-01-01' };
  const names = Array.from({ length: 201 }, (_, n) => `Later ${n} of them`);
  for (const name of names) await p.send('POST', `${p.tenant}/cron-blackouts`, { body: { ...body, name } });
  const { text } = await open(week);
  assert.equal(
    names.filter((name) => !text.includes(name)),
    [],
  );
});

test('a member sees the due times of the agents on which they have a role, and no others', async () => {
  const { key, user_id } = await addMember(p, 'MEMBER');
  const session = await p.signIn(key);
  assert.equal(runsIn((await open(week, session)).text), []);
  await p.send('PUT', `${p.tenant}/agents/${other}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  const { text } = await open(week, session);
  assert.is(runsIn(text).length, 7);
  assert.not.match(text, /Hourly report/);
  assert.is((await open(`${p.base}/agents/${agent}/cron-jobs/${hourly}`, session)).status, 404);
  const own = await open(`${p.base}/agents/${other}/cron-jobs/${daily}`, session);
  assert.is(own.status, 200);
  assert.not.match(own.text, /data-form="pauseCronJob"/);
});

test.after(p.close);
test.run();
