import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { isForRunner, outgoingMessage } from '../../commands/runners/relay.reactor.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { createSessionPlatform, errorCode, type Json } from '../fixtures/session-platform.ts';
import { addMember } from '../fixtures/users.ts';

const p = await createSessionPlatform();
const { agent } = p;
const SENT = ['SessionAssigned', 'SessionMessageSent', 'SessionInterrupted', 'SessionCancelled'];

const idOf = (session: string): string => session.split('/').at(-1)!;
const sentIn = (session: string) => p.eventsOf(...SENT).filter((event) => event.id === idOf(session) && isForRunner(event));
const start = (body: object = {}) => p.startSession(body, p.key);
const say = (session: string, content: string, more: object = {}) => p.append(session, { role: 'user', content, ...more }, p.key);
const post = (session: string, action: string, body?: object, key = p.key) =>
  p.send('POST', `${session}/${action}`, { key, ...(body && { body }) });
const upload = async (session: string, key: string): Promise<string> => {
  const raw = formBody({ name: 'upload', filename: 'build.log', content: 'a log' });
  const { body } = await p.send('POST', `${session}/attachments`, { key, raw, headers: { 'content-type': FORM_TYPE } });
  return String((body as Json).id);
};

test('each event of a person in a session names the previous one, so that a runner can keep their order', async () => {
  const session = await start({ title: 'Review', message: { content: 'Review it' } });
  await say(session, 'And this');
  await p.append(session, { content: 'I do' });
  await post(session, 'interrupt');
  await say(session, 'Go on');
  await post(session, 'cancel', {});
  const sent = sentIn(session);
  assert.equal(
    sent.map(({ type }) => type),
    ['SessionAssigned', 'SessionMessageSent', 'SessionInterrupted', 'SessionMessageSent', 'SessionCancelled'],
  );
  assert.equal(
    sent.map(({ data }) => (data as Json).previous),
    [null, ...sent.slice(0, -1).map(({ event_id }) => event_id)],
  );
  const { messages } = await p.read(session);
  const [, second, interruption, last] = sent.map(({ event_id }) => event_id);
  assert.equal(
    (messages as Json[]).map(({ event_id, previous_event_id }) => [event_id, previous_event_id]),
    [
      [sent[0]!.event_id, null],
      [second, sent[0]!.event_id],
      [null, null],
      [last, interruption],
    ],
  );
});

test('the first message of a person is part of the session, with its author', async () => {
  const session = await start({ message: { content: 'Review it' } });
  const { messages, session: shown } = await p.read(session);
  const [{ role, content, created_by_id, attachment_ids }] = messages as [Json];
  assert.equal([role, content, created_by_id, attachment_ids], ['user', 'Review it', (shown as Json).created_by_id, []]);
  assert.equal([(shown as Json).message_count, (messages as Json[]).length], [1, 1]);
  await p.append(session, {});
  assert.is(((await p.read(session)).messages as Json[]).at(-1)!.created_by_id, null);
});

test('a runner is not sent what it starts, writes and cancels itself', async () => {
  const session = await p.startSession();
  await p.append(session, { role: 'user' });
  await post(session, 'cancel', {}, agent.runner);
  assert.equal(sentIn(session), []);
  const refused = await p.send('POST', `${agent.path}/sessions`, { key: agent.runner, body: { message: { content: 'x' } } });
  assert.equal([refused.status, errorCode(refused)], [422, 'person_only']);
});

test('if a person cancels or interrupts a session of the runner, the runner is told', async () => {
  const session = await p.startSession();
  assert.is((await post(session, 'interrupt')).status, 200);
  await post(session, 'cancel', {});
  assert.equal(
    sentIn(session).map(({ type }) => type),
    ['SessionInterrupted', 'SessionCancelled'],
  );
});

test('an interruption has no second effect until something else has happened in the session', async () => {
  const session = await start();
  for (const _ of [1, 2]) assert.is((await post(session, 'interrupt')).status, 200);
  assert.is(sentIn(session).length, 2);
  await p.append(session, {});
  await post(session, 'interrupt');
  assert.is(sentIn(session).length, 3);
});

test('a person can interrupt again after a decision on an approval, which lets the runner continue', async () => {
  const session = await start();
  const { id } = (await p.append(session, { kind: 'approval', approval: { action: 'Merge' } })).body as Json;
  await post(session, 'interrupt');
  assert.is((await post(session, `messages/${id}/decision`, { decision: 'approved' })).status, 200);
  await post(session, 'interrupt');
  assert.is(sentIn(session).filter(({ type }) => type === 'SessionInterrupted').length, 2);
});

test('a runner cannot interrupt itself, and learns nothing about the sessions of other agents', async () => {
  const session = await p.startSession();
  const other = await p.createAgent();
  for (const [key, status] of [
    [agent.runner, 403],
    [other.runner, 404],
  ] as const)
    assert.is((await post(session, 'interrupt', undefined, key)).status, status);
  assert.equal(sentIn(session), []);
});

