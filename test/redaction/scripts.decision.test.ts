import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { bodyContent } from '../../domain/bodies/body-content.ts';
import { contentSignals, contentVerdicts } from '../../domain/guardrails/content-checks.ts';
import type { CheckedBody } from '../../domain/guardrails/guardrail-evaluation.ts';
import { type Detector, detect } from '../../domain/redaction/detectors.ts';
import { ZEROS } from '../../domain/redaction/foreign-digits.ts';

const CARD = '4111111111111111';
const EMAIL = 'ada@example.com';
/** Each script (Unicode 17, UAX 24) with a text before and a text after a value, without spaces between them. */
const SCRIPTS: readonly (readonly [script: string, before: string, after: string])[] = [
  ['Chinese', '卡号', '有效期'],
  ['Japanese, kana', 'カード', 'です'],
  ['Japanese, a word that ends in a long vowel', 'ナンバー', 'まで'],
  ['Korean', '카드', '입니다'],
  ['Thai', 'หมายเลข', 'ครับ'],
  ['Thai, a vowel sign at the end', 'ที่', 'ไม่'],
  ['Lao', 'ເລກ', 'ແມ່ນ'],
  ['Khmer', 'លេខ', 'គឺ'],
  ['Burmese', 'နံပါတ်', 'ဖြစ်'],
  ['Cyrillic', 'карта', 'срок'],
  ['Greek', 'κάρτα', 'λήξη'],
  ['Arabic', 'بطاقة', 'صالحة'],
  ['Hebrew', 'כרטיס', 'תוקף'],
  ['Devanagari', 'कार्ड', 'है'],
  ['Bengali', 'কার্ড', 'হয়'],
  ['Tamil', 'அட்டை', 'ஆகும்'],
  ['Armenian', 'քարտ', 'վավեր'],
  ['Georgian', 'ბარათი', 'ვადა'],
  ['Amharic', 'ካርድ', 'ነው'],
  ['full-width punctuation', '：', '，'],
  ['corner brackets', '「', '」'],
  ['Arabic punctuation', '؛', '،'],
  ['a danda', '।', '।'],
  ['quotes', '«', '»'],
  ['invisible characters', '\u200e', '\u200f'],
  ['isolates', '\u2066', '\u2069'],
  ['a byte order mark', '\ufeff', '\ufeff'],
  ['emoji', '💳', '👍'],
  ['a number in a circle', '①', '²'],
];

const VALUES: readonly (readonly [detector: Detector, value: string])[] = [
  ['cards', CARD],
  ['cards', '4111 1111 1111 1111'],
  ['cards', '4111-1111-1111-1111'],
  ['cards', '378282246310005'],
  ['phones', '+4915112345678'],
  ['phones', '+49 151 2345678'],
  ['phones', '0049 151 2345678'],
  ['phones', '010-12345678'],
  ['phones', '(212) 555-0123'],
  ['emails', EMAIL],
  ['emails', 'grace.hopper+x@mail.example.co.uk'],
  ['secrets', `ghp_${'a1B2c3'.repeat(6)}`],
];

const found = (text: string, detector: Detector): string[] => detect(text, [detector]).map(({ from, to }) => text.slice(from, to));

test('a value is detected directly before and after text of every script, and no other text with it', () => {
  for (const [script, before, after] of SCRIPTS)
    for (const [detector, value] of VALUES)
      for (const text of [
        before + value + after,
        before + value,
        value + after,
        `${before}${value}${after}, ${value}${after}`.normalize('NFD'),
      ])
        assert.equal(new Set(found(text, detector)), new Set([value]), `${script}: ${text}`);
});

/** Writes the digits of a text in another script. */
const inDigits = (text: string, zero: number): string => text.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));

test('card and phone numbers are detected in the digits of every script', () => {
  for (const zero of [...ZEROS, 0x1d7ce, 0x1d7d8, 0x1d7f6, 0x11066, 0x1e950])
    for (const [detector, value] of VALUES.filter(([name]) => name === 'cards' || name === 'phones')) {
      const written = inDigits(value, zero);
      assert.equal(found(`x ${written} y`, detector), [written], zero.toString(16));
    }
});

