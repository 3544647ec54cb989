import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openAdvisoryLocks } from '../../infra/postgres/advisory-locks.ts';
import { type OpenedProjectionAdmin, openProjectionAdmin } from '../../infra/projector/projection-admin.ts';
import { startProjections } from '../../infra/projector/projector.ts';
import { createReads } from '../../infra/readmodel/postgres-read-model.ts';
import { projections } from '../../projections/registry.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { formIn, normalizedHtml, submittedBy } from '../fixtures/html-form.ts';
import { query, rowsIn, silentLogger, waitUntil } from '../fixtures/live-projections.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { readModelDatabase } from '../fixtures/template-database.ts';
import { addMember, addSuperAdmin } from '../fixtures/users.ts';

const LIST = '/console/platform/projections';
const AGENTS = `${LIST}/agents`;

const databaseUrl = await readModelDatabase();
let admin: OpenedProjectionAdmin | undefined;
const p = await startConsole({
  createProjectionAdmin: (log) => {
    admin = openProjectionAdmin(databaseUrl, log, silentLogger);
    return admin;
  },
});
let worker = await startProjections({ log: p.log, databaseUrl, projections, logger: silentLogger });
const ada = await p.signIn((await addSuperAdmin(p, 'ada@example.com')).key);
for (const name of ['Reviewer', 'Triage', 'Scribe']) await createAgent(p, name);

const names = () =>
  query<{ name: string }>(databaseUrl, 'select name from agents.agents order by name').then((rows) => rows.map(({ name }) => name));
await waitUntil('the agents', names, ({ length }) => length === 3);

/**
 * Submits the form of an operation on a page. If the page has several forms of the operation, `at` selects one of them.
 */
const press = async (path: string, operation: string, { typed = {}, cookie = p.cookie, at = 0 } = {}) => {
  const { text } = await p.open(path, cookie);
  const forms = [...text.matchAll(new RegExp(`<form[^>]*data-form="${operation}"[\\s\\S]*?</form>`, 'g'))];
  assert.ok(forms[at], `${operation} on ${path}`);
  return p.submit(`/console/run/${operation}`, Object.fromEntries(submittedBy(forms[at][0], typed)), OWN_PAGE, cookie);
};

const linkTo = (text: string, operation: string): string =>
  new RegExp(`href="(/console/run/${operation}[^"]*)"`).exec(text)![1]!.replaceAll('&amp;', '&');

/** Requests a rebuild through the form of the page, and waits until it is ready. @returns the text of the page */
const rebuilt = async (): Promise<string> => {
  const answer = await press(AGENTS, 'rebuildProjection');
  assert.equal([answer.status, answer.headers.get('location')], [303, AGENTS], answer.text);
  return waitUntil(
    'the rebuild',
    () => p.open(AGENTS).then(({ text }) => text),
    (text) => text.includes('data-form="abortRebuild"') && text.includes('/console/run/promoteRebuild'),
  );
};

test('the page of projections shows the state, lag, position and writer of each, and refreshes itself', async () => {
  const { status, text } = await waitUntil(
    'the statuses',
    () => p.open(LIST),
    ({ text: shown }) => shown.match(/data-state="live"/g)?.length === projections.length,
  );
  assert.is(status, 200);
  assert.match(text, /data-id="agents" data-position="\d+:\d+"[\s\S]+version \d+, written by /);
  assert.match(text, new RegExp(`<summary>${projections.length} projections are up to date at <code>\\d+:\\d+</code>`));
  assert.match(text, /data-poll="2000"/);
});

test('super-admins see the link to the page of projections; for other users, that page looks like an unknown page', async () => {
  assert.ok((await p.open('/console/platform')).text.includes(`href="${LIST}"`));
  const member = await p.signIn((await addMember(p, 'OWNER', p.tenant_id, 'tenant-owner@example.com')).key);
  assert.not.ok((await p.open(p.base, member)).text.includes(LIST));
  const unknown = (await p.open('/console/platform/nowhere', member)).text;
  for (const path of [LIST, AGENTS, `${AGENTS}/rebuilds/1`, '/console/platform/drift?sample=1']) {
    const answer = await p.open(path, member);
    assert.equal([answer.status, normalizedHtml(answer.text)], [404, normalizedHtml(unknown)], path);
  }
  assert.is((await p.open('/console/run/rebuildProjection?name=agents', member)).status, 404);
  for (const path of [`${LIST}/nothing`, `${AGENTS}/rebuilds/999`]) assert.is((await p.open(path)).status, 404, path);
});

test('aborting a rebuild in the console keeps the live rows', async () => {
  const before = await rowsIn(databaseUrl, 'agents', 'agents');
  const text = await rebuilt();
  assert.match(text, /data-state="ready"[\s\S]+(All \d+ rows are|The only row is) equal\./);
  assert.match(text, /The live projection: up to date/);
  const aborted = await press(AGENTS, 'abortRebuild');
  assert.equal([aborted.status, aborted.headers.get('location')], [303, AGENTS], aborted.text);
  assert.equal(await rowsIn(databaseUrl, 'agents', 'agents'), before);
  const after = (await p.open(AGENTS)).text;
  assert.match(after, /data-kind="rebuild"[\s\S]+data-state="aborted"[\s\S]+by Administrator/);
  assert.is(formIn(after, 'abortRebuild'), '');
});

