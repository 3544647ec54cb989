import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSessionPlatform, errorCode, type Json } from '../fixtures/session-platform.ts';
import { addMember } from '../fixtures/users.ts';

const p = await createSessionPlatform();
const { agent, model } = p;
const eventCount = (): number =>
  p.eventsOf('SessionStarted', 'MessageAppended', 'SessionCompleted', 'SessionFailed', 'SessionCancelled').length;

test('a new session is running, and records the revision and the model chain of its agent, and a position at which an as-of read returns that revision', async () => {
  const before = await p.send('GET', agent.path);
  const { user_id } = await addMember(p, 'MEMBER', p.tenant_id, 'ada@example.com');
  const answer = await p.send('POST', `${agent.path}/sessions`, { key: agent.runner, body: { title: 'Review', user_id } });
  const session = answer.body as Json;
  assert.is(answer.status, 201, answer.text);
  assert.is(answer.headers.get('location'), `${p.tenant}/sessions/${session.id}`);
  assert.is(`"${session.agent_revision}"`, before.headers.get('etag'));
  const { agent_id, status, title, message_count, created_by_id, model_id, model_ids, delivery_id, completed_at } = session;
  assert.equal(
    { agent_id, status, title, message_count, created_by_id, model_id, model_ids, delivery_id, completed_at },
    {
      agent_id: agent.id,
      status: 'running',
      title: 'Review',
      message_count: 0,
      created_by_id: null,
      model_id: model,
      model_ids: [model],
      delivery_id: null,
      completed_at: null,
    },
  );
  assert.equal([session.agent_name, session.user_email, session.user_id], ['Agent 0', 'ada@example.com', user_id]);
  const asOf = await p.send('GET', `${agent.path}?as_of=${encodeURIComponent(String(session.position))}`);
  assert.is(asOf.headers.get('etag'), `"${session.agent_revision}"`, 'the position shows the agent at the start');
});

test('starting a session of an inactive, deleted or unknown agent is refused; sessions that are running continue', async () => {
  const other = await p.createAgent();
  const running = String(((await p.send('POST', `${other.path}/sessions`, { key: other.runner, body: {} })).body as Json).id);
  const start = () => p.send('POST', `${other.path}/sessions`, { body: {} });
  await p.send('PATCH', other.path, { body: { is_active: false } });
  const inactive = await start();
  assert.equal([inactive.status, errorCode(inactive)], [409, 'agent_inactive']);
  assert.is((await p.append(`${p.tenant}/sessions/${running}`, {}, other.runner)).status, 201);
  await p.send('DELETE', other.path);
  const deleted = await start();
  assert.equal([deleted.status, errorCode(deleted)], [409, 'agent_deleted']);
  assert.is((await p.end(`${p.tenant}/sessions/${running}`, 'complete', {}, other.runner)).status, 200);
  assert.is((await p.send('POST', `${p.tenant}/agents/c${'0'.repeat(24)}/sessions`, { body: {} })).status, 404);
});

test('a request to start a session or append a message with an invalid value gets 422, and the error points to the field', async () => {
  for (const [body, pointer] of [
    [{ title: '' }, '/title'],
    [{ title: 'two\nlines' }, '/title'],
    [{ delivery_id: `c${'0'.repeat(24)}` }, '/delivery_id'],
    [{ user_id: `c${'0'.repeat(24)}` }, '/user_id'],
    [{ expires_in_seconds: 0 }, '/expires_in_seconds'],
    [{ expires_in_seconds: 2_592_001 }, '/expires_in_seconds'],
    [{ cron_occurrence_id: '' }, '/cron_occurrence_id'],
    [{ unknown: 1 }, '/unknown'],
  ] as const) {
    const answer = await p.send('POST', `${agent.path}/sessions`, { body });
    assert.equal([answer.status, ((answer.body as Json).errors as Json[])[0]!.pointer], [422, pointer], answer.text);
  }
  const session = await p.startSession();
  for (const [body, pointer] of [
    [{ role: 'robot' }, '/role'],
    [{ kind: 'thinking' }, '/kind'],
    [{ content: null }, '/content'],
    [{ model_id: `c${'0'.repeat(24)}` }, '/model_id'],
    [{ prompt_tokens: -1 }, '/prompt_tokens'],
    [{ prompt_tokens: 100_000_001 }, '/prompt_tokens'],
    [{ completion_tokens: 1.5 }, '/completion_tokens'],
    [{ cost_usd: 0.0000001 }, '/cost_usd'],
    [{ cost_usd: 10_001 }, '/cost_usd'],
  ] as const) {
    const answer = await p.append(session, body);
    assert.equal([answer.status, ((answer.body as Json).errors as Json[])[0]!.pointer], [422, pointer], answer.text);
  }
});

