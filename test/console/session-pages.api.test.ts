import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { barChart, MAX_BUCKETS } from '../../api/console/parts/chart.ts';
import { htmlOf } from '../../api/console/parts/tags.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { addMember, addSuperAdmin } from '../fixtures/users.ts';

const p = await startConsole();
const keyOf = async (role: 'ADMIN' | 'MEMBER' | 'AUDITOR') =>
  p.signIn((await addMember(p, role, p.tenant_id, `s-${role}@example.com`)).key);

const emptyList = await p.open(`${p.base}/sessions`);

const agent = await createAgent(p, 'Reviewer');
const integration = await createIntegration(p, agent);
await deliver(p, integration, 'push', { zen: 'x' });
const delivery = await findDelivery(p, 'accepted');
const session = await seedSession(p, agent, { delivery_id: delivery });

test('an empty list of sessions explains what it would show; if nothing matches a filter, the list offers to clear the filter', async () => {
  assert.match(emptyList.text, /data-empty[\s\S]+No sessions yet[\s\S]+Open the agents/);
  assert.match((await p.open(`${p.base}/sessions?status=failed`)).text, /data-empty[\s\S]+Clear the filters/);
});

test("the page of a session shows its messages with tokens and cost, its delivery, and the agent's state at the start of the session", async () => {
  const { status, text } = await p.open(`${p.base}/sessions/${session.id}`);
  assert.is(status, 200, text);
  assert.match(
    text,
    /Please review pull request 42\.[\s\S]+never ends[\s\S]+12,400 in, 860 out[\s\S]+\$0\.05[\s\S]+waits for an answer[\s\S]+below \$0\.01/,
  );
  assert.match(text, new RegExp(`/deliveries/${delivery}`));
  const { body } = await p.send('GET', `${p.tenant}/sessions/${session.id}`);
  const { position, agent_revision } = (body as { session: { position: string; agent_revision: number } }).session;
  assert.ok(text.includes(`/agents/${agent}?as_of=${encodeURIComponent(position)}" data-revision="${agent_revision}"`), text);
  assert.match((await p.open(`${p.base}/deliveries/${delivery}`)).text, new RegExp(`/sessions/${session.id}`));
});

test('the link to the agent of a session shows the models of the revision at which the session started', async () => {
  const addModel = async (slug: string): Promise<string> => {
    const fields = { provider: 'acme', slug, name: `Model ${slug}`, available_to_all_tenants: true };
    return ((await p.send('POST', '/admin/models', { body: fields })).body as { id: string }).id;
  };
  const models = [await addModel('first'), await addModel('second')];
  const chained = await createAgent(p, 'Chained');
  const chain = (model_ids: string[]) => p.send('PUT', `${p.tenant}/agents/${chained}/models`, { body: { model_ids } });
  await chain(models);
  const { id } = await seedSession(p, chained);
  await chain(models.toReversed());
  await p.waitForProjections();
  const { text } = await p.open(`${p.base}/sessions/${id}`);
  const href = /href="([^"]+)" data-revision/.exec(text)![1]!.replaceAll('&amp;', '&');
  const chainOn = async (path: string) => [...(await p.open(path)).text.matchAll(/Model (first|second)/g)].map(([, name]) => name);
  assert.equal(await chainOn(href), ['first', 'second']);
  assert.equal((await chainOn(`${p.base}/agents/${chained}`)).slice(0, 2), ['second', 'first']);
  assert.match(text, /class="model-chain"><li>first<\/li><li>second</);
});

test('the list of sessions shows each session with its agent and state', async () => {
  const { text } = await p.open(`${p.base}/sessions?status=waiting`);
  assert.match(text, new RegExp(`data-kind="session" data-id="${session.id}"[\\s\\S]+Review of pull request 42[\\s\\S]+Reviewer`));
});

