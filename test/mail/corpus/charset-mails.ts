import { base64, type CorpusMail, lines, message, single, utf8, WORDS } from './corpus-mail.ts';

/** Returns a message with this body and charset. */
const inCharset = (charset: string | null, body: string, type = 'plain'): string =>
  single(charset === null ? [] : [`Content-Type: text/${type}; charset=${charset}`, 'Content-Transfer-Encoding: 8bit'], body);
const withSubject = (subject: string): string => lines('From: a@example.com', `Subject: ${subject}`, '', 'x', '');
const withFrom = (from: string): string => lines(`From: ${from}`, 'Subject: s', '', 'x', '');
const withFile = (...header: readonly string[]): string => message('mixed', WORDS, lines(...header, '', 'x'));

const JIS = '\x1b$BF|K\\8l\x1b(B';
const text = (name: string, source: string, mail: string, expected: string): CorpusMail => ({ name, source, mail, text: expected });
const subject = (name: string, source: string, value: string, expected: string): CorpusMail => ({
  name,
  source,
  mail: withSubject(value),
  subject: expected,
});
const sender = (name: string, source: string, value: string, from_name: string, from: string): CorpusMail => ({
  name,
  source,
  mail: withFrom(value),
  from_name,
  from,
});
const file = (name: string, source: string, header: readonly string[], filename: string): CorpusMail => ({
  ...{ name, source, mail: withFile(...header), files: [[filename, 'application/x-a', 'x']] },
});
const disposition = (value: string): readonly string[] => ['Content-Type: application/x-a', `Content-Disposition: attachment; ${value}`];

/** Bodies whose charset is missing, wrong or rare. */
const BODIES: readonly CorpusMail[] = [
  text('ISO-2022-JP without a charset', 'RFC 1468; mobile phones in Japan', inCharset(null, JIS), '日本語'),
  text('ISO-2022-JP that is called us-ascii', 'RFC 1468', inCharset('us-ascii', `${JIS} ok`), '日本語 ok'),
  text('UTF-8 that is called iso-2022-jp', 'web shops in Japan', inCharset('iso-2022-jp', utf8('日本語です')), '日本語です'),
  text('Shift_JIS that is called iso-2022-jp', 'web shops in Japan', inCharset('iso-2022-jp', '\x93\xfa\x96\x7b\x8c\xea'), '日本語'),
  text('ISO-2022-JP with characters of JIS X 0212', 'RFC 2237', inCharset('iso-2022-jp-1', '\x1b$(D0!\x1b(B'), '丂'),
  text('ISO-2022-JP with half-width katakana', 'CP50221, Outlook', inCharset('iso-2022-jp', '\x1b(I1236\x1b(B'), 'ｱｲｳｶ'),
  text('ISO-2022-KR', 'RFC 1557', inCharset('iso-2022-kr', '\x1b$)C\x0eGQ1[\x0f abc'), '한글 abc'),
  text('UTF-8 without a charset', 'RFC 6532; scripts', inCharset(null, utf8('Grüße 你好')), 'Grüße 你好'),
  text('UTF-8 that is called iso-8859-1', 'PHP scripts', inCharset('iso-8859-1', utf8('Grüße')), 'Grüße'),
  text('UTF-8 that is called unknown-8bit', 'RFC 1428; Sendmail', inCharset('unknown-8bit', utf8('Grüße')), 'Grüße'),
  {
    ...{ name: 'UTF-8 that was cut within a character', source: 'limits of SMS gateways' },
    mail: inCharset('utf-8', `${utf8('Grüße an dich')}\xc3`).trimEnd(),
    text: 'Grüße an dich\ufffd',
    files: [['original.txt', 'text/plain; charset=utf-8', `${utf8('Grüße an dich')}\xc3`]],
  },
  text('Latin 1 that is called utf-8', 'PHP scripts', inCharset('utf-8', 'Gr\xfc\xdfe'), 'Grüße'),
  text('Latin 1 that is called us-ascii', 'RFC 2045 5.2', inCharset('us-ascii', 'Gr\xfc\xdfe'), 'Grüße'),
  text('Windows-1252 that is called iso-8859-1', 'Outlook; WHATWG Encoding 4.2', inCharset('iso-8859-1', '\x93Hi\x94 \x80 5'), '“Hi” € 5'),
  text('GBK that is called gb2312', 'Outlook, Foxmail', inCharset('gb2312', '\xe9F\xd6\xd0'), '镕中'),
  text('four bytes of GB 18030', 'GB 18030', inCharset('gb18030', '\x95\x32\x82\x36'), '𠀀'),
  text('Big5', 'Outlook in Taiwan', inCharset('big5', '\xa4\xa4\xa4\xe5'), '中文'),
  text('EUC-KR', 'RFC 1557', inCharset('euc-kr', '\xc7\xd1\xb1\xdb'), '한글'),
  text('CP949 that is called ks_c_5601-1987', 'Outlook in Korea', inCharset('ks_c_5601-1987', '\x8cc\xb9\xe6'), '똠방'),
  text('KOI8-R', 'RFC 1489', inCharset('koi8-r', '\xf0\xd2\xc9\xd7\xc5\xd4'), 'Привет'),
  text('Windows-1251 as cp1251', 'The Bat!', inCharset('cp1251', '\xcf\xf0\xe8\xe2\xe5\xf2'), 'Привет'),
  text('Shift_JIS as x-sjis', 'old Netscape', inCharset('x-sjis', '\x93\xfa\x96\x7b'), '日本'),
  text('a code page of DOS', 'IANA IBM437', inCharset('ibm437', '\x81\xe1'), 'üß'),
  text('UTF-7', 'RFC 2152; old Outlook', inCharset('utf-7', 'Hi Mom +Jjo-!'), 'Hi Mom ☺!'),
  text('HZ', 'RFC 1843', inCharset('hz-gb-2312', '~{<:Ky2;~} x'), '己所不 x'),
  {
    ...{ name: 'UTF-16 with a mark, in Base64', source: 'Notepad' },
    mail: single(['Content-Type: text/plain; charset=utf-16', 'Content-Transfer-Encoding: base64'], base64('\xff\xfeG\0r\0\xfc\0')),
    text: 'Grü',
  },
  {
    ...{ name: 'UTF-16 without a mark and label', source: 'PowerShell' },
    mail: single(['Content-Type: text/plain', 'Content-Transfer-Encoding: base64'], base64('G\0r\0\xfc\0\xdf\0e\0')),
    text: 'Grüße',
  },
  text('a NUL at the end', 'programs in C', `${lines('From: a@example.com', '', 'abc')}\0`, 'abc'),
  text('a byte order mark', 'Windows programs', inCharset('utf-8', `\xef\xbb\xbf${utf8('Grüße')}`), 'Grüße'),
  text(
    'a charset that only the HTML names',
    'HTML 4 5.2.2',
    single(['Content-Type: text/html'], '<meta charset="koi8-r"><p>\xf0\xd2\xc9</p>'),
    'При',
  ),
  {
    ...{ name: 'a body without charset, and a subject with one', source: 'mailing programs in Russia' },
    mail: lines('From: a@example.com', 'Subject: =?koi8-r?Q?=F0=D2=C9?=', '', '\xf0\xd2\xc9\xd7\xc5\xd4', ''),
    ...{ subject: 'При', text: 'Привет' },
  },
  text('a charset in quotes', 'broken mailing programs', inCharset('"\'utf-8\'"', utf8('é')), 'é'),
  text('a charset that does not exist', 'RFC 2045', inCharset('x-nothing', utf8('é')), 'é'),
];

