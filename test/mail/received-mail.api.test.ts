import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { receiveMail } from '../../commands/mail/receive-mail.ts';
import type * as Delivery from '../../domain/deliveries/delivery.ts';
import { storableMail } from '../../infra/mail/storable-mail.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createMailPlatform, type MailAgent } from '../fixtures/mail-platform.ts';

type Json = Record<string, unknown>;
const p = await createMailPlatform();

const mailOf = (header: readonly string[], body = 'The words'): string =>
  ['From: Ada <ada@example.com>', ...header, '', body, ''].join('\r\n');

test('a mail that comes by two routes, or for two addresses of a mailbox, is recorded once', async () => {
  const agent = await p.newAgent();
  const plus = agent.address.replace('@', '+x@');
  const mail = mailOf(['Message-ID: <1@example.com>', 'Subject: Hello']);
  assert.is(await p.receive(mail, [agent.address, plus]), null);
  await p.receive(`Received: from a by b\r\nX-Spam-Score: 1\r\n${mail}`, [agent.address]);
  assert.is((await p.inbox(agent)).length, 1);
  await p.receive(mail.replace('The words', 'Other words'), [agent.address]);
  assert.equal(
    (await p.inbox(agent)).map(({ text }) => text),
    ['Other words', 'The words'],
  );
});

test('a mail that an earlier version has recorded is not recorded again', async () => {
  const agent = await p.newAgent();
  const mail = mailOf(['Message-ID: <2@example.com>', 'Subject: Hello']);
  const parsed = await storableMail(Uint8Array.from(Buffer.from(mail)).buffer, 'ada@example.com');
  const mailbox_id = p
    .eventsOf('MailboxProvisioned')
    .findLast(({ data }) => (data as Json).agent_id === agent.id && (data as Json).kind === 'external')!.id;
  // Earlier versions derived the id from the digest of all bytes.
  const message_id = p.vault.uniqueId('receivedmail', p.tenant_id, `${mailbox_id} ${parsed.sha256}`, 0);
  const origin = { mailbox_id, sent_message_id: null, authentication: null, attachments: [] };
  await receiveMail(p.ports.intake, p.tenant_id, {
    ...{ message_id, agent_id: agent.id, origin, content: parsed.content, at: new Date().toISOString(), cause: undefined },
  });
  await p.receive(mail, [agent.address]);
  assert.is((await p.inbox(agent)).length, 1);
});

/** Returns the answer of another program to what an agent has sent. */
const answerTo = (header_id: string, number: number, header: readonly string[] = []): string =>
  mailOf([`Message-ID: <answer-${number}@example.com>`, `In-Reply-To: ${header_id}`, ...header], `answer ${number}`);

const MAX_TURNS = 20;
const receivedCount = (): number => p.eventsOf('MailReceived').length;

/** Lets an agent answer each mail, and another program each answer. @returns after how many answers it got no more mail */
const converse = async (agent: MailAgent, { header = [], delayMs }: { header?: readonly string[]; delayMs: number }): Promise<number> => {
  const start = p.clock.now();
  let [turns, steps] = [0, 0];
  p.clock.now = () => start + steps * delayMs;
  await p.receive(answerTo('<none@example.com>', 0, header), [agent.address]);
  for (let known = -1; turns < MAX_TURNS && receivedCount() > known; turns++) {
    known = receivedCount();
    const [last] = await p.inbox(agent, 1);
    await p.sendAs(agent, { to: ['ada@example.com'], in_reply_to: last!.id });
    await p.deliver();
    steps++;
    await p.receive(answerTo(p.outbox.at(-1)!.content.header_id!, turns + 1, header), [agent.address]);
  }
  p.clock.now = Date.now;
  return turns;
};

test('programs that answer each other by mail are stopped after 16 answers; a person is never stopped', async () => {
  assert.is(await converse(await p.newAgent(), { header: ['Auto-Submitted: auto-replied'], delayMs: 600_000 }), 17);
  assert.is(await converse(await p.newAgent(), { delayMs: 1_000 }), 17, 'at once, but without a field that says so');
  assert.is(await converse(await p.newAgent(), { delayMs: 120_000 }), MAX_TURNS, 'a person');
  const blocked = p.eventsOf('MailBlocked').map(({ meta }) => (meta as unknown as { facts: Delivery.DeliveryFacts }).facts.reason);
  assert.equal(blocked, ['loop', 'loop']);
});