test('the list of sessions offers to start one only to visitors who may assign work to an agent', async () => {
  const offers = async ({ key }: { key: string }): Promise<boolean> =>
    /Start a session/.test((await p.open(`${p.base}/sessions`, await p.signIn(key))).text);
  const add = (role: 'ADMIN' | 'MEMBER' | 'AUDITOR', name: string) => addMember(p, role, p.tenant_id, `${name}@example.com`);
  const [admin, auditor, member] = [await add('ADMIN', 'boss'), await add('AUDITOR', 'checker'), await add('MEMBER', 'worker')];
  const give = async (role: string) => {
    await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${member.user_id}`, { body: { role } });
    await p.waitForProjections();
  };
  assert.ok(await offers(admin));
  assert.not(await offers(auditor));
  assert.not(await offers(await addSuperAdmin(p, 'guest@example.com')));
  assert.not(await offers(member), 'without a role');
  await give('VIEWER');
  assert.not(await offers(member), 'VIEWER');
  await give('MANAGER');
  assert.ok(await offers(member), 'MANAGER');
});

test('the button that cancels a session is shown only to visitors who may assign work to the agent, and it cancels the session', async () => {
  const path = `${p.base}/sessions/${session.id}`;
  const [admin, auditor, member] = [await keyOf('ADMIN'), await keyOf('AUDITOR'), await keyOf('MEMBER')];
  assert.match((await p.open(path, admin)).text, /data-form="cancelSession"/);
  const seen = await p.open(path, auditor);
  assert.is(seen.status, 200);
  assert.not.match(seen.text, /data-form="cancelSession"/);
  assert.is((await p.open(path, member)).status, 404);
  assert.not.match((await p.open(`${p.base}/sessions`, member)).text, /data-kind="session"/);
  const fields = { ':tenant_id': p.tenant_id, ':session_id': session.id, _key: crypto.randomUUID(), _return: path };
  assert.is((await p.submit('/console/run/cancelSession', fields)).status, 303);
  await p.waitForProjections();
  const { text } = await p.open(path);
  assert.match(text, /data-state="cancelled"/);
  assert.not.match(text, /data-form="cancelSession"/);
});

test('the page of a session shows its last 50 messages, and leads to the earlier ones and back', async () => {
  const path = `${p.base}/sessions/${session.id}`;
  assert.not.match((await p.open(path)).text, /Earlier messages|Latest messages/);
  const answer = await p.send('GET', `${p.tenant}/sessions/${session.id}?order=newest&limit=2`);
  const cursor = /cursor=([^&>]+)/.exec(answer.headers.get('link') ?? '')?.[1];
  assert.ok(cursor, answer.text);
  const last = (answer.body as { messages: { id: string }[] }).messages.map(({ id }) => id);
  const { text } = await p.open(`${path}?cursor=${cursor}`);
  assert.match(text, new RegExp(`href="${path}"[^>]*>(?:<[^>]+>)*Latest messages`));
  assert.match(text, /Please review pull request 42/);
  for (const id of last) assert.not.match(text, new RegExp(`id="m-${id}"`));
});

test('a chart has at most 120 bars, which add up to the total of the data, and a table has the same numbers', () => {
  const buckets = Array.from({ length: 500 }, (_, n) => ({ label: `hour ${n}`, values: [n % 7, 1] }));
  const series = [
    { label: 'accepted', tone: 'good' },
    { label: 'rejected', tone: 'bad' },
  ] as const;
  const text = htmlOf(barChart({ id: 'c', title: 'Deliveries', series, buckets }), '/assets');
  const bars = text.match(/class="bar"/g)!.length;
  assert.ok(bars <= MAX_BUCKETS && bars > MAX_BUCKETS / 2, String(bars));
  const cells = [...text.matchAll(/<td>([\d,]+)<\/td>/g)].map((found) => Number(found[1]!.replaceAll(',', '')));
  assert.is(cells.length, bars * 2);
  assert.is(
    cells.reduce((sum, value) => sum + value, 0),
    buckets.flatMap(({ values }) => values).reduce((sum, value) => sum + value, 0),
  );
  assert.match(text, /role="img" aria-labelledby="c-title"[\s\S]*<title id="c-title">Deliveries/);
  assert.match(text, /fill="url\(#c-p1\)"/);
  assert.not.match(text, / style="/);
});

afterLastTest(() => p.close());

test.run();