test('if two operators promote a rebuild at the same time, one succeeds, and the other is told who was first', async () => {
  await query(databaseUrl, `update agents.agents set name = 'Spoilt' where name = 'Triage'`);
  const text = await rebuilt();
  assert.match(text, /1 of \d+ rows? differs\./);
  const page = /href="([^"]+\/rebuilds\/\d+)"/.exec(text)![1]!;
  const differing = await p.open(page);
  assert.is(differing.text.match(/data-kind="row-difference"/g)?.length, 1);
  assert.match(
    differing.text,
    /<th scope="row"><code>name<\/code><\/th><td><del>\[6 characters, [0-9a-f]{6}\]<\/del><\/td><td><ins>\[6 characters, [0-9a-f]{6}\]<\/ins><\/td><\/tr><\/tbody>/,
  );
  assert.match((await p.open(`${page}?column=slug`)).text, /No row differs now/);
  const form = linkTo(text, 'promoteRebuild');
  const typed = { '/reason': 'The names were wrong' };
  const answers = await Promise.all([
    press(form, 'promoteRebuild', { typed }),
    press(form, 'promoteRebuild', { typed: { '/reason': 'Mine too' }, cookie: ada }),
  ]);
  const won = answers.findIndex(({ status }) => status === 303);
  const [winner, reason] = [
    ['Administrator', 'The names were wrong'],
    ['ada@example.com', 'Mine too'],
  ][won] as [string, string];
  const lost = answers[1 - won]!;
  assert.is(lost.status, 409);
  assert.match(lost.text, new RegExp(`data-problem[\\s\\S]+by ${winner}|${winner} has already`));
  assert.equal(await names(), ['Reviewer', 'Scribe', 'Triage']);
  assert.equal(
    p.eventsOf('ProjectionPromoted').map(({ data }) => (data as { reason: string }).reason),
    [reason],
  );
  assert.match((await p.open(AGENTS)).text, new RegExp(`“${reason}”[\\s\\S]+data-state="promoted"[\\s\\S]+by ${winner}`));
});

test('while a rebuild is promoted, no page that shows its rows fails, and the next one shows the new rows; everybody sees the same rebuild', async () => {
  const live = await createReads(databaseUrl, silentLogger);
  const before = { ...p.reads };
  Object.assign(p.reads, live);
  await query(databaseUrl, `update agents.agents set list_doc = replace(list_doc::text, 'Triage', 'Spoilt')::json`);
  const list = `${p.base}/agents`;
  const statuses = new Set<number>();
  let isOver = false;
  const polling = Promise.all(
    [list, `${p.tenant}/agents`].map(async (path) => {
      for (; !isOver; await sleep(5)) statuses.add((await p.open(path)).status);
    }),
  );
  try {
    assert.match((await p.open(list)).text, />Spoilt</);
    const text = await rebuilt();
    const rebuilds = (html: string) =>
      /data-kind="rebuild"[\s\S]+?<\/table>/.exec(normalizedHtml(html))![0].replace(/The live projection: [^<]*/, '');
    assert.is(rebuilds((await p.open(AGENTS, ada)).text), rebuilds((await p.open(AGENTS)).text));
    const promoted = await press(linkTo(text, 'promoteRebuild'), 'promoteRebuild');
    assert.is(promoted.status, 303, promoted.text);
    const next = (await p.open(list)).text;
    assert.match(next, />Triage</);
    assert.not.match(next, /Spoilt/);
    await sleep(100);
  } finally {
    isOver = true;
    await polling;
    Object.assign(p.reads, before);
    await live.close();
  }
  assert.equal([...statuses], [200]);
});

test('the drift page compares a sample of rows with the log only on request, and shows the rows that differ', async () => {
  await query(databaseUrl, `update agents.agents set name = 'Drifted' where name = 'Scribe'`);
  const before = await p.open('/console/platform/drift');
  assert.match(before.text, /data-empty[\s\S]+No sample yet/);
  assert.not.match(before.text, /data-poll/);
  const other = await p.open('/console/platform/drift?sample=1&projection=plans');
  assert.match(other.text, /of 1 projection[\s\S]+No drift/);
  assert.match((await p.open(AGENTS)).text, /have not been compared with the log yet/);
  const { text } = await p.open('/console/platform/drift?sample=1');
  assert.match(text, /agents: 1 row with drift[\s\S]+differs in name[\s\S]+\[7 characters, [0-9a-f]{6}\]/);
  assert.not.match(text, /Drifted|Scribe/, 'a text of a tenant');
  const { text: agents } = await p.open(AGENTS);
  assert.match(agents, /Last sample[\s\S]+Differed<\/dt><dd>1 row<\/dd>[\s\S]+First event<\/dt><dd><code>agent-/);
  assert.match((await p.open(LIST)).text, /1 row with drift in the last sample/);
  assert.is((await p.open('/console/platform/drift?sample=1&projection=nothing')).status, 422);
});