/** Subjects, names of people and names of files. */
const HEADERS: readonly CorpusMail[] = [
  subject('Base64 that is split within a character', 'RFC 2047 2, PHP', '=?utf-8?B?5pel5pw=?=\r\n =?utf-8?B?rOiqng==?=', '日本語'),
  subject('Base64 that is split within a group', 'broken encoders', '=?utf-8?B?5pel5p?=\r\n =?utf-8?B?ys6Kqe?=', '日本語'),
  subject('Q that is split within a character', 'RFC 2047 2', '=?UTF-8?q?Gr=C3?= =?utf-8?Q?=BC=C3=9Fe?=', 'Grüße'),
  subject(
    'words with text between and around them',
    'RFC 2047 6.2',
    'Re: =?iso-8859-1?Q?J=FCrgen?= and =?utf-8?Q?=C3=A9?= =?utf-8?Q?=C3=A8?=!',
    'Re: Jürgen and éè!',
  ),
  subject('adjacent words in two charsets', 'RFC 2047 6.2', '=?iso-8859-1?q?a=E9?= =?utf-8?q?=C3=A9b?=', 'aééb'),
  subject('a question mark in Q', 'broken encoders', '=?utf-8?Q?Was_ist_das??=', 'Was ist das?'),
  subject('spaces in Q', 'broken encoders', '=?utf-8?Q?hello =C3=A9?=', 'hello é'),
  subject('a language', 'RFC 2231 5', '=?utf-8*de?Q?=C3=BC?=', 'ü'),
  subject('ISO-2022-JP in two words', 'RFC 1468', '=?ISO-2022-JP?B?GyRCRnwbKEI=?= =?ISO-2022-JP?B?GyRCS1wbKEI=?=', '日本'),
  subject('gb2312 with a character of GBK', 'Foxmail', '=?gb2312?B?6UY=?=', '镕'),
  subject('UTF-8 in a word that is called iso-8859-1', 'PHP', '=?iso-8859-1?Q?Gr=C3=BC=C3=9Fe?=', 'Grüße'),
  subject('UTF-8 that is not encoded', 'RFC 6532', utf8('Grüße 你好'), 'Grüße 你好'),
  subject('Latin 1 that is not encoded', 'old programs', 'Gr\xfc\xdfe', 'Grüße'),
  subject('ISO-2022-JP that is not encoded', 'old programs in Japan', JIS, '日本語'),
  subject('a word that is damaged', 'RFC 2047 6.3', '=?utf-8?Q?abc and =?utf-8?Q?d=C3=A9f?=', '=?utf-8?Q?abc and déf'),
  subject('no encoded word at all', 'RFC 2047', 'a =? b ?= c', 'a =? b ?= c'),
  sender(
    'a name in an encoded word',
    'RFC 2047 5',
    '=?utf-8?Q?J=C3=BCrgen_M=C3=BCller?= <j@example.com>',
    'Jürgen Müller',
    'j@example.com',
  ),
  sender('an encoded word in quotes', 'Outlook', '"=?utf-8?B?SsO8cmdlbg==?=" <j@example.com>', 'Jürgen', 'j@example.com'),
  sender('a comma within an encoded name', 'RFC 2047 5', '=?utf-8?Q?M=C3=BCller=2C_J?= <j@example.com>', 'Müller, J', 'j@example.com'),
  sender(
    'an address within an encoded name',
    'phishing',
    '=?utf-8?Q?boss=40example.com?= <j@example.com>',
    'boss@example.com',
    'j@example.com',
  ),
  sender('a name in UTF-8 that is not encoded', 'RFC 6532', `${utf8('Jürgen')} <j@example.com>`, 'Jürgen', 'j@example.com'),
  sender('a name after the address', 'RFC 822', 'j@example.com (=?utf-8?Q?J=C3=BCrgen?=)', 'Jürgen', 'j@example.com'),
  file('RFC 2231', 'RFC 2231 4', disposition("filename*=UTF-8''%e2%82%ac%20rates.pdf"), '€ rates.pdf'),
  file('RFC 2231 beside a plain name', 'RFC 6266 4.3', disposition('filename="EURO.pdf"; filename*=UTF-8\'\'%e2%82%ac.pdf'), '€.pdf'),
  file(
    'continuations that split a character',
    'RFC 2231 4.1',
    disposition('filename*1*=%BC%C3%9Fe; filename*0*=utf-8\'de\'Gr%C3; filename*2=".pdf"'),
    'Grüße.pdf',
  ),
  file('continuations without a charset', 'RFC 2231 3', disposition('filename*0="a long "; filename*1="name.txt"'), 'a long name.txt'),
  file('continuations of encoded words', 'Outlook', disposition('filename*0="=?utf-8?B?R3LDvMOf"; filename*1="ZS5wZGY=?="'), 'Grüße.pdf'),
  file('an encoded word', 'Outlook, Gmail', disposition('filename="=?utf-8?B?w7wucGRm?="'), 'ü.pdf'),
  file('encoded words in lines', 'Outlook', disposition('filename="=?utf-8?Q?Gr=C3=BC?=\r\n =?utf-8?Q?=C3=9Fe.pdf?="'), 'Grüße.pdf'),
  file('Latin 1 in RFC 2231', 'RFC 2231 4', disposition("filename*=iso-8859-1''%E4.pdf"), 'ä.pdf'),
  file('UTF-8 that is not encoded', 'RFC 6532', disposition(`filename="${utf8('Grüße.pdf')}"`), 'Grüße.pdf'),
  file('a name without quotes', 'broken mailing programs', disposition('filename=Invoice (1).pdf'), 'Invoice (1).pdf'),
  file('a name only in the type', 'RFC 2046', ["Content-Type: application/x-a; name*=utf-8''%C3%BC.pdf"], 'ü.pdf'),
  file('a quote and a semicolon in a name', 'RFC 2045 5.1', disposition('filename="a;b\\"c.pdf"'), 'a;b"c.pdf'),
  file('a path in quotes', 'old programs on Windows', disposition('filename="C:\\Users\\x\\a.pdf"'), 'C:\\Users\\x\\a.pdf'),
  file('an escaped backslash in a name', 'RFC 2045 5.1', disposition('filename="C:\\\\a.pdf"'), 'C:\\a.pdf'),
  file('ISO-2022-JP in quotes', 'old programs in Japan', disposition(`filename="${JIS}.pdf"`), '日本語.pdf'),
];

export const CHARSET_MAILS: readonly CorpusMail[] = [...BODIES, ...HEADERS];