/** [the writing, the detector, the value as it is written] */
const WRITTEN: readonly (readonly [writing: string, detector: Detector, value: string])[] = [
  ['full width', 'cards', '４１１１　１１１１　１１１１　１１１１'],
  ['full width', 'cards', '４１１１－１１１１－１１１１－１１１１'],
  ['full width', 'phones', '＋４９　１５１　２３４５６７８'],
  ['full width', 'phones', '０３－１２３４－５６７８'],
  ['full width', 'emails', 'ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ'],
  ['a full-width at sign', 'emails', 'ada＠example.com'],
  ['digits of two scripts', 'cards', '٤١١١111111111111'],
  ['no-break hyphens', 'cards', '4111\u20111111\u20111111\u20111111'],
  ['thin spaces', 'cards', '4111\u20091111\u20091111\u20091111'],
  ['narrow no-break spaces', 'phones', '+33\u202f1\u202f23\u202f45\u202f67\u202f89'],
  ['minus signs', 'phones', '+49\u2212151\u22122345678'],
  ['long vowel signs as dashes', 'phones', '03ー1234ー5678'],
  ['zero-width spaces', 'cards', '4111\u200b1111\u200b1111\u200b1111'],
  ['soft hyphens', 'cards', '4111\u00ad1111\u00ad1111\u00ad1111'],
  ['struck through', 'cards', [...CARD].join('\u0336')],
  ['keycaps', 'cards', [...CARD].join('\ufe0f\u20e3')],
  ['a decomposed name', 'emails', 'zoe\u0308.mu\u0308ller@example.com'],
  ['an address in Cyrillic', 'emails', 'почта@пример.рф'],
  ['an address in Chinese', 'emails', '用户@例子.广告'],
  ['an address in Devanagari', 'emails', 'डेटा@डाटामेल.भारत'],
  ['an international domain', 'emails', 'ada@xn--fiqs8s.xn--p1ai'],
];

test('values are detected in full width, with every blank, dash and mark, and in decomposed form', () => {
  for (const [writing, detector, value] of WRITTEN)
    for (const text of [value, `x ${value} y`, `「${value}」`]) assert.equal(found(text, detector), [value], `${writing}: ${text}`);
});

/** What is directly beside an address, the whole text, and the address that must be found in it. */
const BESIDE: readonly (readonly [what: string, text: string, ...addresses: readonly string[]])[] = [
  ['Chinese', '邮箱ada@example.com请回复', EMAIL],
  ['Chinese after a point', '邮箱ada@example.com.请回复', EMAIL],
  ['Chinese after a full stop', '邮箱ada@example.com。请', EMAIL],
  ['Cyrillic', 'почтаada@example.comили', EMAIL],
  ['Thai', 'อีเมล์ada@example.comครับ', EMAIL],
  ['a query', '?email=ada@example.com&cc=bob@example.org', EMAIL, 'bob@example.org'],
  ['a slash', 'ada@example.com/bob@example.org', EMAIL, 'bob@example.org'],
  ['a table', '|ada@example.com|bob@example.org|', EMAIL, 'bob@example.org'],
  ['Markdown', '**ada@example.com** `bob@example.org`', EMAIL, 'bob@example.org'],
  ['quotes', '\'ada@example.com\' "bob@example.org"', EMAIL, 'bob@example.org'],
  ['a picture of double size', 'img@2x.png icon@1.5x-dark.webp ada@example.com', EMAIL],
  ['a Chinese comma', 'ada@example.com，bob@example.org', EMAIL, 'bob@example.org'],
];

test('exactly the characters of an address are detected, whatever is next to it', () => {
  for (const [what, text, ...addresses] of BESIDE) assert.equal(found(text, 'emails'), addresses, what);
});

