// limit: 240 s for this file (test/run.ts)
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runHostileMails } from '../faults/hostile-mails.ts';
import { expectReply } from '../faults/running-platform.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import {
  allowExternalMail,
  client,
  closeMail,
  codeFor,
  eventsOf,
  type Json,
  type LiveAgent,
  mailTests,
  newAgent,
  runnerMessages,
  sink,
  statusOf,
  until,
  upload,
} from '../fixtures/live-mail.ts';
import { loadFactor } from '../fixtures/load-factor.ts';
import { notification } from '../fixtures/mail-sink.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';
import { message, part } from './corpus/corpus-mail.ts';

const use = mailTests(runningPlatform());

test("mail to an agent of the same tenant reaches that agent's runner once, without SMTP; the mail lists of the sending and the receiving agent contain it", () =>
  use(async (platform) => {
    const [from, to] = [await newAgent(platform), await newAgent(platform)];
    const { id } = await from.send({ to: [to.address], text: 'internal mail' });
    await until('the mail is sent', async () => (await statusOf(from, id)).status === 'sent');
    await until('the mail is received', async () => (await to.read('messages')).length === 1);
    const [got] = await to.read('messages');
    assert.equal([got!.direction, got!.from, got!.text], ['inbound', from.address, 'internal mail']);
    await until('the runner gets it', async () => (await runnerMessages(platform, to)).length > 0);
    const [message, ...others] = await runnerMessages(platform, to);
    assert.is(others.length, 0);
    assert.equal([message!.type, (message!.data as Json).text], ['annals.mail.received', 'internal mail']);
    const reply = await to.send({ to: [from.address], in_reply_to: got!.id });
    await until('the reply is received', async () => (await from.read('messages')).length === 2);
    const answer = (await from.read('messages')).find(({ direction }) => direction === 'inbound')!;
    assert.is(answer.in_reply_to, id);
    assert.ok(reply.id);
  }));

test('external mail is sent once with its attachments and threading headers; if the mail server refuses a recipient, this is recorded', () =>
  use(async (platform) => {
    await allowExternalMail(platform);
    const agent = await newAgent(platform);
    const first = await agent.send({ to: ['ada@example.com'] });
    const form = new FormData();
    form.append('file', new Blob(['some notes']), 'notes.txt');
    const attached = await upload(platform, `${agent.path}/messages/${first.id}/attachments`, form);
    const { id } = await agent.send({
      ...{ to: ['ada@example.com', 'nobody@example.com'], cc: ['later@example.com'], subject: 'Report', text: 'See the file' },
      ...{ html: '<p>See the file</p>', in_reply_to: first.id, attachment_ids: [attached] },
    });
    await until('the mail has left', async () => sink.received.some(({ mail }) => mail.subject === 'Report'));
    const { recipients, mail } = sink.received.find((one) => one.mail.subject === 'Report')!;
    assert.equal([recipients, mail.from?.address, mail.text?.trim()], [['ada@example.com'], agent.address, 'See the file']);
    assert.equal(
      mail.attachments.map(({ filename, content }) => [filename, new TextDecoder().decode(content as ArrayBuffer)]),
      [['notes.txt', 'some notes']],
    );
    assert.is(mail.messageId, `<${id}@mail.test>`);
    assert.is(mail.inReplyTo, `<${first.id}@mail.test>`);
    assert.is(mail.references, `<${first.id}@mail.test>`);
    const automatic = (sent: typeof mail) =>
      ['auto-submitted', 'x-auto-response-suppress'].map((name) => sent.headers.find(({ key }) => key === name)?.value);
    assert.equal(automatic(mail), ['auto-replied', 'All']);
    const earlier = sink.received.find((one) => one.mail.messageId === `<${first.id}@mail.test>`)!;
    assert.equal(automatic(earlier.mail), ['auto-generated', 'All']);
    await until('the refusal is recorded', async () => ((await statusOf(agent, id)).bounced as string[]).length === 1);
    assert.equal((await statusOf(agent, id)).bounced, ['nobody@example.com']);
    assert.is((await statusOf(agent, id)).status, 'queued', 'later@ is tried again');
  }));

