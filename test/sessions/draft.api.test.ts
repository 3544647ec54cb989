import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { createSessionPlatform, errorCode, type Json } from '../fixtures/session-platform.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { addMember } from '../fixtures/users.ts';

const p = await createSessionPlatform();
const { agent } = p;
const reader = await addMember(p, 'MEMBER', p.tenant_id, 'reader@example.com');
const stranger = await addMember(p, 'MEMBER', p.tenant_id, 'stranger@example.com');
await p.send('PUT', `${agent.path}/roles/${reader.user_id}`, { body: { role: 'VIEWER' } });

const draft = (session: string, content: string, key = agent.runner): Promise<Answer> =>
  p.send('PUT', `${session}/draft`, { key, body: { content } });
const shown = async (session: string, key = p.key): Promise<unknown> => {
  const { status, body } = await p.send('GET', `${session}/draft`, { key });
  return status === 200 ? (body as Json).content : status;
};
const setPatterns = async (body: readonly object[]): Promise<void> =>
  assert.is((await p.send('PUT', `${p.tenant}/redaction-patterns`, { body })).status, 200);

test('what the runner writes is shown to those who may read the chat, and never recorded', async () => {
  const session = await p.startSession({}, p.key);
  assert.is(await shown(session), '');
  const inLog = () => p.log.events.filter(({ category }) => category === 'session').length;
  const events = inLog();
  assert.equal([(await draft(session, 'The ref')).status, (await draft(session, 'The refund failed')).status], [204, 204]);
  assert.equal(await Promise.all([p.key, reader.key, agent.runner].map((key) => shown(session, key))), Array(3).fill('The refund failed'));
  const { expires_at, updated_at, role } = (await p.send('GET', `${session}/draft`)).body as Record<string, string>;
  assert.equal([role, Date.parse(expires_at!) - Date.parse(updated_at!)], ['assistant', 60_000]);
  assert.equal([inLog(), ((await p.read(session)).messages as Json[]).length], [events, 0]);
});

const addFile = (session: string): Promise<Answer> =>
  p.send('POST', `${session}/attachments`, {
    raw: formBody({ name: 'upload', filename: 'a.txt', content: 'one' }),
    headers: { 'content-type': FORM_TYPE },
  });

/** What happens in a session with a draft, and whether the draft is shown afterwards. */
const changes: Record<string, readonly [boolean, (session: string) => Promise<Answer>]> = {
  'a message of the agent': [false, (session) => p.append(session, { content: 'Done' })],
  'a message that waits': [false, (session) => p.append(session, { kind: 'waiting' })],
  'a request for an approval': [false, (session) => p.append(session, { kind: 'approval', approval: { action: 'Merge' } })],
  'an empty draft': [false, (session) => draft(session, '')],
  completion: [false, (session) => p.end(session, 'complete')],
  'a cancellation by a person': [false, (session) => p.end(session, 'cancel', {}, p.key)],
  'a message of a tool': [true, (session) => p.append(session, { role: 'tool' })],
  'a message of a person': [true, (session) => p.append(session, { role: 'user' }, p.key)],
};
for (const [name, [isShown, change]] of Object.entries(changes))
  test(`${name} ${isShown ? 'leaves' : 'removes'} the draft of a session`, async () => {
    const session = await p.startSession({}, p.key);
    await draft(session, 'I am');
    const { status, text } = await change(session);
    assert.ok(status < 300, text);
    assert.is(await shown(session), isShown ? 'I am' : '');
    if (isShown || (await draft(session, 'More')).status === 409) return;
    assert.is(await shown(session), 'More');
  });

/** What happens in a session after a person has stopped the agent, and whether a draft is shown afterwards. */
const afterStop: Record<string, readonly [boolean, (session: string, approval: string) => Promise<Answer>]> = {
  'nothing but a draft': [false, (session) => draft(session, 'I am still')],
  'a message of a tool': [false, (session) => p.append(session, { role: 'tool' })],
  'a message of the agent': [false, (session) => p.append(session, { content: 'Late' })],
  'a file of a person': [false, (session) => addFile(session)],
  'a message of a person': [true, (session) => p.append(session, { role: 'user' }, p.key)],
  'a decision of a person': [true, (_, approval) => p.send('POST', `${approval}/decision`, { body: { decision: 'denied' } })],
};
for (const [name, [isShown, change]] of Object.entries(afterStop))
  test(`after an interruption and ${name}, the next draft is ${isShown ? 'shown' : 'dropped'}`, async () => {
    const session = await p.startSession({}, p.key);
    const { body } = await p.append(session, { kind: 'approval', approval: { action: 'Merge' } });
    await draft(session, 'I am');
    assert.is(await shown(session), 'I am');
    assert.is((await p.send('POST', `${session}/interrupt`, { key: p.key })).status, 200);
    assert.is(await shown(session), '');
    const { status, text } = await change(session, `${session}/messages/${(body as Json).id}`);
    assert.ok(status < 300, text);
    assert.is(await shown(session), '');
    assert.is((await draft(session, 'More')).status, 204);
    assert.is(await shown(session), isShown ? 'More' : '');
  });