test('card and phone numbers are found next to a Latin word, but not next to letters that can be a part of a key', () => {
  for (const text of [`Karte${CARD}gültig`, `VISA${CARD}`, `tarjeta${CARD}`, `${CARD}expires`])
    assert.equal(found(text, 'cards'), [CARD], text);
  for (const text of [`Telefon+4915112345678`, `电话:+4915112345678`, `phone:+4915112345678`])
    assert.equal(found(text, 'phones'), ['+4915112345678'], text);
  const keys = [
    `a${CARD}`,
    `${CARD}b`,
    `id${CARD}`,
    `deadbeef${CARD}`,
    `x7card${CARD}`,
    `order_${CARD}`,
    `${CARD}_x`,
    `１${CARD}`,
    `٢${CARD}`,
    `0．${CARD}`,
  ];
  for (const text of keys) assert.equal(found(text, 'cards'), [], text);
  for (const text of [
    '1.0.0-beta+20261127101530',
    'x+build+20261127101530',
    'a/Zm9v/abcd+4912345678==',
    'a+4915112345678',
    'PART010-12345678',
    'x:010-12345678',
  ])
    assert.equal(found(text, 'phones'), [], text);
});

/** [the text, the number] */
const CARDS_BEFORE_NUMBERS: readonly (readonly [text: string, number: string])[] = [
  ['4111 1111 1111 1111 12/29', '4111 1111 1111 1111'],
  ['4111 1111 1111 1111 123', '4111 1111 1111 1111'],
  ['4111 1111 1111 1111 12/29 123', '4111 1111 1111 1111'],
  ['5555 5555 5555 4444 2 items', '5555 5555 5555 4444'],
  ['4111-1111-1111-1111-123', '4111-1111-1111-1111'],
  ['1 4111 1111 1111 1111 1.5', '4111 1111 1111 1111'],
  ['4111 1111 1111 1111 1 5555 5555 5555 4444 22', '4111 1111 1111 1111'],
  ['４１１１　１１１１　１１１１　１１１１　１２／２９', '４１１１　１１１１　１１１１　１１１１'],
  ['4111 1111 1111 1111 110', '4111 1111 1111 1111 110'],
  ['3782 822463 10005 123', '3782 822463 10005'],
];

test('a card number in groups is found also if another number follows it with the same separator', () => {
  for (const [text, number] of CARDS_BEFORE_NUMBERS) assert.is(found(text, 'cards')[0], number, text);
  assert.equal(found('4111 1111 1111 1111 1 5555 5555 5555 4444 22', 'cards').length, 2);
  for (const text of ['4111 1111 1111 1112 123', '0.4111 1111 1111 1111 12', '4111-1111-1111'])
    assert.equal(found(text, 'cards'), [], text);
});

const PHONE = '+4915112345678';
/** What may stand directly before or around the plus sign of a phone number, of which `%s` is the place. */
const PHONE_PLACES = [
  ...['Tel.%s', 'тел.%s', 'phone=%s', 'phoneNumber=%s', 'mobile#%s', 'contact/%s', '/v1/calls/%s', '030 1234567/%s', '_%s_', '__%s__'],
  ...['phone_%s', 'tel%s', 'Fon%s', 'fax%s', 'Mobil-%s', '-%s', '.%s', 'tel:%s', 'to=%s&x=1', '(%s)', '|%s|', 'a,%s,42'],
];
const NO_PHONES = [
  ...['1.0.0+20261127101530', '1.0.0-+20261127101530', '1.0.+20261127101530', '@+4915112345678', '7+4915112345678', 'a/Zm9v/+4912345678=='],
  ...[
    '+4915112345678_x',
    '+4915112345678@example.com',
    '+48.858370,+2.294481',
    '+48.858370+002.294481/',
    '+1234567890.55',
    '+1234567890.555',
  ],
  ...['@@ -12345677,7 +12345678,12 @@', '@@ -12345677 +12345678 @@'],
];

test('a phone number with a plus sign is found after every word and punctuation, but not in a key or decimal', () => {
  for (const place of PHONE_PLACES) assert.ok(found(place.replace('%s', PHONE), 'phones').includes(PHONE), place);
  assert.equal(found('x +49.15112345678', 'phones'), ['+49.15112345678']);
  for (const text of NO_PHONES) assert.equal(found(text, 'phones'), [], text);
});

test('long numbers that are not card numbers are not detected in the digits of any script', () => {
  const numbers = ['4111111111111112', '1726839201123000', '20261127101530123', '0000000000000000'];
  for (const zero of [0x30, ...ZEROS])
    for (const number of numbers) assert.equal(found(`№${inDigits(number, zero)}号`, 'cards'), [], `${zero.toString(16)}: ${number}`);
});