test('mail that the server refuses for a while is sent again to that recipient only; then each recipient has one copy of it', () =>
  use(async (platform) => {
    await allowExternalMail(platform);
    const agent = await newAgent(platform);
    const { id } = await agent.send({ to: ['ada@example.com', 'deferred@example.com'], subject: 'Deferred' });
    const copies = () => sink.received.filter(({ mail }) => mail.subject === 'Deferred');
    await until('the first attempt was made', async () => copies().length === 1);
    await until('the refusal is recorded', async () => (await eventsOf(platform, 'MailDeferred', id)).length === 1);
    const [deferred] = await eventsOf(platform, 'MailDeferred', id);
    assert.is((deferred as Json).reason, '451');
    assert.is((await statusOf(agent, id)).status, 'queued');
    // The first attempt is repeated after 30 seconds. Within them, the read model must not show it as sent.
    await sleep(Date.parse(String((deferred as Json).next_attempt_at)) - Date.now());
    await until('the second attempt was made', async () => copies().length === 2);
    await until('the mail is sent', async () => (await statusOf(agent, id)).status === 'sent');
    await sleep(3_000);
    assert.equal(
      copies().map(({ recipients, mail }) => [recipients, mail.messageId]),
      [
        [['ada@example.com'], `<${id}@mail.test>`],
        [['deferred@example.com'], `<${id}@mail.test>`],
      ],
    );
    assert.equal((await statusOf(agent, id)).bounced, []);
  }));

test('a delivery status notification that arrives later marks the recipient of the sent message as bounced, once and only for the agent that sent it', () =>
  use(async (platform) => {
    const [agent, other] = [await newAgent(platform), await newAgent(platform)];
    await allowExternalMail(platform);
    const { id } = await agent.send({ to: ['ada@example.com', 'gone@example.com'] });
    await until('the mail has left', async () => (await statusOf(agent, id as string)).status === 'sent');
    const notify = (to: LiveAgent, raw: string) => client.sendMail({ envelope: { from: '', to: to.address }, raw });
    const received = async (to: LiveAgent) => (await to.read('messages')).filter(({ direction }) => direction === 'inbound').length;
    await notify(agent, notification(id, 'gone@example.com', { action: 'delayed', status: '4.4.1' }));
    await notify(agent, notification(id, 'stranger@example.com'));
    await notify(other, notification(id, 'gone@example.com'));
    await until('the notifications are messages, too', async () => (await received(agent)) === 2 && (await received(other)) === 1);
    assert.equal((await statusOf(agent, id as string)).bounced, []);
    await notify(agent, notification(id, 'Gone@example.com'));
    await notify(agent, `X-Again: 1\r\n${notification(id, 'gone@example.com')}`);
    await until('all notifications are recorded', async () => (await received(agent)) === 4);
    const { status, bounced } = await statusOf(agent, id as string);
    assert.equal([status, bounced], ['bounced', ['gone@example.com']]);
  }));

test('mail that arrives by SMTP gets 250 once it is recorded, and reaches the runner once even if it arrives twice', () =>
  use(async (platform) => {
    const agent = await newAgent(platform);
    await allowExternalMail(platform);
    const raw = [
      'From: Ada <ada@example.com>',
      `To: ${agent.address}`,
      'Subject: Hello',
      'Message-ID: <1@example.com>',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=x',
      '',
      '--x',
      'Content-Type: text/plain',
      '',
      'The text',
      '--x',
      'Content-Type: application/octet-stream; name="../a.txt"',
      'Content-Disposition: attachment; filename="../a.txt"',
      '',
      'content',
      '--x--',
      '',
    ].join('\r\n');
    const envelope = { from: 'ada@example.com', to: [agent.address] };
    for (const route of ['', '', 'Received: from a by b\r\nX-Spam-Score: 1\r\n'])
      assert.match((await client.sendMail({ envelope, raw: route + raw })).response, /^250/);
    await until('the mail is in the list', async () => (await agent.read('messages')).length > 0);
    const [got, ...others] = await agent.read('messages');
    assert.is(others.length, 0);
    assert.equal([got!.from, got!.subject, (got!.text as string).trim()], ['ada@example.com', 'Hello', 'The text']);
    assert.equal(Object.keys(got!.authentication as Json).sort(), ['dkim', 'dmarc', 'spf']);
    const [file] = got!.attachments as Json[];
    assert.is(file!.filename, 'a.txt');
    const content = await platform.call('GET', `${agent.path}/attachments/${file!.id}`);
    assert.is(content.text.trim(), 'content');
    await until('the runner gets it', async () => (await runnerMessages(platform, agent)).length > 0);
    assert.is((await runnerMessages(platform, agent)).length, 1);
    const [mailbox] = JSON.parse(
      (await platform.call('GET', `/admin/mailboxes?q=${agent.address.split('@')[0]}&sort=-message_count`)).text,
    );
    assert.is(mailbox.message_count, 1);
  }));

