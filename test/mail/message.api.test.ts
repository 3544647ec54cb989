import { hash } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;
const p = await createTestPlatform();

let count = 0;
const newAgent = async (more: Json = {}) => {
  const slug = `agent-${count++}`;
  const { body } = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug, ...more } });
  const id = (body as Json).id as string;
  return { id, slug, address: `${slug}.demo@mail.test`, path: `${p.tenant}/agents/${id}` };
};
type TestAgent = Awaited<ReturnType<typeof newAgent>>;
const send = (agent: TestAgent, fields: Json, options: Json = {}) =>
  p.send('POST', `${agent.path}/mail`, { body: { subject: 'Hello', text: 'Text', ...fields }, ...options });
const sentTo = async (agent: TestAgent, to: string, more: Json = {}): Promise<Json> => {
  const { status, body, text } = await send(agent, { to: [to], ...more });
  assert.is(status, 202, text);
  return body as Json;
};
const upload = (agent: TestAgent, message: unknown, content: string, options: { key?: string } = {}) =>
  p.send('POST', `${agent.path}/messages/${message}/attachments`, {
    raw: formBody({ name: 'file', filename: 'a/notes.txt', content }),
    headers: { 'content-type': FORM_TYPE },
    ...options,
  });
const codeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { errors?: { pointer: string }[] }).errors?.[0]?.pointer ?? (body as { code: string }).code,
];
const allow = (external_mail_enabled: boolean) => p.send('PATCH', p.tenant, { body: { external_mail_enabled } });

test('sending a message to an agent of the tenant queues it; the message can then be read in the list and by its id', async () => {
  const [from, to] = [await newAgent(), await newAgent()];
  const { id, at, ...fields } = await sentTo(from, to.address, { cc: [from.address], html: '<p>Text</p>' });
  assert.equal(fields, {
    direction: 'outbound',
    status: 'queued',
    from: from.address,
    to: [to.address],
    cc: [from.address],
    bounced: [],
    subject: 'Hello',
    text: 'Text',
    html: '<p>Text</p>',
    in_reply_to: null,
    attachments: [],
    authentication: null,
    from_name: null,
    automatic: null,
  });
  const [listed] = (await p.send('GET', `${from.path}/messages`)).body as Json[];
  assert.equal(listed, { id, at, ...fields });
  assert.equal((await p.send('GET', `${from.path}/messages/${id}`)).body, listed);
  assert.is((await p.send('GET', `${to.path}/messages/${id}`)).status, 404, 'another agent has no such message');
});

test('the event of a sent message contains neither addresses nor texts in plain text', async () => {
  const [from, to] = [await newAgent(), await newAgent()];
  await sentTo(from, to.address, { subject: 'Salary', text: 'a confidential text' });
  const stored = JSON.stringify(p.eventsOf('MailSent').at(-1)!.data);
  for (const text of ['Salary', 'confidential', 'mail.test']) assert.not.ok(stored.includes(text), text);
});

test('the redaction patterns of the tenant are applied to subject, text and HTML of a sent message before it is stored', async () => {
  const patterns = [{ pattern: 'CUST-[0-9]{6}', tag: 'customer' }];
  const put = (body: readonly object[]) => p.send('PUT', `${p.tenant}/redaction-patterns`, { body });
  assert.is((await put(patterns)).status, 200);
  const [from, to] = [await newAgent(), await newAgent()];
  const subject = 'About CUST-123456';
  const sent = await sentTo(from, to.address, { subject, text: 'CUST-123456, CUST-654321', html: '<b>CUST-123456</b>' });
  const stored = (await p.send('GET', `${from.path}/messages/${sent.id}`)).body as Json;
  for (const shown of [sent, stored])
    assert.equal(
      [shown.subject, shown.text, shown.html],
      ['About [redacted:customer]', '[redacted:customer], [redacted:customer]', '<b>[redacted:customer]</b>'],
    );

  assert.is((await put([{ pattern: '([a-z]{1,30}-){1,30}[0-9]{1,30}', tag: 'slow' }])).status, 200);
  const before = p.eventsOf('MailSent').length;
  assert.equal(codeOf(await send(from, { to: [to.address], text: 'a-'.repeat(100_000) })), [422, '/text']);
  assert.is(p.eventsOf('MailSent').length, before, 'a message that takes too long is not stored');
  assert.is((await put([])).status, 200);
});