test('a message of the kind waiting sets the session to waiting, and any other message sets it to running', async () => {
  const session = await p.startSession();
  const waiting = await p.append(session, { kind: 'waiting', content: 'Which branch?' });
  assert.equal([waiting.status, (waiting.body as Json).kind], [201, 'waiting']);
  assert.is(await p.statusOf(session), 'waiting');
  await p.append(session, { kind: 'waiting', content: 'Please answer' });
  assert.is(await p.statusOf(session), 'waiting');
  await p.append(session, { role: 'user', content: 'main' });
  assert.is(await p.statusOf(session), 'running');
});

test('a session is shown with its messages in order, their contents, and the totals of tokens and cost', async () => {
  const session = await p.startSession({ title: 'Totals' });
  await p.append(session, { role: 'user', content: 'Grüße 🚀 "quoted"\n\tline' });
  const priced = await p.append(session, { content: 'By pricing', model_id: model, prompt_tokens: 10_000, completion_tokens: 2_000 });
  assert.equal([(priced.body as Json).cost_cents, (priced.body as Json).prompt_tokens], [6, 10_000]);
  await p.append(session, { content: 'By the runner', prompt_tokens: 100, completion_tokens: 1, cost_usd: 0.004999 });
  await p.append(session, { role: 'tool', content: '' });
  const detail = await p.read(session);
  const messages = detail.messages as Json[];
  assert.equal(
    messages.map(({ role, content, prompt_tokens, cost_cents }) => [role, content, prompt_tokens, cost_cents]),
    [
      ['user', 'Grüße 🚀 "quoted"\n\tline', 0, 0],
      ['assistant', 'By pricing', 10_000, 6],
      ['assistant', 'By the runner', 100, 0],
      ['tool', '', 0, 0],
    ],
  );
  const { total_tokens, prompt_tokens, completion_tokens, total_cost_cents } = detail;
  assert.equal([total_tokens, prompt_tokens, completion_tokens, total_cost_cents], [12_101, 10_100, 2_001, 6], '6 cents + 0.4999 cents');
  assert.is((detail.session as Json).message_count, 4);
  const used = p
    .eventsOf('UsageRecorded')
    .slice(-2)
    .map(({ data }) => data as Json);
  assert.equal(
    used.map(({ model_id, cost_micros }) => [model_id, cost_micros]),
    [
      [model, 60_000],
      [model, 4_999],
    ],
  );
});

