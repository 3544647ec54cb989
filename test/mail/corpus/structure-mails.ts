import { base64, type CorpusMail, lines, message, multi, part, single, utf8, WORDS } from './corpus-mail.ts';

const encoded = (bytes: string, ...header: readonly string[]): string =>
  part([...header, 'Content-Transfer-Encoding: base64'], base64(bytes));
const plain = (text: string): string => part(['Content-Type: text/plain'], text);
const html = (text: string): string => part(['Content-Type: text/html'], text);

/** Messages whose structure or encoding is unusual or broken: nothing of them is lost. */
export const STRUCTURE_MAILS: readonly CorpusMail[] = [
  {
    ...{ name: 'a multipart of an unknown type', source: 'RFC 2046 5.1.7' },
    mail: message('x-new', plain('one'), encoded('\x01', 'Content-Type: application/x-foo; name=f')),
    ...{ text: 'one', files: [['f', 'application/x-foo', '\x01']] },
  },
  {
    ...{ name: 'no last boundary', source: 'messages that were cut; RFC 2046 5.1.2' },
    mail: message('mixed', WORDS, encoded('%PDF-1.4\n', 'Content-Type: application/pdf; name=a.pdf')).replace('--outer--', ''),
    ...{ text: 'The words', files: [['a.pdf', 'application/pdf', '%PDF-1.4\n']] },
  },
  {
    ...{ name: 'no last boundary of the inner parts', source: 'RFC 2046 5.1.2' },
    mail: message(
      'mixed',
      multi('alternative', 'inner', plain('t'), html('<p>h</p>')).replace('--inner--', ''),
      encoded('%PDF-1.4\n', 'Content-Type: application/pdf; name=a.pdf'),
    ),
    ...{ text: 't', files: [['a.pdf', 'application/pdf', '%PDF-1.4\n']] },
  },
  {
    ...{ name: 'a boundary that the header does not name', source: 'broken mailing programs' },
    mail: message('mixed', WORDS, encoded('%PDF-1.4\n', 'Content-Type: application/pdf; name=a.pdf')).replace('; boundary="outer"', ''),
    ...{ text: 'The words', files: [['a.pdf', 'application/pdf', '%PDF-1.4\n']] },
  },
  {
    ...{ name: 'a multipart without parts', source: 'broken mailing programs' },
    mail: single(['Content-Type: multipart/mixed; boundary=b'], 'Only these words'),
    ...{ text: 'Only these words', files: [] },
  },
  {
    ...{ name: 'a part without an empty line', source: 'RFC 2046 5.1: no header fields' },
    mail: lines('From: a@example.com', 'Content-Type: multipart/mixed; boundary=b', '', '--b', 'just words', '--b--', ''),
    ...{ text: 'just words', files: [] },
  },
  {
    ...{ name: 'a part without an empty line, whose first word has a colon', source: 'RFC 2046 5.1: no header fields' },
    mail: message('mixed', lines('Note: this is the first line of my words', 'second line')),
    ...{ text: 'Note: this is the first line of my words\nsecond line', files: [] },
  },
  {
    ...{ name: 'a part without a header, whose first paragraph has a colon', source: 'RFC 2046 5.1: no header fields' },
    mail: message('mixed', lines('Note: this is the first line of my words', 'second line', '', 'another paragraph')),
    ...{ text: 'Note: this is the first line of my words\nsecond line\n\nanother paragraph', files: [] },
  },
  {
    ...{ name: 'a part without a header, whose words have a signature', source: 'RFC 2046 5.1: no header fields' },
    mail: message('mixed', lines('Note: my words', '-- ', 'Ada', '', 'PS')),
    ...{ text: 'Note: my words\n-- \nAda\n\nPS', files: [] },
  },
  {
    ...{ name: 'a boundary that follows the header without an empty line', source: 'broken mailing programs' },
    mail: message('mixed', multi('mixed', 'inner', WORDS).replace('\r\n\r\n', '\r\n')).replace('\r\n\r\n', '\r\n'),
    ...{ text: 'The words', files: [] },
  },
  {
    ...{ name: 'a header that its content follows without an empty line', source: 'broken mailing programs' },
    mail: message(
      'mixed',
      lines('Content-Type: text/plain;', ' charset=utf-8', 'Note: my words', 'second line'),
      lines('X-Id: 1', 'Content-Type: application/pdf; name=a.pdf', 'Content-Transfer-Encoding: base64', base64('%PDF-1.4\n')),
    ),
    ...{ text: 'Note: my words\nsecond line', files: [['a.pdf', 'application/pdf', '%PDF-1.4\n']] },
  },
  {
    ...{ name: 'a header without content', source: 'RFC 2046 5.1' },
    mail: message('mixed', WORDS, lines('Content-Type: text/plain', 'X-Id: 1')),
    ...{ text: 'The words', files: [] },
  },
  {
    ...{ name: 'parts after the last boundary', source: 'gateways that append files' },
    mail: lines(message('mixed', WORDS), '--outer', encoded('%PDF-1.4\n', 'Content-Type: application/pdf; name=a.pdf'), '--outer--', ''),
    ...{ text: 'The words', files: [['a.pdf', 'application/pdf', '%PDF-1.4\n']] },
  },
  {
    ...{ name: 'inner parts with the boundary of the outer ones', source: 'broken mailing programs' },
    mail: message(
      'mixed',
      multi('mixed', 'outer', html('<p>one</p>')),
      html('<p>two</p>'),
      encoded('%PDF-1.4\n', 'Content-Type: application/pdf; name=a.pdf'),
    ),
    ...{ text: 'one\n\ntwo', html: '<p>one</p>\n<p>two</p>', files: [['a.pdf', 'application/pdf', '%PDF-1.4\n']] },
  },
  {
    ...{ name: 'parts in parts', source: 'RFC 2046 5.1' },
    mail: message(
      'mixed',
      multi(
        'mixed',
        'm',
        multi('alternative', 'a', plain('deep'), html('<p>deep</p>')),
        encoded('\x01', 'Content-Type: application/x-a; name=a'),
      ),
      encoded('\x02', 'Content-Type: application/x-b; name=b'),
    ),
    ...{
      text: 'deep',
      html: '<p>deep</p>',
      files: [
        ['a', 'application/x-a', '\x01'],
        ['b', 'application/x-b', '\x02'],
      ],
    },
  },
  {
    ...{ name: 'a footer of a list', source: 'Mailman' },
    mail: message('mixed', WORDS, part(['Content-Type: text/plain', 'Content-Disposition: inline'], '____', 'list footer')),
    ...{ text: 'The words\n\n____\nlist footer', files: [] },
  },
  {
    ...{ name: 'a picture that is a program', source: 'malware', text: 'The words' },
    mail: message('mixed', WORDS, part(['Content-Type: image/png; name=a.png'], 'no picture')),
    files: [['a.png', 'text/plain', 'no picture']],
  },
  {
    ...{ name: 'lines in format=flowed', source: 'RFC 3676 4; Thunderbird' },
    mail: single(
      ['Content-Type: text/plain; format=flowed'],
      'a long ',
      'line',
      ' >no quote',
      '> quoted ',
      '> too',
      '>> deeper',
      '-- ',
      'Ada',
    ),
    text: 'a long line\n>no quote\n> quoted too\n>> deeper\n-- \nAda',
  },
  {
    ...{ name: 'lines in format=flowed with delsp', source: 'RFC 3676 4.2; Apple Mail' },
    mail: single(['Content-Type: text/plain; format=flowed; delsp=yes'], 'https://example.com/a- ', 'long', 'x'),
    text: 'https://example.com/a-long\nx',
  },
  {
    ...{ name: 'spaces and soft breaks in quoted-printable', source: 'RFC 2045 6.7' },
    mail: single(
      ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: quoted-printable'],
      'a=  ',
      'b =3D =zz  ',
      'c=20',
      '=C3=A9',
    ),
    text: 'ab = =zz\nc \né',
  },
  {
    ...{ name: 'Base64 that pads each line', source: 'broken encoders' },
    mail: message('mixed', WORDS, part(['Content-Type: application/x-a; name=a', 'Content-Transfer-Encoding: BASE64'], 'YQ==', 'Yg==')),
    files: [['a', 'application/x-a', 'ab']],
  },
  {
    ...{ name: 'a footer after Base64', source: 'Mailman 2.1, msg_footer; virus scanners' },
    mail: single(
      ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64'],
      base64(utf8('Grüße')),
      '_____',
      'Liste',
      'https://lists.example/options',
    ),
    ...{ text: 'Grüße\n_____\nListe\nhttps://lists.example/options', files: [] },
  },
  {
    ...{ name: 'a footer after Base64 that needs no padding', source: 'Mailman 2.1' },
    mail: single(
      ['Content-Type: text/plain', 'Content-Transfer-Encoding: base64'],
      base64('Hello!'),
      '',
      'Unsubscribe',
      'at https://a.example',
    ),
    text: 'Hello!\n\nUnsubscribe\nat https://a.example',
  },
  {
    ...{ name: 'Base64 with empty lines and a line of noise', source: 'RFC 2045 6.8: other characters are ignored' },
    mail: single(
      ['Content-Type: text/plain', 'Content-Transfer-Encoding: base64'],
      ...[base64('a'.repeat(57)), '', '!!', base64('b'.repeat(57)), '', base64('cc')],
    ),
    text: `${'a'.repeat(57)}${'b'.repeat(57)}cc`,
  },
  {
    ...{ name: 'a file in uuencode', source: 'programs before MIME' },
    mail: message(
      'mixed',
      WORDS,
      part(['Content-Type: application/x-a; name=a.txt', 'Content-Transfer-Encoding: x-uuencode'], 'begin 644 a.txt', '#0V%T', '`', 'end'),
    ),
    files: [['a.txt', 'application/x-a', 'Cat']],
  },
  {
    ...{ name: 'a file in uuencode within the words', source: 'Outlook with plain text, programs before MIME' },
    mail: single([], 'before', '', 'begin 644 a b.txt', '#0V%T', '`', 'end', '', 'after', 'begin 1 of the story'),
    ...{ text: 'before\n\n\nafter\nbegin 1 of the story', files: [['a b.txt', 'text/plain', 'Cat']] },
  },
  {
    ...{ name: 'words that look like uuencode', source: 'texts about uuencode', text: 'begin 644 a\nno line of it' },
    ...{ mail: single([], 'begin 644 a', 'no line of it'), files: [] },
  },
  {
    ...{ name: 'a text in an old charset', source: 'Outlook in Russia' },
    mail: message('mixed', WORDS, part(['Content-Type: text/plain; charset=KOI8-R; name=a.txt'], '\xf0\xd2\xc9')),
    files: [['a.txt', 'text/plain; charset=koi8-r', '\xf0\xd2\xc9']],
  },
  {
    ...{ name: 'a message with LF as the end of lines', source: 'scripts that write to a pipe' },
    mail: message('mixed', WORDS, plain('two')).replaceAll('\r\n', '\n'),
    ...{ text: 'The words\n\ntwo', files: [] },
  },
  {
    ...{ name: 'an empty file', source: 'touch' },
    mail: message('mixed', WORDS, part(['Content-Type: application/x-a; name=empty'], '')),
    files: [['empty', 'application/x-a', '']],
  },
];