test('the page of a projection shows a parked event with its error and the events that wait for it; its button retries the event', async () => {
  const id = `c${'0'.repeat(24)}`;
  const meta = { tenant: p.tenant_id, actor: { kind: 'system', id: 'test' }, at: new Date().toISOString(), v: 1 } as const;
  p.allowUnappliedEvents();
  const event = () => ({ id: randomUUID(), type: 'AgentDeleted', data: {}, meta });
  await p.log.append(`agent-${p.tenant_id}.${id}`, 'none', [event(), event()]);
  const shown = () => p.open(AGENTS).then(({ text }) => text);
  const text = await waitUntil('the parked event', shown, (page) => page.includes('1 later event'));
  assert.match(text, new RegExp(`data-kind="parked-event"[\\s\\S]+${id}`));
  const retried = await press(AGENTS, 'retryParkedEvent');
  assert.is(retried.status, 303, retried.text);
  assert.is(p.eventsOf('ParkedEventRetried').length, 1);
  await waitUntil('the attempt', shown, (page) => /data-kind="parked-event"[\s\S]+?data-label="Attempts">[2-9]/.test(page));
});

test('if the cause is corrected, the button that retries a parked event clears it and the events that wait for it', async () => {
  const [agent, tenant] = [p.eventsOf('AgentCreated')[0]!, p.eventsOf('TenantCreated')[0]!];
  const id = `c${'1'.repeat(24)}`;
  const append = (stream: string, ...events: [type: string, data: object][]) =>
    p.log.append(
      stream,
      'none',
      events.map(([type, data]) => ({ id: randomUUID(), type, data, meta: { ...agent.meta, tenant: id } })),
    );
  p.allowUnappliedEvents();
  await append(`agent-${id}.${agent.id}`, ['AgentCreated', agent.data], ['AgentDeleted', {}]);
  const page = `${LIST}/tenants`;
  const shown = () => p.open(page).then(({ text }) => text);
  const parked = await waitUntil('the parked events', shown, (text) => text.includes('1 later event'));
  assert.match(parked, /data-kind="parked-event"/);
  await append(tenant.stream.replaceAll(tenant.id, id), ['TenantCreated', { ...tenant.data, slug: 'late' }]);
  const [{ agent_count } = {}] = await waitUntil(
    'the tenant',
    () => query<{ agent_count: number }>(databaseUrl, 'select agent_count from tenants.tenants where id = $1', [id]),
    ({ length }) => length === 1,
  );
  assert.is(Number(agent_count), 0);
  assert.match(await shown(), /1 later event/);
  assert.is((await press(page, 'retryParkedEvent')).status, 303);
  // The count and the list are two calls of the page, and the retry can end between them.
  const isCleared = (text: string): boolean =>
    /Parked<\/dt><dd>nothing/.test(text) && text.includes('It has applied every event that it has read');
  const cleared = await waitUntil('the retry', shown, isCleared);
  assert.not.match(cleared, /data-kind="parked-event"/);
});

test('while another process holds the lock of a projection, a page says how far it is behind, and that a change is missing', async () => {
  await worker.close();
  const locks = openAdvisoryLocks(databaseUrl, () => {});
  assert.equal(await locks.acquire(['agents']), ['agents']);
  worker = await startProjections({ log: p.log, databaseUrl, projections, logger: silentLogger });
  const live = await createReads(databaseUrl, silentLogger);
  const { passed, behindMs } = p.reads;
  Object.assign(p.reads, { passed: live.passed, behindMs: live.behindMs });
  const shown = async (query = '') => (await p.open(`${p.base}/agents${query}`)).text;
  try {
    const created = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Late', slug: 'late' } });
    const token = created.headers.get('consistency-token')!;
    const startedAt = performance.now();
    const text = await shown(`?after=${token}`);
    assert.ok(performance.now() - startedAt < 4_000 * loadFactor());
    assert.match(text, new RegExp(`data-missed="${token}"[\\s\\S]+It does not show the latest change yet[\\s\\S]+Late`));
    await waitUntil('the age', shown, (page) => /data-stale="[2-9]"[\s\S]+This view is [2-9] s behind\./.test(page));
    assert.not.match((await p.open(`${p.base}/audit`)).text, /data-stale/);
    await locks.close();
    await waitUntil('the current view', shown, (page) => !page.includes('data-stale'));
    assert.not.match(await shown(`?after=${token}`), /data-stale/);
  } finally {
    Object.assign(p.reads, { passed, behindMs });
    await live.close();
    await locks.close();
  }
});

afterLastTest(async () => {
  await worker.close();
  await admin!.close();
  await p.close();
});

test.run();
