import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createAgent, createCronJob, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { decideDueJobs } from '../fixtures/decide-due-jobs.ts';

const START = Date.parse('2126-03-04T06:30:00.000Z');

const p = await startConsole();
p.clock.now = () => START;
const cookie = await p.signIn();
const open = (page: string) => p.open(page, cookie);
const agent = await createAgent(p, 'Reporter');
const other = await createAgent(p, 'Cleaner');
const hourly = await createCronJob(p, agent, { name: 'Hourly report', cron_expr: '0 * * * *' });
await p.send('POST', `${p.tenant}/cron-blackouts`, { body: { name: 'Maintenance', start_date: '2126-03-05', end_date: '2126-03-05' } });
p.clock.now = () => START + 3 * 3_600_000;
await decideDueJobs(p);
await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs/${hourly}/skip`);

test('the page of a cron job shows its schedule, its next five due times, its month and each decision', async () => {
  const at = `${p.base}/agents/${agent}/cron-jobs/${hourly}`;
  const { status, text } = await open(`${at}?date=2126-03-01`);
  assert.is(status, 200);
  assert.match(text, new RegExp(`aria-label="Breadcrumb"[\\s\\S]*?href="${p.base}/agents/${agent}">Reporter</a>`));
  assert.match(text, new RegExp(`the agent <a href="${p.base}/agents/${agent}">Reporter</a>`));
  const next = text.split('class="next-times"')[1]!.split('</section>')[0]!;
  assert.equal(
    [...next.matchAll(/data-due="([^"]+)"/g)].map(([, due]) => due),
    [11, 12, 13, 14, 15].map((hour) => `2126-03-04T${hour}:00:00.000Z`),
  );
  assert.match(text, /At minute 0 of every hour, UTC[\s\S]+<code>0 \* \* \* \*<\/code>/);
  for (const state of ['fired', 'missed', 'skipped']) assert.match(text, new RegExp(`data-kind="cron-run"[^>]+data-state="${state}"`));
  const strip = text.split('class="calendar strip"')[1]!.split('</table>')[0]!;
  const days = [...strip.matchAll(/data-runs="(\d+)" data-date="([^"]+)"/g)].map(([, runs, date]) => `${date} ${runs}`);
  const later = Array.from({ length: 27 }, (_, n) => `2126-03-${String(n + 5).padStart(2, '0')} 24`);
  assert.equal(days, ['2126-03-04 17', ...later]);
  assert.match(strip, /class="covered" title="Blackout: Maintenance"[\s\S]{0,300}data-day="2126-03-05"/);
});

test('the month of a cron job says in which time zone the days of a blackout are', async () => {
  const body = { name: 'Holiday', start_date: '2126-03-20', end_date: '2126-03-20', timezone: 'Asia/Tokyo' };
  const { body: created } = await p.send('POST', `${p.tenant}/cron-blackouts`, { body });
  const { text } = await open(`${p.base}/agents/${agent}/cron-jobs/${hourly}?date=2126-03-01`);
  assert.match(text, /title="Blackout: Holiday · days in Asia\/Tokyo"/);
  await p.send('DELETE', `${p.tenant}/cron-blackouts/${(created as { id: string }).id}`);
});

test('the page of a cron job has one main button and two others; the rest is in a menu, whose pages name the job', async () => {
  const at = `${p.base}/agents/${agent}/cron-jobs/${hourly}`;
  const text = (await open(at)).text;
  const actions = text.slice(text.indexOf('class="actions"'), text.indexOf('class="columns"'));
  const [buttons, menu] = actions.split('class="row-menu"') as [string, string];
  assert.equal(
    [...buttons.matchAll(/<span[^>]*>(Run now|Pause|Edit|Skip the next run|History|Delete)<\/span>/g)].map(([, label]) => label),
    ['Run now', 'Pause', 'Edit'],
  );
  assert.is(buttons.match(/class="(?:button )?primary" popovertarget/g)?.length, 1, buttons);
  assert.not.match(buttons, /danger/);
  for (const operation of ['skipCronOccurrence', 'deleteCronJob']) {
    const href = new RegExp(`href="(/console/run/${operation}[^"]+)"`).exec(menu)![1]!.replaceAll('&amp;', '&');
    assert.match((await open(href)).text, /<strong>Hourly report<\/strong>/, operation);
  }
  assert.match(menu, /\/audit\?about=/);
});

test('the buttons of a cron job pause and resume it', async () => {
  const at = `${p.base}/agents/${agent}/cron-jobs/${hourly}`;
  const fields = { ':tenant_id': p.tenant_id, ':agent_id': agent, ':id': hourly, _key: crypto.randomUUID(), _return: at };
  const paused = await p.submit('/console/run/pauseCronJob', fields, OWN_PAGE, cookie);
  assert.is(paused.status, 303);
  assert.match((await open(at)).text, /data-state="paused"[\s\S]+data-form="resumeCronJob"[\s\S]+The job is paused, so it is not due/);
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

test.after(p.close);
test.run();
