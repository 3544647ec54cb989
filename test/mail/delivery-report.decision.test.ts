import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { deliveryReport } from '../../domain/mail/delivery-report.ts';

const ID = `c${'1'.repeat(24)}`;
const ORIGINAL = `Subject: Hello\nMessage-ID:\n <${ID}@mail.test>\n`;
const groupOf = (fields: Readonly<Record<string, string>>): string =>
  Object.entries({ 'Final-Recipient': 'rfc822; ada@example.com', Action: 'failed', Status: '5.1.1', ...fields })
    .map(([name, value]) => `${name}: ${value}`)
    .join('\r\n');
const report = (...groups: string[]) => deliveryReport(['Reporting-MTA: dns; mx.example.com', ...groups].join('\r\n\r\n'), ORIGINAL);
const failedIn = (...groups: string[]) => report(...groups)?.failed ?? null;

test('a delivery report names each recipient to whom the delivery failed permanently, with the SMTP code or, without one, the status', () => {
  const other = groupOf({ 'Final-Recipient': 'RFC822; <bo@example.com>', 'Diagnostic-Code': 'smtp; 552 5.2.2\r\n  mailbox full' });
  assert.equal(report(groupOf({}), other), {
    message_id: ID,
    failed: [
      { address: 'ada@example.com', reason: '5.1.1' },
      { address: 'bo@example.com', reason: '552' },
    ],
  });
});

test('a delivery report about a delay, a successful delivery or a temporary status does not count as a failure', () => {
  const cases: Record<string, string>[] = [
    { Action: 'delayed' },
    { Action: 'delivered' },
    { Action: 'relayed' },
    { Status: '4.4.1' },
    { Status: '' },
  ];
  for (const fields of cases) assert.is(failedIn(groupOf(fields)), null, JSON.stringify(fields));
});

test('a delivery report about a message of another system, or without a recipient, is ignored', () => {
  const status = `Reporting-MTA: dns; mx\n\n${groupOf({})}`;
  for (const original of ['', 'Subject: no id', 'Message-ID: <other@example.com>', `References: <${ID}@mail.test>`])
    assert.is(deliveryReport(status, original), null, original);
  assert.is(failedIn(groupOf({ 'Final-Recipient': 'x400; ada' })), null);
  assert.is(deliveryReport('', ORIGINAL), null);
  assert.is(deliveryReport(groupOf({}), ORIGINAL), null, 'the only group is about the message');
});

test.run();