test('a message names files that were added to the session before, and the runner gets them with it', async () => {
  const session = await start();
  const file = await upload(session, p.key);
  const answer = await say(session, 'See the log', { attachment_ids: [file] });
  assert.equal([answer.status, (answer.body as Json).attachment_ids], [201, [file]], answer.text);
  const event = sentIn(session).at(-1)!;
  const { payload } = outgoingMessage({ ...event, content: 'See the log' } as never, 'https://annals.test', 65_536);
  const { data } = JSON.parse(Buffer.from(payload).toString());
  assert.equal([data.message.content, data.files[0].filename, data.files[0].size_bytes], ['See the log', 'build.log', 5]);
  assert.match(data.files[0].url, /^https:\/\/annals\.test\/tenant\/\w+\/files\/[0-9a-f]{64}$/);
});

test('a message is refused if it names a file that is missing or belongs to another session', async () => {
  const session = await start();
  for (const id of [await upload(await start(), p.key), `c${'0'.repeat(24)}`])
    for (const answer of [await say(session, 'x', { attachment_ids: [id] }), await p.append(session, { attachment_ids: [id] })])
      assert.equal([answer.status, errorCode(answer)], [422, 'unknown_attachment']);
  const file = await upload(session, agent.runner);
  assert.equal(((await p.append(session, { attachment_ids: [file] })).body as Json).attachment_ids, [file]);
});

test('a text that is too long for one message to the runner is refused with the remedy, and nothing is stored', async () => {
  const session = await start();
  const before = p.eventsOf('SessionStarted', ...SENT).length;
  for (const answer of [
    await say(session, 'x'.repeat(40_959)),
    await say(session, '\u0001'.repeat(7_000)),
    await p.send('POST', `${agent.path}/sessions`, { body: { message: { content: 'x'.repeat(40_959) } } }),
  ]) {
    assert.equal([answer.status, errorCode(answer)], [422, 'too_long']);
    assert.match(answer.text, /add the text as a file/);
  }
  assert.is(p.eventsOf('SessionStarted', ...SENT).length, before);
  assert.is((await say(session, 'x'.repeat(40_958))).status, 201);
});

test('a session that has ended is continued by a new one, which names it', async () => {
  const old = await start({ title: 'Review' });
  const open = await post(old, 'continue', {});
  assert.equal([open.status, errorCode(open)], [409, 'session_not_ended']);
  await post(old, 'cancel', {});
  const ended = await say(old, 'More');
  assert.equal([ended.status, errorCode(ended)], [409, 'session_ended']);
  assert.match(ended.text, /continue/);
  const { status, body, headers } = await post(old, 'continue', { message: { content: 'Again' } });
  const next = body as Json;
  assert.equal([status, next.continues_id, next.title, next.message_count], [201, idOf(old), 'Review', 1]);
  assert.is(headers.get('location'), `${p.tenant}/sessions/${next.id}`);
  assert.is(((await p.read(`${p.tenant}/sessions/${next.id}`)).session as Json).continues_id, idOf(old));
  assert.is(((await p.read(old)).session as Json).continues_id, null);
});

test('the rules for texts and the redaction of the tenant apply to what a person writes, before it is stored', async () => {
  const rules = [
    { name: 'no secrets', kind: 'pattern', options: { pattern: 'SECRET-\\d+' }, action: 'block' },
    { name: 'no mail', kind: 'pattern', options: { detectors: ['emails'] }, action: 'redact' },
    { name: 'seen', kind: 'pattern', options: { pattern: 'hello' }, action: 'label' },
  ];
  assert.is((await p.send('PUT', `${p.tenant}/guardrails`, { body: rules })).status, 200);
  const session = await start();
  const before = p.eventsOf('SessionStarted', ...SENT).length;
  for (const answer of [
    await say(session, 'it is SECRET-1'),
    await p.send('POST', `${agent.path}/sessions`, { body: { message: { content: 'SECRET-2' } } }),
  ]) {
    assert.equal([answer.status, errorCode(answer)], [422, 'blocked']);
    assert.match(answer.text, /no secrets/);
  }
  assert.is(p.eventsOf('SessionStarted', ...SENT).length, before);
  const { body } = await say(session, 'hello, write to ada@example.com');
  assert.match(String((body as Json).content), /^hello, write to \[redacted:.+\]$/);
  await post(session, 'cancel', {});
  const other = await start();
  const { id: open } = (await p.append(other, { kind: 'approval', approval: { action: 'Merge' } })).body as Json;
  const decide = (comment: string) => post(other, `messages/${open}/decision`, { decision: 'approved', comment });
  for (const [answer, pointer] of [
    [await p.send('POST', `${agent.path}/sessions`, { body: { title: 'About SECRET-3' } }), '/title'],
    [await post(session, 'continue', { title: 'About SECRET-4' }), '/title'],
    [await decide('only with SECRET-5'), '/comment'],
  ] as const)
    assert.equal([answer.status, errorCode(answer), ((answer.body as Json).errors as Json[])[0]!.pointer], [422, 'blocked', pointer]);
  const titled = await start({ title: 'Write to ada@example.com' });
  assert.match(String(((await p.read(titled)).session as Json).title), /^Write to \[redacted:.+\]$/);
  assert.match(String(((await decide('Ask ada@example.com')).body as Json).comment), /^Ask \[redacted:.+\]$/);
  assert.is((await p.send('PUT', `${p.tenant}/guardrails`, { body: [] })).status, 200);
});

