import { createHash } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSessionPlatform, errorCode, type Json } from '../fixtures/session-platform.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

const p = await createSessionPlatform();
const { agent } = p;
const ada = await addMember(p, 'ADMIN', p.tenant_id, 'ada@example.com');
const bob = await addMember(p, 'ADMIN', p.tenant_id, 'bob@example.com');
const guest = await addMember(p, 'MEMBER', p.tenant_id, 'guest@example.com');

const ACTION = { action: 'Merge pull request 42', detail: 'All checks have passed.' };

/** Asks for an approval as the runner of the agent. Returns the message. */
const ask = async (session: string, approval: object = ACTION): Promise<Json> => {
  const answer = await p.append(session, { kind: 'approval', content: 'May I?', approval });
  assert.is(answer.status, 201, answer.text);
  return answer.body as Json;
};
const decide = (session: string, message_id: unknown, body: object = { decision: 'approved' }, key = ada.key): Promise<Answer> =>
  p.send('POST', `${session}/messages/${message_id}/decision`, { key, body });
const readApproval = async (session: string, message_id: unknown, key = p.key): Promise<Json> =>
  (await p.send('GET', `${session}/messages/${message_id}/approval`, { key })).body as Json;
const approvalIn = async (session: string, message_id: unknown): Promise<Json> =>
  ((await p.read(session)).messages as Json[]).find(({ id }) => id === message_id)!.approval as Json;
const listed = async (query = '', key = p.key): Promise<Json[]> => {
  await p.waitForProjections();
  return (await p.send('GET', `${p.tenant}/approvals${query}`, { key })).body as Json[];
};
const digestOf = (action: string, detail: string, expires_at: string | null): string =>
  createHash('sha256').update(JSON.stringify({ action, detail, expires_at })).digest('hex');
const closing = (): number => p.eventsOf('ApprovalDecided', 'ApprovalExpired', 'ApprovalCancelled').length;

test('a person approves what the runner asks; the session waits until then, and the log says who approved what', async () => {
  const session = await p.startSession({ title: 'Merge' });
  const message = await ask(session);
  const asked = message.approval as Json;
  assert.equal([asked.status, asked.action, asked.detail, asked.id], ['open', ACTION.action, ACTION.detail, message.id]);
  assert.is(await p.statusOf(session), 'waiting');
  const answer = await decide(session, message.id, { decision: 'approved', comment: 'After 18:00' });
  const { status, comment, decided_by_id, decided_by_email, decided_at, action } = answer.body as Json;
  assert.equal([answer.status, status, comment, action], [200, 'approved', 'After 18:00', ACTION.action], answer.text);
  assert.equal([decided_by_id, decided_by_email], [ada.user_id, 'ada@example.com']);
  assert.is(await p.statusOf(session), 'running');
  assert.equal(await approvalIn(session, message.id), answer.body);
  for (const key of [p.key, agent.runner]) assert.equal(await readApproval(session, message.id, key), answer.body);
  const event = p.eventsOf('ApprovalDecided').at(-1)!;
  assert.equal([event.actor.id, event.at], [ada.user_id, decided_at]);
  assert.is((event.data as Json).sha256, digestOf(ACTION.action, ACTION.detail, null));
});

