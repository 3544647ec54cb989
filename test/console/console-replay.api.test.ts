import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { advanceReplays } from '../../infra/deliveries/replay-deliveries.ts';
import { runningJobs } from '../../projections/deliveries/replay-job.queries.ts';
import { createAgent, createIntegration, deliver, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';
import { addMember } from '../fixtures/users.ts';
import { replayerOf } from '../fixtures/without-releases.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const other = await createAgent(p, 'Other');
const integration = await createIntegration(p, agent);
const idOf = async (event: string, n: number) => (await deliver(p, integration, event, { n })).id!;
const pushes = [await idOf('push', 1), await idOf('push', 2)];
await idOf('issues', 3);
await p.waitForProjections();

const now = () => new Date().toISOString();
const requeued = () => p.eventsOf('DeliveryRequeued').map(({ id, data }) => [id, (data as { agent_id: string }).agent_id]);
const runAll = async (): Promise<void> => {
  await p.waitForProjections();
  while (await advanceReplays(replayerOf(p.log), await runningJobs(p.reads, now()), now())) await p.waitForProjections();
  await p.waitForProjections();
};

/** Opens a page as a browser does that follows a link on another page of the console. */
const follow = (path: string, session = p.cookie) =>
  p.send('GET', path, { key: '', headers: { cookie: session, 'sec-fetch-site': 'same-origin' } });
const linkIn = (html: string, operation: string): string | undefined =>
  new RegExp(`href="(/console/run/${operation}[^"]*)"`).exec(html)?.[1]?.replaceAll('&amp;', '&');
const submit = (operation: string, fields: URLSearchParams) =>
  p.send('POST', `/console/run/${operation}`, {
    key: '',
    raw: fields.toString(),
    headers: { cookie: p.cookie, 'content-type': 'application/x-www-form-urlencoded', ...OWN_PAGE },
  });

test('the link to all matching deliveries opens a form with their number, the filters, and the present as the end', async () => {
  const list = await p.open(`${p.base}/deliveries?event=push`);
  const form = await follow(linkIn(list.text, 'replayTenantDeliveries')!);
  assert.is(form.status, 200, form.text.slice(0, 300));
  assert.match(form.text, /data-total="2"><strong>2 deliveries match<\/strong>/);
  const fields = submittedBy(formIn(form.text, 'replayTenantDeliveries'));
  assert.is(fields.get('/event'), 'push');
  assert.ok(fields.get('/to')! <= now() && fields.get('/to')! > '2020');
  assert.is(p.eventsOf('DeliveriesReplayRequested').length, 0);
});

/** Returns the texts of the summary above the fields of a replay form. */
const summaryIn = (html: string): string[] =>
  [...html.matchAll(/<li class="summary-chip">(.*?)<\/li>/g)].map(([, chip]) => chip!.replaceAll(/<[^>]*>/g, ''));

test('without an outcome, the form says that accepted and given up deliveries are sent again, as the API does', async () => {
  const path = `/console/run/replayTenantDeliveries?tenant_id=${p.tenant_id}`;
  const { text } = await follow(path);
  assert.equal(summaryIn(text), ['Outcome Accepted and given up']);
  assert.match(text, /data-total="3"/);
  const fields = submittedBy(formIn(text, 'replayTenantDeliveries'), { '/outcome': 'dead' });
  const dead = await submit('replayTenantDeliveries', new URLSearchParams([...fields, ['_preview', '1']]));
  assert.equal(summaryIn(dead.text), ['Outcome Given up']);
  const one = await follow(`/console/run/replayDeliveries?tenant_id=${p.tenant_id}&id=${integration}`);
  assert.match(one.text, /<select[^>]*name="\/outcome"[^>]*>\s*<option value="" selected[^>]*>Accepted and given up</);
});

/** The filters that a link to the replay form can set, each with the chip that its summary then shows. */
const CHIPS: readonly (readonly [filter: string, value: string, chip: string])[] = [
  ['agent_id', agent, 'Agent Reviewer'],
  ['integration_id', integration, 'Integration '],
  ['integration_id', 'c123456789012345678901234', 'Integration The chosen one'],
  ['provider', 'github', 'Provider GitHub'],
  ['provider', 'cron', 'Provider Cron jobs'],
  ['reason', 'max_deliveries', 'Reason All attempts failed'],
  ['problem', '3f9a3f9a3f9a3f9a', 'Cause of the failure The same cause'],
  ['problem', 'none', 'Cause of the failure Without a report'],
  ['matched_secret', 'previous', 'Signed with The previous secret'],
  ['failed', 'true', 'Failed at a runner Yes'],
  ['status', 'done', 'Status Acknowledged'],
  ['status', 'dead', 'Status Given up'],
];

test('the summary of a replay form has words for each filter, and no id; empty filters say that they select all', async () => {
  for (const [filter, value, chip] of CHIPS) {
    const query = new URLSearchParams({ tenant_id: p.tenant_id, [filter]: value });
    const { text } = await p.open(`/console/run/replayTenantDeliveries?${query}`);
    const chips = summaryIn(text);
    assert.ok(
      chips.some((one) => one.startsWith(chip)),
      chips.join(),
    );
    assert.not.match(chips.join(), /c[a-z0-9]{24}|3f9a|_/, filter);
  }
  const { text } = await p.open(`/console/run/replayTenantDeliveries?tenant_id=${p.tenant_id}`);
  assert.equal(formIn(text, 'replayTenantDeliveries').match(/(?:<option[^>]*>|placeholder=")No (?!limit|reason)[^<"]*/g), null);
});

test('the form sends what matched when it was opened to the chosen agent, and leads to the page of the job', async () => {
  const list = await p.open(`${p.base}/deliveries?event=push`);
  const form = await follow(linkIn(list.text, 'replayTenantDeliveries')!);
  const fields = submittedBy(formIn(form.text, 'replayTenantDeliveries'), { '/target_agent_id': other, '/per_second': '50' });
  const late = await idOf('push', 4);
  const sent = await submit('replayTenantDeliveries', fields);
  assert.is(sent.status, 303, sent.text);
  const location = sent.headers.get('location')!;
  assert.match(location, new RegExp(`^${p.base}/jobs/c\\w{24}\\?after=\\d+:\\d+$`));
  const running = await p.open(location);
  assert.match(running.text, /data-state="running"/);
  assert.match(running.text, /data-done="0" data-total="2">0 of 2 deliveries/);
  assert.match(running.text, new RegExp(`<dt>Target</dt><dd><a href="${p.base}/agents/${other}">`));
  assert.match(running.text, /at most 50 per second/);
  assert.match(running.text, /data-form="cancelJob"/);
  await runAll();
  assert.equal(
    requeued(),
    pushes.map((id) => [id, other]),
  );
  assert.ok(!requeued().some(([id]) => id === late));
  const done = await p.open(location.split('?')[0]!);
  assert.match(done.text, /data-state="done"[\s\S]*2 of 2 deliveries/);
  assert.not.match(done.text, /data-form="cancelJob"/);
});

test('a job is cancelled by the button on its page, which then says so', async () => {
  const started = await p.send('POST', `${p.tenant}/deliveries/replay`, { body: { per_second: 1 } });
  const path = `${p.base}/jobs/${(started.body as { id: string }).id}`;
  await p.waitForProjections();
  const cancelled = await submit('cancelJob', submittedBy(formIn((await p.open(path)).text, 'cancelJob')));
  assert.is(cancelled.status, 303, cancelled.text);
  assert.is(cancelled.headers.get('location')!.split('?')[0], path);
  assert.match((await p.open(cancelled.headers.get('location')!)).text, /data-state="cancelled"/);
});

test('the replay form of an integration leads to the page of its job, and its dry run shows the number of deliveries', async () => {
  const page = await p.open(`${p.base}/integrations/${integration}`);
  const form = await follow(linkIn(page.text, 'replayDeliveries')!);
  const period = { '/from': '2020-01-01T00:00:00Z', '/to': '2120-01-01T00:00:00Z' };
  const counted = submittedBy(formIn(form.text, 'replayDeliveries'), period);
  const jobs = p.eventsOf('DeliveriesReplayRequested').length;
  const answer = await submit('replayDeliveries', new URLSearchParams([...counted, ['_preview', '1']]));
  assert.is(answer.status, 200, answer.text);
  assert.match(answer.text, /4 deliveries match/);
  const dry = await submit('replayDeliveries', new URLSearchParams([...counted, ['/dry_run', 'true']]));
  assert.equal([dry.status, p.eventsOf('DeliveriesReplayRequested').length], [200, jobs]);
  assert.match(dry.text, /4 deliveries match/);
  const again = submittedBy(formIn(dry.text, 'replayDeliveries'));
  again.delete('/dry_run');
  const sent = await submit('replayDeliveries', again);
  assert.is(sent.status, 303, sent.text.slice(0, 300));
  assert.match(sent.headers.get('location')!, /\/jobs\/c\w{24}\?/);
});

test('a row of Problems leads to its deliveries, whose form counts exactly these; a period limits the rows', async () => {
  const { event_id } = p.eventsOf('DeliveryRequeued').findLast(({ id }) => id === pushes[0])!;
  const data = {
    delivery_id: pushes[0]!,
    event_id,
    at: now(),
    attempts: 5,
    reason: 'max_deliveries',
    capture: { epoch: 'e', sequence: 1 },
  };
  const meta = { tenant: p.tenant_id, actor: { kind: 'system', id: 'annals' } as const, at: now(), v: 1 };
  const dead = { id: crypto.randomUUID(), type: 'DeliveryDeadLettered', data, meta };
  await p.log.append(`acknowledgement-${p.tenant_id}.${agent}`, 'none', [dead]);
  await p.waitForProjections();
  const problems = await p.open(`${p.base}/deliveries/problems`);
  const group = /href="([^"]*state=dead[^"]*)" class="row-link"/.exec(problems.text)![1]!.replaceAll('&amp;', '&');
  const listed = await p.open(group);
  assert.match(listed.text, /Replay 1 …/);
  const link = linkIn(listed.text, 'replayTenantDeliveries')!;
  const query = new URL(link, 'http://annals.test').searchParams;
  assert.equal([query.get('outcome'), query.get('reason'), query.get('problem')], ['dead', 'max_deliveries', 'none']);
  assert.match((await follow(link)).text, /1 delivery matches/);
  const past = await p.open(`${p.base}/deliveries/problems?from=2020-01-01T00:00:00.000Z&to=2020-01-02T00:00:00.000Z`);
  assert.match(past.text, /No problems in this period/);
});

test('a member without the permission sees no link to replay; a job that does not exist looks like an unknown page', async () => {
  const member = await p.signIn((await addMember(p, 'MEMBER')).key);
  assert.not.match((await p.open(`${p.base}/deliveries`, member)).text, /replayTenantDeliveries/);
  assert.is((await p.open(`${p.base}/jobs/c${'0'.repeat(24)}`)).status, 404);
  assert.is(linkIn((await p.open(`${p.base}/deliveries?outcome=rejected`)).text, 'replayTenantDeliveries'), undefined);
});

test.after(() => p.close());
test('a blocked delivery is released with the form on its page, which then says when and why', async () => {
  await p.send('PATCH', `${p.tenant}/webhook-integrations/${integration}`, { body: { is_paused: true } });
  const blocked = await idOf('push', 90);
  await idOf('push', 91);
  await p.waitForProjections();
  const path = `${p.base}/deliveries/${blocked}`;
  const shown = await p.open(path);
  assert.not.match(shown.text, /data-form="redeliverDelivery"/);
  const form = await follow(linkIn(shown.text, 'releaseDelivery')!);
  const fields = submittedBy(formIn(form.text, 'releaseDelivery'), { '/reason': 'Paused by mistake' });
  const sent = await submit('releaseDelivery', fields);
  assert.equal([sent.status, sent.headers.get('location')!.split('?')[0]], [303, path], sent.text.slice(0, 300));
  const after = await p.open(path);
  assert.match(after.text, /Released by \S+: Paused by mistake/);
  assert.match(after.text, /data-form="redeliverDelivery"/);
  assert.not.match(after.text, /releaseDelivery/);
});

test('the list of blocked deliveries leads to the form that releases all of them with one reason', async () => {
  const list = await p.open(`${p.base}/deliveries?outcome=blocked`);
  assert.match(list.text, /Release 1 …/);
  const form = await follow(linkIn(list.text, 'replayTenantDeliveries')!);
  assert.match(form.text, /data-total="1"/);
  const fields = submittedBy(formIn(form.text, 'replayTenantDeliveries'), { '/release_reason': 'Paused by mistake' });
  const sent = await submit('replayTenantDeliveries', fields);
  assert.is(sent.status, 303, sent.text.slice(0, 300));
  const { data } = p.eventsOf('DeliveriesReplayRequested').at(-1)!;
  const { outcome, release_reason, ids } = data as { outcome: string; release_reason: string; ids: string[] };
  assert.equal([outcome, release_reason, ids.length], ['blocked', 'Paused by mistake', 1]);
  await p.send('PATCH', `${p.tenant}/webhook-integrations/${integration}`, { body: { is_paused: false } });
});

test('a held delivery says on its page and in the list why it waits, and can be released there', async () => {
  const rule = { name: 'busy', kind: 'rate', options: { max: 1, per_seconds: 86_400 }, action: 'hold' };
  const path = `${p.tenant}/webhook-integrations/${integration}/guardrails`;
  assert.is((await p.send('PUT', path, { body: [rule] })).status, 200);
  await idOf('held', 95);
  const held = await idOf('held', 96);
  await p.waitForProjections();
  const shown = await p.open(`${p.base}/deliveries/${held}`);
  const why = 'rule busy: the limit of 1 in 86400 s is reached';
  assert.match(shown.text, new RegExp(`Held: <span>${why}, until \\d`));
  assert.match(shown.text, /data-state="held"/);
  assert.ok(linkIn(shown.text, 'releaseDelivery'));
  assert.not.match(shown.text, /data-form="redeliverDelivery"/);
  const list = await p.open(`${p.base}/deliveries?status=held`);
  assert.match(list.text, new RegExp(`data-id="${held}"`));
  assert.not.match(list.text, /replayTenantDeliveries/);
  const answer = await p.send('POST', `${p.tenant}/deliveries/${held}/release`, { body: { reason: 'It is urgent' } });
  assert.is(answer.status, 202, answer.text);
  await p.waitForProjections();
  const released = await p.open(`${p.base}/deliveries/${held}`);
  assert.match(released.text, new RegExp(`Was held<span class="quiet"> ${why}<[\\s\\S]*Released by [^<]*: It is urgent<`));
});

test('if a period in a form is not a valid time, the form shows what was typed, with an error', async () => {
  const url = `/console/run/replayTenantDeliveries?tenant_id=${p.tenant_id}&to=soon`;
  const shown = await p.open(url);
  assert.is(shown.status, 200, shown.text);
  const sent = await submit('replayTenantDeliveries', new URLSearchParams({ ':tenant_id': p.tenant_id, '/to': 'soon' }));
  assert.is(sent.status, 422, sent.text);
  assert.match(sent.text, /value="soon"/);
});

test.run();