test('contents, summaries and errors of sessions are stored only in encrypted form, and no read model or audit entry contains them', async () => {
  const session = await p.startSession();
  const texts = ['the secret plan', 'the secret summary', 'the secret error'];
  await p.append(session, { content: texts[0] });
  await p.end(session, 'fail', { summary: texts[1], error: texts[2] });
  const stored = JSON.stringify(p.log.events, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  const audited = (await p.send('GET', `${p.tenant}/audit-logs?limit=200`)).text;
  const rows = JSON.stringify([...p.foldedRows('sessions', 'sessions')]);
  for (const text of texts) assert.equal([stored.includes(text), audited.includes(text), rows.includes(text)], [false, false, false]);
  assert.ok(audited.includes('session.failed') && !audited.includes('sealed_'));
  const { session: read, messages } = (await p.read(session)) as { session: Json; messages: Json[] };
  assert.equal([messages[0]!.content, read.summary, read.error], texts);
});

for (const [how, status] of [
  ['complete', 'completed'],
  ['fail', 'failed'],
  ['cancel', 'cancelled'],
] as const)
  test(`after "${how}", a session is ${status} for good: repeating that request appends nothing, and any other request gets 409`, async () => {
    const session = await p.startSession();
    const ended = await p.end(session, how, { summary: 'Done' });
    const { status: is, summary, error, completed_at } = ended.body as Json;
    assert.equal([ended.status, is, summary, error], [200, status, 'Done', null], ended.text);
    assert.ok(completed_at);
    const count = eventCount();
    const again = await p.end(session, how, { summary: 'Done' });
    assert.equal([again.status, again.body], [200, ended.body]);
    const refused = [
      await p.end(session, how, { summary: 'Other' }),
      await p.append(session, {}),
      ...(await Promise.all(['complete', 'fail', 'cancel'].filter((one) => one !== how).map((one) => p.end(session, one)))),
    ];
    for (const answer of refused) {
      assert.equal([answer.status, errorCode(answer), (answer.body as Json).session_status], [409, 'session_ended', status], answer.text);
    }
    assert.is(eventCount(), count);
  });

test('a request to a session whose time is over is refused, even if the expiry of the session is not recorded yet', async () => {
  const session = await p.startSession({ expires_in_seconds: 60 });
  const now = Date.now();
  p.clock.now = () => now + 60_000;
  const answer = await p.append(session, {});
  p.clock.now = Date.now;
  assert.equal([answer.status, errorCode(answer), (answer.body as Json).session_status], [409, 'session_ended', 'expired']);
});

test('repeating a session request with the same Idempotency-Key gets the same response and appends nothing', async () => {
  const send = (path: string, body: object, name: string) =>
    p.send('POST', path, { key: agent.runner, body, headers: { 'idempotency-key': name } });
  const [one, two] = [await send(`${agent.path}/sessions`, {}, 'start'), await send(`${agent.path}/sessions`, {}, 'start')];
  assert.equal(two.body, one.body);
  const session = `${p.tenant}/sessions/${(one.body as Json).id}`;
  const message = { role: 'assistant', content: 'Once', prompt_tokens: 5 };
  const first = await send(`${session}/messages`, message, 'message');
  await p.append(session, { content: 'Later' });
  const count = eventCount();
  const second = await send(`${session}/messages`, message, 'message');
  assert.equal([second.status, second.body, eventCount()], [201, first.body, count]);
  const other = await send(`${session}/messages`, { ...message, content: 'Other' }, 'message');
  assert.is(other.status, 422);
  await p.end(session, 'complete');
  assert.equal((await send(`${session}/messages`, message, 'message')).body, first.body, 'the repeat is answered even after the end');
});

test('an If-Match header is compared with the revision of the session', async () => {
  const session = await p.startSession();
  const etag = (await p.send('GET', session)).headers.get('etag')!;
  const send = (value: string) =>
    p.send('POST', `${session}/messages`, { key: agent.runner, body: { role: 'user', content: 'x' }, headers: { 'if-match': value } });
  const appended = await send(etag);
  assert.is(appended.status, 201);
  assert.is((await send(etag)).status, 412);
  assert.is((await send(appended.headers.get('etag')!)).status, 201);
});

test('an as-of read of a session shows the messages, totals and status that it had at that time', async () => {
  const session = await p.startSession();
  const first = await p.append(session, { content: 'First', prompt_tokens: 7 });
  const token = first.headers.get('consistency-token')!;
  await p.append(session, { content: 'Second', prompt_tokens: 9 });
  await p.end(session, 'complete');
  const answer = await p.send('GET', `${session}?as_of=${encodeURIComponent(token)}`);
  const { session: then, messages, total_tokens } = answer.body as { session: Json; messages: Json[]; total_tokens: number };
  assert.equal([then.status, then.message_count, messages.length, total_tokens], ['running', 1, 1, 7]);
  assert.is(messages[0]!.prompt_tokens, 7);
});

test("Link headers lead through the pages of a session's messages, and each page has the totals of the whole session", async () => {
  const session = await p.startSession();
  for (let number = 1; number <= 5; number++) await p.append(session, { content: `Message ${number}`, prompt_tokens: number });
  const contents: unknown[] = [];
  let url: string | undefined = `${session}?limit=2`;
  let pages = 0;
  while (url) {
    const answer = await p.send('GET', url);
    const { messages, total_tokens } = answer.body as { messages: Json[]; total_tokens: number };
    assert.is(total_tokens, 15);
    contents.push(...messages.map(({ content, prompt_tokens }) => [content, prompt_tokens]));
    url = /<([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
    pages++;
  }
  assert.equal([pages, contents], [3, [1, 2, 3, 4, 5].map((number) => [`Message ${number}`, number])]);
  assert.is((await p.send('GET', `${session}?cursor=nonsense`)).status, 422);
});

test('the sessions of an agent are listed newest first, with the names of their users; they can be filtered by status', async () => {
  const other = await p.createAgent();
  const start = async (title: string) =>
    String(((await p.send('POST', `${other.path}/sessions`, { key: other.runner, body: { title } })).body as Json).id);
  const [one, two] = [await start('One'), await start('Two')];
  await p.end(`${p.tenant}/sessions/${one}`, 'complete', { summary: 'Done' }, other.runner);
  const list = async (query = '') => (await p.send('GET', `${other.path}/sessions${query}`)).body as Json[];
  assert.equal(
    (await list()).map(({ id, status, agent_name, user_email, message_count }) => [id, status, agent_name, user_email, message_count]),
    [
      [two, 'running', (await list())[0]!.agent_name, null, 0],
      [one, 'completed', (await list())[0]!.agent_name, null, 0],
    ],
  );
  assert.equal(
    (await list('?status=completed')).map(({ id }) => id),
    [one],
  );
  assert.is((await p.send('GET', `${other.path}/sessions?status=unknown`)).status, 422);
});

test('while a tenant is suspended, its runners can end their sessions; all other requests of runners are refused', async () => {
  const created = (await p.send('POST', '/admin/tenants', { body: { name: 'S', slug: 'suspended', owner_email: 's@example.com' } }))
    .body as Json;
  const [tenant, key] = [`/tenant/${created.id}`, String(created.owner_key)];
  const post = (path: string, by: string, body: object = {}) => p.send('POST', `${tenant}${path}`, { key: by, body });
  const id = ((await post('/agents', key, { name: 'A', slug: 'a' })).body as Json).id;
  const runner = String(((await post(`/agents/${id}/runner-keys`, key, { name: 'r' })).body as Json).key);
  const start = async () => ((await post(`/agents/${id}/sessions`, runner)).body as Json).id;
  const [one, two, three] = [await start(), await start(), await start()];
  await p.send('POST', `/admin/tenants/${created.id}/suspend`, { body: { reason: 'unpaid' } });
  const refused = [
    await post(`/agents/${id}/sessions`, runner),
    await post(`/sessions/${one}/messages`, runner, { role: 'assistant', content: 'x' }),
    await p.send('GET', `${tenant}/agents/${id}`, { key: runner }),
    await p.send('GET', '/me', { key: runner }),
    await post(`/sessions/${one}/cancel`, key),
    await post(`/sessions/c${'0'.repeat(24)}/complete`, runner),
  ];
  for (const answer of refused) assert.equal([answer.status, (answer.body as Json).code], [403, 'tenant_suspended'], answer.text);
  const ended = [
    await post(`/sessions/${one}/complete`, runner),
    await post(`/sessions/${two}/fail`, runner),
    await post(`/sessions/${three}/cancel`, runner),
  ];
  assert.equal(
    ended.map(({ status, body }) => [status, (body as Json).status]),
    [
      [200, 'completed'],
      [200, 'failed'],
      [200, 'cancelled'],
    ],
  );
});

afterLastTest(() => p.close());

test.run();