test('the texts of an approval are stored redacted and encrypted, and no row or audit entry contains them', async () => {
  await p.send('PUT', `${p.tenant}/redaction-patterns`, { body: [{ pattern: 'CUST-[0-9]{6}', tag: 'customer' }] });
  const session = await p.startSession();
  const texts = { action: 'Refund CUST-123456 secretly', detail: 'the secret detail of CUST-123456' };
  const { id } = await ask(session, texts);
  await decide(session, id, { decision: 'denied', comment: 'the secret reason, CUST-123456' });
  await p.waitForProjections();
  const stored = JSON.stringify(p.log.events, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
  const audited = (await p.send('GET', `${p.tenant}/audit-logs?limit=200`)).text;
  const rows = JSON.stringify([...p.foldedRows('sessions', 'approvals')]);
  for (const text of ['secret', 'CUST-123456'])
    assert.equal(
      [stored, audited, rows].map((one) => one.includes(text)),
      [false, false, false],
      text,
    );
  const { action, detail, comment, sha256 } = await readApproval(session, id);
  assert.equal(
    [action, detail, comment],
    ['Refund [redacted:customer] secretly', 'the secret detail of [redacted:customer]', 'the secret reason, [redacted:customer]'],
  );
  assert.is(sha256, digestOf(String(action), String(detail), null), 'the digest is that of what is shown');
  await p.send('PUT', `${p.tenant}/redaction-patterns`, { body: [] });
});

test('if two people decide at the same time, one decision counts, and the other person gets 409 with it', async () => {
  for (let round = 0; round < 10; round++) {
    const session = await p.startSession();
    const { id } = await ask(session);
    const before = closing();
    const answers = await Promise.all([
      decide(session, id, { decision: 'approved' }, ada.key),
      decide(session, id, { decision: 'denied' }, bob.key),
    ]);
    assert.equal(answers.map(({ status }) => status).sort(), [200, 409], answers.map(({ text }) => text).join('\n'));
    const won = answers.find(({ status }) => status === 200)!.body as Json;
    const lost = answers.find(({ status }) => status === 409)!;
    const { decision, decided_by, decided_by_email, decided_at } = lost.body as Json;
    assert.is(errorCode(lost), 'already_decided');
    assert.equal(
      [decision, decided_by, decided_by_email, decided_at],
      [won.status, won.decided_by_id, won.decided_by_email, won.decided_at],
    );
    assert.is(closing(), before + 1);
  }
});

test('a decision counts once, even if the session has ended since; its repeat needs the same Idempotency-Key', async () => {
  const session = await p.startSession();
  const { id } = await ask(session);
  const send = (name: string) =>
    p.send('POST', `${session}/messages/${id}/decision`, {
      key: ada.key,
      body: { decision: 'approved' },
      headers: { 'idempotency-key': name },
    });
  const first = await send('one');
  assert.is(first.status, 200, first.text);
  await p.end(session, 'complete');
  const count = closing();
  assert.equal((await send('one')).body, first.body);
  const again = await send('two');
  assert.equal([again.status, errorCode(again), (again.body as Json).decision], [409, 'already_decided', 'approved']);
  assert.is(closing(), count);
});

test('a repeated request for an approval gets the first answer after its expiry, also of an old event', async () => {
  for (const isOld of [false, true]) {
    const session = await p.startSession();
    const now = Date.now();
    const body = { role: 'assistant', kind: 'approval', content: 'May I?', approval: { ...ACTION, expires_at: new Date(now + 60_000) } };
    const headers = { 'idempotency-key': `asked ${isOld}` };
    const send = () => p.send('POST', `${session}/messages`, { key: agent.runner, body, headers });
    const first = await send();
    assert.is(first.status, 201, first.text);
    const outcome = p.log.events.findLast(({ category }) => category === 'idempotency')!.data as { found: unknown[] };
    assert.equal(outcome.found.length, 3);
    if (isOld) outcome.found = outcome.found.filter((found, index) => index === 0 || (found as Json | null)?.sealed_request);
    p.clock.now = () => now + 61_000;
    const again = await send();
    p.clock.now = Date.now;
    assert.equal([again.status, again.body], [201, first.body], again.text);
  }
});

test('after its expiry, or after the end of the session, nobody can decide on an approval', async () => {
  const until = async (session: string) => ask(session, { ...ACTION, expires_at: new Date(Date.now() + 60_000).toISOString() });
  const [overdue, cancelled] = [await p.startSession(), await p.startSession()];
  const late = await until(overdue);
  const now = Date.now();
  p.clock.now = () => now + 61_000;
  const refused = await decide(overdue, late.id);
  p.clock.now = Date.now;
  assert.equal([refused.status, errorCode(refused)], [409, 'approval_expired'], refused.text);
  assert.is((refused.body as Json).expires_at, (late.approval as Json).expires_at);
  const open = await ask(cancelled);
  assert.is((await p.send('POST', `${cancelled}/cancel`, { key: ada.key, body: {} })).status, 200);
  const ended = await decide(cancelled, open.id);
  assert.equal([ended.status, errorCode(ended), (ended.body as Json).session_status], [409, 'session_ended', 'cancelled']);
  const { status, decided_by_id } = await readApproval(cancelled, open.id);
  assert.equal([status, decided_by_id], ['cancelled', null]);
});

test('callers who may not assign work to the agent cannot decide on an approval, and runners cannot either', async () => {
  const session = await p.startSession();
  const { id } = await ask(session);
  const other = await p.createAgent();
  for (const [who, key, status] of [
    ['the runner that asks', agent.runner, 403],
    ['the runner of another agent', other.runner, 404],
    ['a member without a role on the agent', guest.key, 404],
    ['nobody', '', 401],
  ] as const) {
    const answer = await decide(session, id, { decision: 'approved' }, key);
    assert.is(answer.status, status, `${who}: ${answer.text}`);
  }
  const { id: plain } = (await p.append(session, {})).body as Json;
  for (const message of [plain, `c${'0'.repeat(24)}`]) {
    assert.is((await decide(session, message)).status, 404);
    assert.is((await p.send('GET', `${session}/messages/${message}/approval`)).status, 404);
  }
  assert.is((await readApproval(session, id)).status, 'open');
});

test('a request for an approval, or a decision, with an invalid value gets 422, and the error points to the field', async () => {
  const session = await p.startSession();
  const past = new Date(Date.now() - 1_000).toISOString();
  for (const [body, pointer] of [
    [{ kind: 'approval' }, '/approval'],
    [{ approval: ACTION }, '/approval'],
    [{ kind: 'waiting', approval: ACTION }, '/approval'],
    [{ kind: 'approval', approval: ACTION, role: 'tool' }, '/role'],
    [{ kind: 'approval', approval: { action: '' } }, '/approval/action'],
    [{ kind: 'approval', approval: { action: 'x'.repeat(201) } }, '/approval/action'],
    [{ kind: 'approval', approval: { action: 'x', detail: 'x'.repeat(16_385) } }, '/approval/detail'],
    [{ kind: 'approval', approval: { action: 'x', expires_at: past } }, '/approval/expires_at'],
    [{ kind: 'approval', approval: { action: 'x', expires_at: 'soon' } }, '/approval/expires_at'],
  ] as const) {
    const answer = await p.append(session, body);
    assert.equal([answer.status, ((answer.body as Json).errors as Json[])[0]!.pointer], [422, pointer], answer.text);
  }
  const own = await p.startSession({}, ada.key);
  const byUser = await p.append(own, { role: 'user', approval: ACTION }, ada.key);
  assert.equal([byUser.status, errorCode(byUser)], [422, 'runner_only']);
  const { id } = await ask(session);
  for (const [body, pointer] of [
    [{}, '/decision'],
    [{ decision: 'expired' }, '/decision'],
    [{ decision: 'approved', comment: 'x'.repeat(2_001) }, '/comment'],
    [{ decision: 'approved', action: 'Something else' }, '/action'],
  ] as const) {
    const answer = await decide(session, id, body);
    assert.equal([answer.status, ((answer.body as Json).errors as Json[])[0]!.pointer], [422, pointer], answer.text);
  }
});

test('a session has at most 20 open approvals; a decided one makes room for another', async () => {
  const session = await p.startSession();
  const first = await ask(session);
  for (let count = 1; count < 20; count++) await ask(session);
  const refused = await p.append(session, { kind: 'approval', approval: ACTION });
  assert.equal([refused.status, errorCode(refused)], [409, 'too_many_open_approvals']);
  await decide(session, first.id);
  await ask(session);
  const { messages } = (await p.send('GET', `${session}?limit=1`)).body as { messages: Json[] };
  assert.is((messages[0]!.approval as Json).status, 'approved', 'a page shows a decision that follows much later');
});

test('the texts of approvals count towards the size of a page of messages', async () => {
  const session = await p.startSession();
  for (let count = 0; count < 16; count++) assert.is((await p.append(session, { content: 'x'.repeat(500_000) })).status, 201);
  for (let count = 0; count < 10; count++) await ask(session, { action: 'Look', detail: '\u6f22'.repeat(16_384) });
  const { body, headers } = await p.send('GET', session);
  const { length } = (body as { messages: Json[] }).messages;
  assert.ok(length > 16 && length < 26, `${length} messages`);
  assert.match(headers.get('link') ?? '', /rel="next"/);
});

test('approvals are listed by status and agent, for people who may assign work to the agent or read its chats', async () => {
  const other = await p.createAgent();
  const started = await p.send('POST', `${other.path}/sessions`, { key: other.runner, body: {} });
  const session = `${p.tenant}/sessions/${(started.body as Json).id}`;
  const asked = async (action: string) =>
    ((await p.append(session, { kind: 'approval', content: '', approval: { action } }, other.runner)).body as Json).id;
  const [one, two, three] = [await asked('One'), await asked('Two'), await asked('Three')];
  await decide(session, one, { decision: 'approved', comment: 'x' });
  await decide(session, two, { decision: 'denied' }, bob.key);
  const of = async (query = '', key = p.key) =>
    (await listed(`?agent_id=${other.id}${query}`, key)).map(({ id, status, action, decided_by_email }) => [
      id,
      status,
      action,
      decided_by_email,
    ]);
  const rows = [
    [three, 'open', 'Three', null],
    [two, 'denied', 'Two', 'bob@example.com'],
    [one, 'approved', 'One', 'ada@example.com'],
  ];
  assert.equal(await of(), rows);
  assert.equal(await of('&status=denied'), [rows[1]]);
  await p.end(session, 'complete', {}, other.runner);
  assert.equal(await of('&status=open'), []);
  assert.equal(await of('&status=cancelled'), [[three, 'cancelled', 'Three', null]]);
  const viewer = await addMember(p, 'MEMBER', p.tenant_id, 'viewer@example.com');
  assert.equal(await of('', viewer.key), []);
  await p.send('PUT', `${other.path}/roles/${viewer.user_id}`, { body: { role: 'VIEWER' } });
  assert.equal(await of('', viewer.key), rows.with(0, [three, 'cancelled', 'Three', null]));
  assert.ok(
    (await listed('', viewer.key)).every(({ agent_id, sha256 }) => agent_id === other.id && sha256),
    'only of this agent',
  );
  assert.is((await p.send('GET', `${p.tenant}/approvals`, { key: other.runner })).status, 403);
  const [newest] = await listed('?limit=1');
  assert.ok(newest && !('place' in newest) && !('detail' in newest));
});

afterLastTest(() => p.close());

test.run();