test('a draft that is too long, in a session that has ended, or of another caller is refused', async () => {
  const session = await p.startSession({}, p.key);
  const other = await p.createAgent();
  const outcome = async (answer: Promise<Answer>) => [(await answer).status, errorCode(await answer)];
  assert.equal(await outcome(draft(session, 'a'.repeat(40_960))), [422, 'too_long']);
  assert.equal(await outcome(p.send('PUT', `${session}/draft`, { key: agent.runner, body: { content: 'x', role: 'user' } })), [
    422,
    'invalid_value',
  ]);
  assert.equal(await outcome(draft(session, 'x', p.key)), [403, 'forbidden']);
  assert.equal(await outcome(draft(session, 'x', other.runner)), [404, 'not_found']);
  await draft(session, 'x');
  assert.equal([await shown(session, other.runner), await shown(session, stranger.key)], [404, 404]);
  await p.end(session, 'complete');
  assert.equal(await outcome(draft(session, 'x')), [409, 'session_ended']);
});

/** Drafts of a tenant with patterns, and what is shown of them. */
const redactions: readonly (readonly [draft: string, shown: string])[] = [
  ['CUST-1234', ''],
  ['Order of CUST-1234', 'Order of '],
  ['Order of CUST-123456', 'Order of '],
  ['Order of CUST-123456 is', 'Order of [redacted:customer] '],
  ['Order of CUST-123456 is\n', 'Order of [redacted:customer] is\n'],
  ['Orders:\nCard 4000 12', 'Orders:\n'],
  ['Orders:\nCard 4000 1234\nand', 'Orders:\nCard [redacted:card]\n'],
  ['é😀 😀😀', 'é😀 '],
];
test('a draft is redacted; with patterns, its last line or word is left out until something follows it', async () => {
  await setPatterns([
    { pattern: 'CUST-[0-9]{6}', tag: 'customer' },
    { pattern: '[0-9]{4} [0-9]{4}', tag: 'card' },
  ]);
  const session = await p.startSession({}, p.key);
  const seen: (readonly [string, unknown])[] = [];
  for (const [content] of redactions) {
    await draft(session, content);
    seen.push([content, await shown(session)]);
  }
  await setPatterns([]);
  assert.equal(seen, redactions);
});

test('the end of a draft is left out in linear time, whatever the draft is', async () => {
  await setPatterns([{ pattern: 'CUST', tag: 'customer' }]);
  const session = await p.startSession({}, p.key);
  const startedAt = performance.now();
  for (const content of [`${'a'.repeat(40_000)} `, `${'a '.repeat(20_000)}\n`, 'a'.repeat(40_000)])
    assert.is((await draft(session, content)).status, 204);
  const took = performance.now() - startedAt;
  await setPatterns([]);
  assert.ok(took < 1_000 * loadFactor(), `${took} ms`);
});

test('the stream of changes announces drafts of the named session to those who may read it', async () => {
  const session = await p.startSession({}, p.key);
  const heard = async (key: string): Promise<boolean> => {
    const response = await p.app.request(`${p.tenant}/changes?session_id=${session.split('/').at(-1)}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const chunks = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await chunks.read()).value ?? '';
    await draft(await p.startSession({}, p.key), 'elsewhere');
    await draft(session, 'here');
    const late = setTimeout(() => void chunks.cancel(), 700);
    while (!text.includes('event: draft')) {
      const { value, done } = await chunks.read();
      if (done) break;
      text += value;
    }
    clearTimeout(late);
    await chunks.cancel();
    return /event: draft\ndata: \{\}\n\n/.test(text);
  };
  assert.equal([await heard(reader.key), await heard(stranger.key)], [true, false]);
});

test('a draft above the rate is refused before it is redacted', async () => {
  await setPatterns([{ pattern: '([a-z]{1,30}-){1,30}[0-9]{1,30}', tag: 'slow' }]);
  const session = await p.startSession({}, p.key);
  const outcomes = await Promise.all(Array.from({ length: 250 }, () => draft(session, 'a-'.repeat(20_000))));
  await setPatterns([]);
  const codes = new Set(outcomes.map(({ status }) => status));
  assert.ok(codes.has(429) && codes.has(422), [...codes].join());
});

afterLastTest(() => p.close());

test.run();