test('a repeat with the same Idempotency-Key sends nothing twice', async () => {
  const headers = { 'idempotency-key': 'one' };
  const begin = () => p.send('POST', `${agent.path}/sessions`, { body: { message: { content: 'Once' } }, headers });
  const [first, second] = [await begin(), await begin()];
  assert.is((first.body as Json).id, (second.body as Json).id);
  assert.is(sentIn(`x/${(first.body as Json).id}`).length, 1);
});

test('a repeat with the same Idempotency-Key gets the first answer, even if the present time or rules would refuse it', async () => {
  const session = await start();
  const { id } = (await p.append(session, { kind: 'approval', approval: { action: 'Merge' } })).body as Json;
  const expires_at = new Date(Date.now() + 60_000).toISOString();
  const approval = { role: 'assistant', kind: 'approval', content: '', approval: { action: 'Merge', expires_at } };
  const requests = [
    ['a title and a message', `${agent.path}/sessions`, p.key, { title: 'SECRET-1', message: { content: 'SECRET-2' } }],
    ['a message', `${session}/messages`, p.key, { role: 'user', content: 'SECRET-3' }],
    ['an approval', `${session}/messages`, agent.runner, approval],
    ['a comment', `${session}/messages/${id}/decision`, p.key, { decision: 'denied', comment: 'SECRET-4' }],
  ] as const;
  const send = () =>
    Promise.all(
      requests.map(([name, path, key, body]) =>
        p.send('POST', path, { key, body, headers: { 'idempotency-key': name.replaceAll(' ', '-') } }),
      ),
    );
  await p.send('PUT', `${p.tenant}/guardrails`, { body: [] });
  const first = await send();
  const rule = { name: 'no secrets', kind: 'pattern', options: { pattern: 'SECRET-\\d' }, action: 'block' };
  assert.is((await p.send('PUT', `${p.tenant}/guardrails`, { body: [rule] })).status, 200);
  const later = Date.now() + 61_000;
  p.clock.now = () => later;
  const second = await send();
  p.clock.now = Date.now;
  assert.is((await p.send('PUT', `${p.tenant}/guardrails`, { body: [] })).status, 200);
  for (const [index, [name]] of requests.entries()) {
    assert.ok(first[index]!.status < 300, `${name}: ${first[index]!.text}`);
    assert.equal([second[index]!.status, second[index]!.body], [first[index]!.status, first[index]!.body], name);
  }
  assert.not.match(
    JSON.stringify(p.log.events, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
    /SECRET-[234]/,
  );
});

test('a session names the position of its last stop by a person, which is that of the message to the runner', async () => {
  const session = await start();
  const stopped = async () => (await p.read(session)).stopped_position;
  assert.is(await stopped(), null);
  for (const action of ['interrupt', 'message', 'cancel']) {
    if (action === 'message') await say(session, 'Go on');
    else await post(session, action, {});
    const stops = sentIn(session).filter(({ type }) => type !== 'SessionMessageSent');
    assert.is(await stopped(), outgoingMessage(stops.at(-1)!, 'http://annals.test', 0).token);
  }
});

/** Who writes in sessions: the role on the agent, and who has started the session. */
const WRITERS = [
  ['MANAGER', 'another person', 201],
  ['MANAGER', 'the runner', 403],
  ['VIEWER', 'another person', 403],
  ['VIEWER', 'the runner', 403],
] as const;
for (const [role, starter, status] of WRITERS)
  test(`a ${role} of the agent ${status === 201 ? 'writes' : 'does not write'} in a session that ${starter} has started`, async () => {
    const member = await addMember(p, 'MEMBER', p.tenant_id, `${role}-${starter.replace(' ', '-')}@example.com`.toLowerCase());
    await p.send('PUT', `${agent.path}/roles/${member.user_id}`, { body: { role } });
    const session = starter === 'the runner' ? await p.startSession() : await start();
    assert.is((await p.append(session, { role: 'user', content: 'Hello' }, member.key)).status, status);
    if (status !== 201) return;
    const [message] = (await p.read(session)).messages as Json[];
    assert.is(message!.created_by_id, member.user_id);
    assert.match(String(message!.created_by_email), /@example\.com$/);
    assert.is(sentIn(session).at(-1)!.actor.id, member.user_id, 'the runner learns who has written');
  });

afterLastTest(() => p.close());

test.run();