test('the value of a credential is found after a full-width colon, and ends where text without blanks begins', () => {
  for (const [text, value] of [
    ['password：hunter22x', 'hunter22x'],
    ['数据库password=hunter22x请保密', 'hunter22x'],
    ['token: abc123defg，然后', 'abc123defg'],
    ['api_key=abc123defgครับ', 'abc123defg'],
  ] as const)
    assert.equal(found(text, 'secrets'), [value], text);
});

const notesOf = (json: string): (string | null)[] => {
  const body: CheckedBody = { bytes: Buffer.from(json), media: 'json', json: 'json' };
  return contentVerdicts(bodyContent(body.bytes, body.media, body.json), contentSignals(body))
    .filter(({ rule }) => rule === 'redaction')
    .map(({ note }) => note);
};
/** Writes JSON in ASCII, as Python does. */
const escaped = (json: string): string => json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

test('the fast filter on the bytes of a body lets every such number through, also where JSON escapes its characters', () => {
  const beside = SCRIPTS.map(([, before, after]) => `${before}${CARD}${after}`);
  const foreign = ZEROS.map((zero) => inDigits(CARD, zero));
  const written = WRITTEN.filter(([, detector]) => detector === 'cards').map(([, , value]) => value);
  for (const text of [...beside, ...foreign, ...written, `x ${inDigits('4111 1111 1111 1111', 0x660)}`, `пароль password：hunter22x`]) {
    const json = JSON.stringify({ a: 1, text });
    const note = text.includes('hunter') ? 'credential: 1' : 'card: 1';
    assert.equal(notesOf(json), [note], json);
    assert.equal(notesOf(escaped(json)), [note], escaped(json));
  }
});

test('the plain form of a long text is made in a time that is proportional to its length', () => {
  for (const part of ['４', '４ー', '4\u0336', '\u200b', 'é@', 'ж@', '邮a@b.c', '+4 / ', '04 - 8 (9'])
    detect(part.repeat(30_000), ['cards', 'emails', 'phones']);
});

/** [who writes numbers like this, a number] */
const PHONE_FORMS: readonly (readonly [source: string, number: string])[] = [
  ['ITU-T E.123, international', '+22 607 123 4567'],
  ['ITU-T E.123, national', '(0607) 123 4567'],
  ['RFC 3966', '+1-201-555-0123'],
  ['DIN 5008', '030 12345-67'],
  ['DIN 5008 before 2001', '030 / 1234567'],
  ['Germany, with a slash', '+49 30 / 1234567'],
  ['Germany, with a dash', '+49 (0)30 – 1234567'],
  ['North American Numbering Plan', '1 (212) 555-0123'],
  ['Russia, long distance', '8 (916) 123-45-67'],
  ['Russia, in groups', '8-916-123-45-67'],
  ['Kazakhstan, a short town number', '8 (71039) 2-12-34'],
  ['Russia, international', '+7 (916) 123-45-67'],
  ['France', '01 23 45 67 89'],
  ['Japan', '03-1234-5678'],
  ['India', '+91 98765 43210'],
  ['Brazil', '+55 (11) 91234-5678'],
];

const NOT_PHONES = [
  ...['2024 / 11 / 28', '07 / 08 / 2026', '01/05/2026 - 01/07/2026', '01.11.2026 – 30.11.2026', '2026-11-01 - 2026-11-30', '01 - 12'],
  ...['10 / 2024 - 11 / 2025', '05 / 2024 - 11 / 2025', '05/2024–11/2025', 'run 8 2026-11-28 12:30:00', '8-2026-11-28-12', '01-02-2026'],
  ...['18 123-45-67', '8 (2024) 12', '12 / 34 / 56'],
];

test('phone numbers are found as a whole in the forms of many countries, and sums and dates are not', () => {
  for (const [source, number] of PHONE_FORMS) assert.equal(found(`Call ${number}, please`, 'phones'), [number], source);
  for (const text of NOT_PHONES) assert.equal(found(`On ${text}, please`, 'phones'), [], text);
});

test.run();
