import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type AutomaticKind, automaticKind } from '../../domain/mail/automatic-mail.ts';

type Signs = { sender?: string; from?: string; type?: string; reportType?: string; calendarMethod?: string };
/** Who sends such mail, the fields of its header, other signs, and its kind. */
type Row = readonly [source: string, fields: Readonly<Record<string, string>>, kind: AutomaticKind | null, signs?: Signs];

const ROWS: readonly Row[] = [
  ['RFC 3834 5', { 'auto-submitted': 'auto-replied' }, 'reply'],
  ['RFC 3834 5: comments and parameters', { 'auto-submitted': '(by vacation) Auto-Replied (again); x=y' }, 'reply'],
  ['RFC 3834 5', { 'auto-submitted': 'auto-generated' }, 'generated'],
  ['RFC 5436 2.7.1', { 'auto-submitted': 'auto-notified; owner-email="a@example.com"' }, 'generated'],
  ['RFC 3834 5: a word that is not known', { 'auto-submitted': 'x-new' }, 'generated'],
  ['RFC 3834 5: written by a person', { 'auto-submitted': 'no' }, null],
  ['RFC 3834 5: written by a person', { 'auto-submitted': 'No (really)' }, null],
  ['cPanel, Exim', { 'x-autoreply': 'yes' }, 'reply'],
  ['cPanel', { 'x-autorespond': 'Re: hello' }, 'reply'],
  ['old vacation programs', { precedence: 'auto_reply' }, 'reply'],
  ['OTRS, Plesk', { 'x-auto-response-suppress': 'All', 'auto-submitted': 'auto-replied' }, 'reply'],
  ['Exchange', { 'x-auto-response-suppress': 'DR, OOF, AutoReply' }, 'generated'],
  ['Exchange', { 'x-auto-response-suppress': 'None' }, null],
  ['FirstClass', { 'x-fc-machinegenerated': 'true' }, 'generated'],
  ['old mailing programs', { precedence: 'bulk' }, 'bulk'],
  ['old mailing programs', { precedence: 'Junk' }, 'bulk'],
  ['old mailing lists', { precedence: 'list' }, 'list'],
  ['RFC 2919', { 'list-id': 'A list <l.example.com>' }, 'list'],
  ['RFC 2369, RFC 8058', { 'list-unsubscribe': '<mailto:u@example.com>' }, 'list'],
  ['Google Groups', { 'mailing-list': 'list l@googlegroups.com; contact x' }, 'list'],
  ['RFC 5321 4.5.5: a bounce without parts', {}, 'bounce', { sender: '' }],
  ['an out-of-office answer, whose envelope has no sender', { 'auto-submitted': 'auto-replied' }, 'reply', { sender: '' }],
  ['Postfix, RFC 3464', {}, 'bounce', { type: 'multipart/report', reportType: 'delivery-status' }],
  ['RFC 6522: a report that does not say of what', {}, 'bounce', { type: 'multipart/report' }],
  ['RFC 8098', {}, 'receipt', { type: 'multipart/report', reportType: 'disposition-notification' }],
  ['RFC 5965', {}, 'generated', { type: 'multipart/report', reportType: 'feedback-report' }],
  ['Exim', { 'x-failed-recipients': 'a@example.com' }, 'bounce'],
  ['RFC 3834 2: the sender in the envelope', {}, 'bounce', { sender: 'MAILER-DAEMON@example.com' }],
  ['RFC 3834 2: the owner of a list', {}, 'list', { sender: 'owner-cats@example.com' }],
  ['RFC 3834 2: the address for requests to a list', { 'list-id': '<cats.example.com>' }, 'list', { sender: 'cats-request@example.com' }],
  ['a list that sends as its owner', { precedence: 'list' }, 'list', { sender: 'cats-owner@example.com' }],
  ['a person with a role', {}, null, { sender: 'purchase-request@example.com', from: 'purchase-request@example.com' }],
  ['a person with a role', {}, null, { sender: 'shop-owner@example.com', from: 'shop-owner@example.com' }],
  ['Mailman', {}, 'list', { sender: 'cats-bounces+ada=example.net@example.com' }],
  ['ezmlm', {}, 'list', { sender: 'cats-return-17-ada=example.net@example.com' }],
  ['a person whose name is like that of a list', {}, null, { sender: 'request@example.com', from: 'owner@example.com' }],
  ['RFC 2369 3.6: only the archive is named', { 'list-archive': '<https://example.com/cats>' }, 'list'],
  ['Vixie cron', { 'x-cron-env': '<SHELL=/bin/sh>' }, 'generated'],
  ['qmail', {}, 'bounce', { from: 'MAILER-DAEMON@example.com' }],
  ['RFC 5546 3.2.3: the answer to an invitation', {}, 'calendar', { calendarMethod: 'reply' }],
  ['RFC 5546 3.2.7', {}, 'calendar', { calendarMethod: 'COUNTER' }],
  ['RFC 5546 3.2.2: an invitation', {}, null, { calendarMethod: 'REQUEST' }],
  ['a person', { precedence: 'normal', 'x-priority': '1', 'reply-to': 'a@example.com' }, null],
  ['a person, in a field with the name of a method', { precedence: 'constructor', constructor: 'x' }, null],
];

test('automatic mail is recognized by the header fields and the form that mail programs use', () => {
  for (const [source, fields, kind, signs = {}] of ROWS) {
    const found = automaticKind({
      ...{ sender: 'a@example.com', from: 'a@example.com', type: 'text/plain', reportType: undefined, calendarMethod: undefined, ...signs },
      headers: (name) => (Object.hasOwn(fields, name) ? [fields[name]!] : []),
    });
    assert.is(found, kind, `${source}: ${JSON.stringify({ fields, signs })}`);
  }
});

test.run();
