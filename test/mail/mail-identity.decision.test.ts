import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseMail } from '../../infra/mail/message/parse-mail.ts';

const identityOf = (mail: string): string => parseMail(Uint8Array.from(Buffer.from(mail, 'latin1')).buffer, 'a@example.com').identity;

const HEADER = [
  'From: =?utf-8?Q?J=C3=BCrgen?= <j@example.com>',
  'To: agent.demo@mail.test',
  'Subject: A subject that is long enough to be folded',
  'Date: Fri, 27 Nov 2026 10:00:00 +0000',
  'Message-ID: <1@example.com>',
  'Content-Type: text/plain; charset=utf-8',
];
const mailOf = (header: readonly string[], body = 'The words \xc3\xa9.\r\n'): string => [...header, '', body].join('\r\n');
const MAIL = mailOf(HEADER);
const withFirst = (...fields: readonly string[]): string => mailOf([...fields, ...HEADER]);
const replaced = (from: string | RegExp, to: string): string => MAIL.replace(from, to);
const without = (...names: readonly string[]): readonly string[] => HEADER.filter((field) => !names.some((name) => field.startsWith(name)));

/** What happens to a message on its way, and who does it. */
const SAME: readonly (readonly [what: string, source: string, mail: string])[] = [
  ['a trace line', 'RFC 5321 4.4', withFirst('Received: from mx.example.net by mx2.example.org; Fri, 27 Nov 2026 10:00:02 +0000')],
  [
    'a return path',
    'RFC 5321 4.4',
    withFirst('Return-Path: <bounce+1@example.net>', 'Delivered-To: agent.demo@mail.test', 'X-Original-To: x@y.example'),
  ],
  [
    'the verdict of a spam filter',
    'SpamAssassin, Rspamd',
    withFirst('X-Spam-Status: No, score=-1.2', 'X-Spam-Checker-Version: SpamAssassin 4', 'X-Rspamd-Score: 1'),
  ],
  [
    'signatures',
    'RFC 6376, RFC 8617',
    withFirst(
      'DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=k; h=from; bh=a; b=a',
      'ARC-Seal: i=1; a=rsa-sha256',
      'ARC-Message-Signature: i=1',
    ),
  ],
  ['the result of a check', 'RFC 8601', withFirst('Authentication-Results: mx.example.com; spf=pass', 'Received-SPF: pass')],
  [
    'fields of a list',
    'RFC 2369, RFC 2919',
    withFirst(
      'List-Id: <l.example.com>',
      'List-Post: <mailto:l@example.com>',
      'Sender: l-bounces@example.com',
      'Precedence: list',
      'Errors-To: x@y.example',
      'Reply-To: l@example.com',
    ),
  ],
  ['fields of Exchange', 'Exchange', withFirst('X-MS-Exchange-Organization-SCL: 1', 'Thread-Index: AdXX', 'X-MS-Has-Attach:')],
  ['fields of Gmail', 'Gmail', withFirst('X-Received: by 2002:a05', 'X-Google-Smtp-Source: A', 'X-Gm-Message-State: B')],
  ['fields in another order', 'RFC 5322 3.6', mailOf(HEADER.toReversed())],
  ['a folded subject', 'RFC 5322 2.2.3', replaced('that is long', 'that is\r\n long')],
  ['names of fields in another case', 'Exchange', replaced('Subject:', 'SUBJECT:').replace('Message-ID:', 'Message-Id:')],
  ['another encoding of a name', 'RFC 2047; Exchange', replaced('=?utf-8?Q?J=C3=BCrgen?=', '=?UTF-8?B?SsO8cmdlbg==?=')],
  [
    'quoted-printable instead of 8 bits',
    'RFC 6152',
    mailOf([...HEADER, 'Content-Transfer-Encoding: quoted-printable'], 'The words =C3=A9.\r\n'),
  ],
  ['Base64 instead of 8 bits', 'RFC 6152', mailOf([...HEADER, 'Content-Transfer-Encoding: base64'], 'VGhlIHdvcmRzIMOpLg==\r\n')],
  ['empty lines at the end', 'mbox files', `${MAIL}\r\n\r\n`],
  ['LF as the end of lines', 'local delivery', MAIL.replaceAll('\r\n', '\n')],
];

const OTHER: readonly (readonly [what: string, mail: string])[] = [
  ['another body', replaced('The words', 'Other words')],
  ['another Message-ID', replaced('<1@', '<2@')],
  ['another subject', replaced('A subject', '[list] A subject')],
  ['another sender', replaced('j@example.com', 'k@example.com')],
  ['other recipients', replaced('agent.demo@mail.test', 'agent.demo@mail.test, b@example.com')],
  ['another time', replaced('10:00:00', '10:00:01')],
  ['HTML instead of a text', replaced('text/plain', 'text/html')],
  ['a footer of a list', `${MAIL}____\r\nfooter`],
  ['an answer to another message', withFirst('In-Reply-To: <9@example.com>')],
];

test('a mail that comes on another route is the same mail', () => {
  for (const [what, source, mail] of SAME) assert.is(identityOf(mail), identityOf(MAIL), `${what} (${source})`);
});

test('a mail with another content is another mail, even if its Message-ID is the same', () => {
  for (const [what, mail] of OTHER) assert.is.not(identityOf(mail), identityOf(MAIL), what);
  const attached = (name: string, content: string): string =>
    mailOf(
      [...without('Content-Type'), 'Content-Type: multipart/mixed; boundary=b'],
      `--b\r\nContent-Type: application/x-a; name=${name}\r\n\r\n${content}\r\n--b--\r\n`,
    );
  const identities = new Set([attached('a', '1'), attached('a', '2'), attached('b', '1'), MAIL].map(identityOf));
  assert.is(identities.size, 4);
});

test('a mail without a Message-ID is told apart by its date and content, and without both by all its bytes', () => {
  const noId = mailOf(without('Message-ID'));
  assert.is(identityOf(`Received: by a\r\n${noId}`), identityOf(noId));
  assert.is.not(identityOf(noId.replace('10:00:00', '10:00:05')), identityOf(noId));
  const noDate = mailOf(without('Message-ID', 'Date'));
  assert.is.not(identityOf(`Received: by a\r\n${noDate}`), identityOf(noDate));
  assert.is(identityOf(noDate), identityOf(noDate));
});

test('the digests from which stored ids are derived do not change', () => {
  assert.is(identityOf(MAIL), '912d1aa8801200d7e422d279761fb5b0eab3854b06ed0143e91b3e4037460f1b');
});

test.run();