test('the words, files and kind of mail reach the API and the runner, whatever program has sent it', () =>
  use(async (platform) => {
    const agent = await newAgent(platform);
    await allowExternalMail(platform);
    const calendar = part(['Content-Type: text/calendar; method=REQUEST'], 'BEGIN:VCALENDAR');
    const log = part(['Content-Type: text/plain; name="a.log"', 'Content-Disposition: inline; filename="a.log"'], 'line');
    const html = part(['Content-Type: text/html'], '<p>Please restart <b>server 7</b>.</p>');
    const raw = `Auto-Submitted: auto-generated\r\n${message('mixed', html, log, calendar)}`;
    await client.sendMail({ envelope: { from: 'ada@example.com', to: [agent.address] }, raw });
    await until('the mail is in the list', async () => (await agent.read('messages')).length > 0);
    const [got] = await agent.read('messages');
    assert.equal([got!.from_name, got!.text, got!.automatic], ['Ada', 'Please restart server 7.', 'generated']);
    assert.equal((got!.attachments as Json[]).map(({ filename, content_type }) => [filename, content_type]).toSorted(), [
      ['a.log', 'text/plain'],
      ['invite.ics', 'text/calendar; method=REQUEST'],
    ]);
    await until('the runner gets it', async () => (await runnerMessages(platform, agent)).length > 0);
    const [event] = await runnerMessages(platform, agent);
    const { text, automatic } = event!.data as Json;
    assert.equal([text, automatic, event!.labels], ['Please restart server 7.', 'generated', 'automatic']);
  }));

test('incoming mail to an unknown address, an inactive agent, a paused mailbox or an agent without external mail is refused with 550', () =>
  use(async (platform) => {
    const [inactive, paused, internal] = [await newAgent(platform), await newAgent(platform), await newAgent(platform)];
    await allowExternalMail(platform);
    assert.is(await codeFor(inactive.address), 250);
    await expectReply(platform.call('PATCH', inactive.path, { is_active: false }), 200);
    await expectReply(platform.call('PATCH', internal.path, { external_mail_enabled: false }), 200);
    const mailbox = (await paused.read('mailboxes')).find(({ kind }) => kind === 'external')!;
    await expectReply(platform.call('PATCH', `/admin/mailboxes/${mailbox.id}`, { is_paused: true }), 200);
    for (const to of [`nobody.${platform.tenant.slug}@mail.test`, 'a@example.com', inactive.address, paused.address, internal.address])
      assert.is(await codeFor(to), 550, to);
  }));

test('secrets in received mail are redacted before it is recorded; mail that a guardrail blocks is recorded, but does not reach the runner', () =>
  use(async (platform) => {
    const [from, to] = [await newAgent(platform), await newAgent(platform)];
    const rules = [
      { name: 'secrets', kind: 'pattern', options: { detectors: ['secrets'] }, action: 'redact' },
      { name: 'phrase', kind: 'pattern', options: { pattern: 'forbidden phrase' }, action: 'block' },
    ];
    await expectReply(platform.call('PUT', `/tenant/${from.tenant}/guardrails`, rules), 200);
    try {
      const secret = 'AKIAIOSFODNN7EXAMPLE';
      await from.send({ to: [to.address], subject: 'one', text: `the key is ${secret}` });
      await from.send({ to: [to.address], subject: 'two', text: 'a forbidden phrase' });
      const path = `/tenant/${from.tenant}/deliveries?agent_id=${to.id}&sort=received_at`;
      const deliveries = async (): Promise<Json[]> => JSON.parse((await platform.call('GET', path)).text);
      await until('both are recorded', async () => (await deliveries()).length === 2);
      await until('the runner gets one', async () => (await runnerMessages(platform, to)).length > 0);
      const messages = await runnerMessages(platform, to);
      assert.equal(
        messages.map(({ data }) => (data as Json).subject),
        ['one'],
      );
      assert.not.match(JSON.stringify(messages), new RegExp(secret));
      const outcomes = (await deliveries()).map(({ outcome, reason }) => [outcome, reason]);
      assert.equal(outcomes.toSorted(), [
        ['accepted', null],
        ['blocked', 'pattern'],
      ]);
      assert.equal(
        (await to.read('messages')).map(({ subject, text }) => [subject, text]),
        [['one', 'the key is [redacted:aws_access_key]']],
      );
    } finally {
      await expectReply(platform.call('PUT', `/tenant/${from.tenant}/guardrails`, []), 200);
    }
  }));

test('incoming mail above the maximum size is refused with the SMTP status 552', () =>
  use(async (platform) => {
    const agent = await newAgent(platform);
    await allowExternalMail(platform);
    const body = Buffer.alloc(37 * 1024 * 1024, 'a'.repeat(70).concat('\r\n'));
    assert.is(await codeFor(agent.address, Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), body])), 552);
  }));

test('mail that is slow to parse is refused, and meanwhile the signed deliveries of another tenant are answered', () =>
  use(async (platform) => {
    const agent = await newAgent(platform);
    await allowExternalMail(platform);
    const { codes, slowestMs } = await runHostileMails(platform.running, (raw) => codeFor(agent.address, raw));
    assert.equal([...codes, slowestMs < 250 * loadFactor()], [552, 554, 552, true], `${slowestMs} ms`);
  }));

afterLastTest(closeMail);

test.run();