test('sending mail to external addresses gets 403 unless both tenant and agent allow it, and 409 if SMTP_URL is not set', async () => {
  const agent = await newAgent();
  const out = () => send(agent, { to: ['ada@example.com'] });
  assert.equal(codeOf(await out()), [403, 'forbidden']);
  await allow(true);
  assert.is((await out()).status, 202);
  await p.send('PATCH', agent.path, { body: { external_mail_enabled: false } });
  assert.equal(codeOf(await out()), [403, 'forbidden']);
  await allow(false);
  assert.is((await send(agent, { to: [agent.address] })).status, 202, 'internal mail needs no permission');

  const without = await createTestPlatform({ mail: { domain: 'mail.test', hasSmtp: false } });
  const made = await without.send('POST', `${without.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } });
  const path = `${without.tenant}/agents/${(made.body as Json).id}/mail`;
  const body = { to: ['ada@example.com'], subject: '', text: '' };
  assert.is((await without.send('POST', path, { body })).status, 403);
  await without.send('PATCH', without.tenant, { body: { external_mail_enabled: true } });
  const refused = await without.send('POST', path, { body });
  assert.equal(codeOf(refused), [409, 'not_configured']);
  assert.match((refused.body as Json).detail as string, 'SMTP_URL');
  await without.close();
});

test('sending a message gets 422 if its recipient, attachment or original message is unknown, and 409 if its agent is inactive', async () => {
  const [agent, other] = [await newAgent(), await newAgent()];
  const missing = `c${'0'.repeat(24)}`;
  const foreign = (await sentTo(other, other.address)).id;
  assert.equal(codeOf(await send(agent, { to: [agent.address, 'nobody.demo@mail.test'] })), [422, '/to/1']);
  assert.equal(codeOf(await send(agent, { to: [agent.address], cc: ['nobody.demo@mail.test'] })), [422, '/cc/0']);
  assert.equal(codeOf(await send(agent, { to: [agent.address], attachment_ids: [missing] })), [422, '/attachment_ids/0']);
  assert.equal(codeOf(await send(agent, { to: [agent.address], in_reply_to: foreign })), [422, '/in_reply_to']);
  assert.equal(codeOf(await send(agent, { to: [] })), [422, '/to']);
  assert.equal(codeOf(await send(agent, { to: [agent.address], more: 1 })), [422, '/more']);
  await p.send('PATCH', agent.path, { body: { is_active: false } });
  assert.is((await send(agent, { to: [other.address] })).status, 409);
});

test('sending mail is refused while the mailbox of the agent is paused', async () => {
  const agent = await newAgent();
  await p.send('POST', '/admin/mail/heal', { body: {} });
  const [mailbox] = (await p.send('GET', `${agent.path}/mailboxes`)).body as Json[];
  await sentTo(agent, agent.address);
  const [row] = (await p.send('GET', `/admin/mailboxes?q=${agent.slug}.`)).body as Json[];
  assert.is(row!.message_count, 1);
  assert.ok(row!.last_message_at);
  await p.send('PATCH', `/admin/mailboxes/${mailbox!.id}`, { body: { is_paused: true } });
  assert.is((await send(agent, { to: [agent.address] })).status, 409);
});

test("a file that is added to a message can be downloaded and sent, also with the agent's runner key", async () => {
  const [agent, other] = [await newAgent(), await newAgent()];
  const { id } = await sentTo(agent, other.address);
  const runner = (await p.send('POST', `${agent.path}/runner-keys`, { body: { name: 'Runner' } })).body as { key: string };
  const added = await upload(agent, id, 'some notes', { key: runner.key });
  assert.is(added.status, 201, added.text);
  const { id: attachment, created_at, ...row } = added.body as Json;
  assert.equal(row, { message_id: id, filename: 'notes.txt', content_type: 'text/plain', size_bytes: 10 });
  assert.is(added.headers.get('location'), `${agent.path}/attachments/${attachment}`);
  assert.equal((await p.send('GET', `${agent.path}/attachments`)).body, [added.body]);
  const shown = (await p.send('GET', `${agent.path}/messages/${id}`)).body as Json;
  assert.equal(shown.attachments, [added.body]);
  const before = (await p.send('GET', `${agent.path}/messages/${id}?as_of=${shown.at}`)).body as Json;
  assert.equal(before.attachments, []);
  const bytes = await p.send('GET', `${agent.path}/attachments/${attachment}`, { key: runner.key });
  assert.equal([bytes.status, bytes.text], [200, 'some notes']);
  assert.is((await p.send('GET', `${p.tenant}/files/${hash('sha256', 'some notes', 'hex')}`)).text, 'some notes');
  assert.is((await p.send('GET', `${other.path}/attachments/${attachment}`)).status, 404);
  assert.is((await send(agent, { to: [other.address], attachment_ids: [attachment] }, { key: runner.key })).status, 202);
  assert.equal(codeOf(await send(other, { to: [agent.address], attachment_ids: [attachment] })), [422, '/attachment_ids/0']);
  assert.is((await upload(agent, `c${'0'.repeat(24)}`, 'x')).status, 404);
  assert.ok(created_at);
});

test('a sent message shows the files of other messages that were sent with it; a file that is named twice is refused', async () => {
  const [agent, other] = [await newAgent(), await newAgent()];
  const { id: first } = await sentTo(agent, other.address);
  const { body: file } = await upload(agent, first, 'some notes');
  const { id: attachment } = file as Json;
  const sent = await sentTo(agent, other.address, { attachment_ids: [attachment] });
  assert.equal(sent.attachments, [file]);
  const [listed, earlier] = (await p.send('GET', `${agent.path}/messages`)).body as Json[];
  assert.equal([listed!.attachments, earlier!.attachments], [[file], [file]]);
  const { body: added } = await upload(agent, sent.id, 'more notes');
  const shown = async (query = '') => ((await p.send('GET', `${agent.path}/messages/${sent.id}${query}`)).body as Json).attachments;
  assert.equal([await shown(), await shown(`?as_of=${sent.at}`)], [[file, added], [file]]);
  const twice = await send(agent, { to: [other.address], attachment_ids: [attachment, attachment] });
  assert.equal(codeOf(twice), [422, '/attachment_ids/1']);
});

test('repeating a request with its Idempotency-Key sends no second message', async () => {
  const agent = await newAgent();
  const headers = { 'idempotency-key': 'mail-1' };
  const first = await send(agent, { to: [agent.address] }, { headers });
  const repeat = await send(agent, { to: [agent.address] }, { headers });
  assert.equal([repeat.status, (repeat.body as Json).id], [202, (first.body as Json).id]);
  assert.is(((await p.send('GET', `${agent.path}/messages`)).body as Json[]).length, 1);
});

test('an attachment that is repeated with its Idempotency-Key is added once; with another name or content, or a wrong type, it is refused', async () => {
  const agent = await newAgent();
  const { id } = await sentTo(agent, agent.address);
  const add = (filename: string, content: string, type = 'text/plain') =>
    p.send('POST', `${agent.path}/messages/${id}/attachments`, {
      raw: formBody({ content, headers: `Content-Disposition: form-data; name="file"; filename="${filename}"\r\nContent-Type: ${type}` }),
      headers: { 'content-type': FORM_TYPE, 'idempotency-key': 'attachment-1' },
    });
  const first = await add('a.txt', 'x');
  assert.equal((await add('a.txt', 'x')).body, first.body);
  assert.equal([(await add('b.txt', 'x')).status, (await add('a.txt', 'y')).status], [422, 422]);
  assert.equal(codeOf(await add('a.png', 'x', 'image/png')), [422, '/file']);
  assert.is(((await p.send('GET', `${agent.path}/attachments`)).body as Json[]).length, 1);
});

test('the lists of messages and attachments can be filtered by direction, time, message and name', async () => {
  const [agent, other] = [await newAgent(), await newAgent()];
  const first = await sentTo(agent, other.address);
  p.clock.now = () => Date.now() + 60_000;
  const second = await sentTo(agent, other.address);
  p.clock.now = Date.now;
  const messages = async (query: string) => ((await p.send('GET', `${agent.path}/messages?${query}`)).body as Json[]).map(({ id }) => id);
  assert.equal(await messages('direction=outbound'), [second.id, first.id]);
  assert.equal(await messages('direction=inbound'), []);
  assert.equal([await messages(`from=${second.at}`), await messages(`to=${second.at}`)], [[second.id], [first.id]]);
  assert.equal(await messages(`direction=outbound&limit=1&from=${first.at}`), [second.id]);
  assert.is((await p.send('GET', `${agent.path}/messages?direction=sideways`)).status, 422);
  for (const id of [first.id, second.id]) assert.is((await upload(agent, id, `file of ${id}`)).status, 201);
  const files = async (query: string) =>
    ((await p.send('GET', `${agent.path}/attachments?${query}`)).body as Json[]).map(({ message_id }) => message_id);
  assert.equal([await files(`message_id=${first.id}`), (await files('q=NOTES')).length, await files('q=other')], [[first.id], 2, []]);
  assert.is((await p.send('GET', `${agent.path}/attachments?message_id=x`)).status, 422);
});

test('after these tests, the projections have applied every event', () => assert.equal(p.unappliedEvents(), []));

afterLastTest(() => p.close());

test.run();