test('mail beyond a rate that holds it is in the mailbox of its own agent once it is released', async () => {
  const [agent, other] = [await p.newAgent(), await p.newAgent()];
  const rule = { name: 'busy', kind: 'rate', options: { max: 1, per_seconds: 3_600 }, action: 'hold' };
  await p.send('PUT', `${p.tenant}/guardrails`, { body: [rule] });
  for (const n of [1, 2])
    await p.receive(mailOf([`Message-ID: <held-${n}@example.com>`, `Subject: Number ${n}`], `Text ${n}`), [agent.address]);
  await p.send('PUT', `${p.tenant}/guardrails`, { body: [] });
  const textsIn = async () => (await p.inbox(agent)).map(({ text }) => text);
  assert.equal(await textsIn(), ['Text 1']);
  const { id } = p.eventsOf('MailHeld').at(-1)!;
  const release = (body: Json) => p.send('POST', `${p.tenant}/deliveries/${id}/release`, { body: { reason: 'It is urgent', ...body } });
  assert.is((await release({ agent_id: other.id })).status, 422);
  assert.is((await release({})).status, 202);
  assert.equal((await textsIn()).toSorted(), ['Text 1', 'Text 2']);
});

test('two agents of a tenant that answer each other are stopped', async () => {
  const [one, other] = [await p.newAgent(), await p.newAgent()];
  await p.sendAs(one, { to: [other.address] });
  await p.deliver();
  let turns = 0;
  for (let [from, to] = [other, one]; turns < 40; [from, to] = [to, from], turns++) {
    const [last] = await p.inbox(from, 1);
    const known = receivedCount();
    await p.sendAs(from, { to: [to.address], in_reply_to: last!.id });
    await p.deliver();
    if (receivedCount() === known) break;
  }
  assert.is(turns, 16);
});

test('agents of two tenants that answer each other by SMTP are stopped', async () => {
  const { body } = await p.send('POST', '/admin/tenants', { body: { name: 'Other', slug: 'other', owner_email: 'o@example.com' } });
  const { id, owner_key: key } = body as { id: string; owner_key: string };
  const [one, other] = [await p.newAgent(), await p.newAgent({ path: `/tenant/${id}`, key, slug: 'other' })];
  await p.sendAs(one, { to: [other.address] });
  let turns = 0;
  for (let [from, to] = [one, other]; turns < 60; [from, to] = [to, from], turns++) {
    await p.deliver();
    const { header_id, references } = p.outbox.at(-1)!.content;
    const known = receivedCount();
    const header = [`Message-ID: ${header_id}`, `In-Reply-To: ${references.at(-1) ?? ''}`, `References: ${references.join(' ')}`];
    await p.receive(mailOf(['Auto-Submitted: auto-replied', ...header]), [to.address], from.address);
    if (receivedCount() === known) break;
    const [last] = await p.inbox(to, 1);
    await p.sendAs(to, { to: [from.address], in_reply_to: last!.id });
  }
  assert.is(turns, 34);
});

test('automatic mail has a label that the API and the runner see', async () => {
  const agent = await p.newAgent();
  await p.receive(mailOf(['Auto-Submitted: auto-replied', 'Message-ID: <out@example.com>']), [agent.address]);
  const [got] = await p.inbox(agent);
  assert.equal([got!.automatic, got!.from_name], ['reply', 'Ada']);
  const detail = (await p.send('GET', `${p.tenant}/deliveries/${got!.id}`)).body as { payload: Json; guardrails: Json[] };
  assert.is(detail.payload.automatic, 'reply');
  assert.equal(
    detail.guardrails.filter(({ verdict }) => verdict === 'label'),
    [{ rule: 'automatic', verdict: 'label', note: 'reply' }],
  );
});

test('a word that tags divide in HTML is redacted, and does not reach the agent in the HTML', async () => {
  const agent = await p.newAgent();
  const rules = [{ name: 'cards', kind: 'pattern', options: { detectors: ['cards'] }, action: 'redact' }];
  await p.send('PUT', `${p.tenant}/guardrails`, { body: rules });
  await p.receive(mailOf(['Content-Type: text/html'], '<p>Card 4111<b>1111</b>11111111</p>'), [agent.address]);
  const [got] = await p.inbox(agent);
  assert.not.match(JSON.stringify(got), /4111/);
  assert.match(got!.text as string, /^Card \[redacted:/);
});

afterLastTest(() => p.close());
test.run();
