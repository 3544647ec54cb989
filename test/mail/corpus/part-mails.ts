import { base64, type CorpusMail, lines, message, multi, part, single, WORDS } from './corpus-mail.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
).toString('latin1');
const encoded = (bytes: string, ...header: readonly string[]): string =>
  part([...header, 'Content-Transfer-Encoding: base64'], base64(bytes));
const plain = (text: string): string => part(['Content-Type: text/plain'], text);
const html = (text: string): string => part(['Content-Type: text/html'], text);
const CALENDAR = lines('BEGIN:VCALENDAR', 'METHOD:REQUEST', 'END:VCALENDAR');
const FORWARDED = lines('From: bo@example.com', 'Subject: Earlier', '', 'Earlier words');
const STATUS = lines('Reporting-MTA: dns; mx.example.com', '', 'Final-Recipient: rfc822; a@example.com', 'Action: failed', 'Status: 5.1.1');

/** Parts of messages: what is not the body is a file with its bytes, name and type, and the body has all the words. */
export const PART_MAILS: readonly CorpusMail[] = [
  {
    ...{ name: 'a text in the line that has a file name', source: 'log files of monitoring programs, RFC 2183 2.3' },
    mail: message(
      'mixed',
      html('<p>Hi</p>'),
      part(['Content-Type: text/plain; name="file1.log"', 'Content-Disposition: inline; filename="file1.log"'], 'one', 'two'),
    ),
    ...{ text: 'Hi', html: '<p>Hi</p>', files: [['file1.log', 'text/plain', 'one\r\ntwo']] },
  },
  {
    ...{ name: 'a text with a name, but without a disposition', source: 'RFC 2046 4.1, name as old programs use it' },
    mail: message('mixed', WORDS, part(['Content-Type: text/x-log; name=a.log'], 'x')),
    ...{ text: 'The words', files: [['a.log', 'text/x-log', 'x']] },
  },
  {
    ...{ name: 'an attached HTML file', source: 'reports of Jenkins' },
    mail: message('mixed', WORDS, part(['Content-Type: text/html', 'Content-Disposition: attachment; filename=report.html'], '<b>r</b>')),
    ...{ text: 'The words', html: null, files: [['report.html', 'text/html', '<b>r</b>']] },
  },
  {
    ...{ name: 'an invitation as one of the forms', source: 'Google Calendar, Outlook; RFC 6047 2.4' },
    mail: message(
      'alternative',
      WORDS,
      html('<p>The words</p>'),
      part(['Content-Type: text/calendar; charset="UTF-8"; method=REQUEST'], CALENDAR),
    ),
    ...{ text: 'The words', html: '<p>The words</p>', files: [['invite.ics', 'text/calendar; method=REQUEST', CALENDAR]] },
  },
  {
    ...{ name: 'an invitation that is the whole message', source: 'RFC 6047 2.4' },
    mail: single(['Content-Type: text/calendar; method=CANCEL; name="meeting"'], CALENDAR),
    ...{ text: '', html: null, files: [['meeting.ics', 'text/calendar; method=CANCEL', `${CALENDAR}\r\n`]] },
  },
  {
    ...{ name: 'an invitation as application/ics', source: 'Google Calendar' },
    mail: message(
      'mixed',
      WORDS,
      encoded(CALENDAR, 'Content-Type: application/ics; name="invite.ics"', 'Content-Disposition: attachment; filename="invite.ics"'),
    ),
    ...{ text: 'The words', files: [['invite.ics', 'application/ics', CALENDAR]] },
  },
  {
    ...{ name: 'a forwarded message', source: 'Thunderbird, "Forward as attachment"; RFC 2046 5.2.1' },
    mail: message('mixed', WORDS, part(['Content-Type: message/rfc822'], FORWARDED)),
    ...{ text: 'The words', files: [['message.eml', 'message/rfc822', FORWARDED]] },
  },
  {
    ...{ name: 'a forwarded message with a name, in Base64', source: 'Exchange' },
    mail: message('mixed', WORDS, encoded(FORWARDED, 'Content-Type: message/rfc822; name="Earlier.eml"')),
    ...{ text: 'The words', files: [['Earlier.eml', 'message/rfc822', FORWARDED]] },
  },
  {
    ...{ name: 'a message that is only a forwarded message', source: 'RFC 2046 5.2.1' },
    mail: single(['Content-Type: message/rfc822'], FORWARDED),
    ...{ text: '', files: [['message.eml', 'message/rfc822', `${FORWARDED}\r\n`]] },
  },
  {
    ...{ name: 'a forwarded message with parts', source: 'RFC 2046 5.2.1' },
    mail: message(
      'mixed',
      WORDS,
      part(['Content-Type: message/rfc822'], lines('Subject: e', multi('mixed', 'inner', plain('inner words')))),
    ),
    ...{
      text: 'The words',
      files: [['message.eml', 'message/rfc822', lines('Subject: e', multi('mixed', 'inner', plain('inner words')))]],
    },
  },
  {
    ...{ name: 'a bounce', source: 'RFC 3464; Postfix', automatic: 'bounce' },
    mail: message(
      'report; report-type=delivery-status',
      plain('Sorry'),
      part(['Content-Type: message/delivery-status'], STATUS),
      part(['Content-Type: text/rfc822-headers'], 'Subject: x'),
    ),
    ...{
      text: 'Sorry',
      files: [
        ['delivery-status.txt', 'message/delivery-status', STATUS],
        ['headers.txt', 'text/rfc822-headers', 'Subject: x'],
      ],
    },
  },
  {
    ...{ name: 'a digest, whose parts are messages', source: 'RFC 2046 5.1.5; Mailman' },
    mail: message('mixed', WORDS, multi('digest', 'd', lines('', FORWARDED), lines('', FORWARDED))),
    ...{
      text: 'The words',
      files: [
        ['message.eml', 'message/rfc822', FORWARDED],
        ['message.eml', 'message/rfc822', FORWARDED],
      ],
    },
  },
  {
    ...{ name: 'parts without a name', source: 'RFC 2183 2.3' },
    mail: message(
      'mixed',
      WORDS,
      encoded('%PDF-1.4\n', 'Content-Type: application/pdf'),
      encoded('\xff\x07', 'Content-Type: application/octet-stream'),
      encoded(PNG, 'Content-Type: image/png'),
    ),
    ...{
      text: 'The words',
      files: [
        ['file.pdf', 'application/pdf', '%PDF-1.4\n'],
        ['file', 'application/octet-stream', '\xff\x07'],
        ['image.png', 'image/png', PNG],
      ],
    },
  },
  {
    ...{ name: 'text, picture, text', source: 'Apple Mail' },
    mail: message(
      'mixed',
      plain('before'),
      encoded(PNG, 'Content-Type: image/png; name=p.png', 'Content-Disposition: inline; filename=p.png'),
      plain('after'),
    ),
    ...{ text: 'before\n\nafter', html: null, files: [['p.png', 'image/png', PNG]] },
  },
  {
    ...{ name: 'HTML, file, HTML as one of two forms', source: 'Apple Mail' },
    mail: message(
      'alternative',
      plain('all'),
      multi('mixed', 'm', html('<p>a</p>'), encoded('%PDF-1.4\n', 'Content-Type: application/pdf; name=a.pdf'), html('<p>b</p>')),
    ),
    ...{ text: 'all', html: '<p>a</p>\n<p>b</p>', files: [['a.pdf', 'application/pdf', '%PDF-1.4\n']] },
  },
  {
    ...{ name: 'a picture of the HTML', source: 'Outlook; RFC 2387, RFC 2392' },
    mail: message(
      'related',
      multi('alternative', 'a', plain('t'), html('<img src="cid:1">t')),
      encoded(PNG, 'Content-Type: image/png; name=image001.png', 'Content-ID: <1>'),
    ),
    ...{ text: 't', html: '<img src="cid:1">t', files: [['image001.png', 'image/png', PNG]] },
  },
  {
    ...{ name: 'a root that is not the first part', source: 'RFC 2387 3.2' },
    mail: message(
      'related; start="<r>"',
      encoded(PNG, 'Content-Type: image/png', 'Content-ID: <1>'),
      part(['Content-Type: text/html', 'Content-ID: <r>'], '<p>root</p>'),
    ),
    ...{ text: 'root', html: '<p>root</p>', files: [['image.png', 'image/png', PNG]] },
  },
  {
    ...{ name: 'a root that is named without angle brackets', source: 'broken mailing programs; RFC 2387 3.2' },
    mail: message(
      'related; start=r',
      part(['Content-Type: text/plain', 'Content-ID: <1>'], 'not a word of the sender'),
      part(['Content-Type: text/html', 'Content-ID: <r>'], '<p>root</p>'),
    ),
    ...{ text: 'root', html: '<p>root</p>', files: [['text.txt', 'text/plain', 'not a word of the sender']] },
  },
  {
    ...{ name: 'a picture before its HTML', source: 'broken mailing programs' },
    mail: message('related', encoded(PNG, 'Content-Type: image/png', 'Content-ID: <1>'), html('<p>root</p>')),
    ...{ text: 'root', html: '<p>root</p>', files: [['image.png', 'image/png', PNG]] },
  },
  {
    ...{ name: 'an attached text before its HTML', source: 'broken mailing programs' },
    mail: message(
      'related',
      part(['Content-Type: text/plain', 'Content-Disposition: attachment; filename=a.log'], 'x'),
      html('<p>root</p>'),
    ),
    ...{ text: 'root', html: '<p>root</p>', files: [['a.log', 'text/plain', 'x']] },
  },
  {
    ...{ name: 'a style sheet beside its HTML', source: 'RFC 2557' },
    mail: message('related', html('<p>x</p>'), part(['Content-Type: text/plain'], 'not a word of the sender')),
    ...{ text: 'x', files: [['text.txt', 'text/plain', 'not a word of the sender']] },
  },
  {
    ...{ name: 'a signature of S/MIME', source: 'RFC 8551 3.5' },
    mail: message(
      'signed; protocol="application/pkcs7-signature"',
      WORDS,
      encoded(
        '0\x80',
        'Content-Type: application/pkcs7-signature; name="smime.p7s"',
        'Content-Disposition: attachment; filename="smime.p7s"',
      ),
    ),
    ...{ text: 'The words', files: [['smime.p7s', 'application/pkcs7-signature', '0\x80']] },
  },
  {
    ...{ name: 'a signature of PGP without a name', source: 'RFC 3156 5' },
    mail: message(
      'signed; protocol="application/pgp-signature"',
      WORDS,
      part(['Content-Type: application/pgp-signature'], '-----BEGIN PGP SIGNATURE-----'),
    ),
    ...{ text: 'The words', files: [['signature.asc', 'application/pgp-signature', '-----BEGIN PGP SIGNATURE-----']] },
  },
  {
    ...{ name: 'an encrypted message', source: 'RFC 3156 4' },
    mail: message(
      'encrypted; protocol="application/pgp-encrypted"',
      part(['Content-Type: application/pgp-encrypted'], 'Version: 1'),
      part(['Content-Type: application/octet-stream; name="encrypted.asc"'], 'XX'),
    ),
    ...{
      text: '',
      files: [
        ['version.txt', 'application/pgp-encrypted', 'Version: 1'],
        ['encrypted.asc', 'text/plain', 'XX'],
      ],
    },
  },
  {
    ...{ name: 'a file of Outlook', source: 'Exchange, MS-OXTNEF' },
    mail: message('mixed', WORDS, encoded('\x78\x9f\x3e\x22', 'Content-Type: application/ms-tnef; name="winmail.dat"')),
    ...{ text: 'The words', files: [['winmail.dat', 'application/ms-tnef', '\x78\x9f\x3e\x22']] },
  },
  {
    ...{ name: 'a file of a Mac in two parts', source: 'RFC 1740' },
    mail: message(
      'mixed',
      WORDS,
      multi(
        'appledouble',
        'd',
        encoded('\x00\x05\x16\x07', 'Content-Type: application/applefile; name="a.pdf"'),
        encoded('%PDF-1.4\n', 'Content-Type: application/pdf; name="a.pdf"'),
      ),
    ),
    ...{
      text: 'The words',
      files: [
        ['a.pdf', 'application/applefile', '\x00\x05\x16\x07'],
        ['a.pdf', 'application/pdf', '%PDF-1.4\n'],
      ],
    },
  },
];
