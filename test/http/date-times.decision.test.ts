import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { pastTime } from '../../api/console/past-time.ts';
import { Instant, InstantText, instantOf } from '../../domain/fields.ts';

/** Times as they arrive, what they mean, and the source. */
const READ: readonly (readonly [text: string, instant: string, source: string])[] = [
  ['2026-11-26T10:00:00Z', '2026-11-26T10:00:00.000Z', 'RFC 3339, 5.6'],
  ['2026-11-26t10:00:00z', '2026-11-26T10:00:00.000Z', 'RFC 3339, 5.6: t and z in lower case'],
  ['2026-11-26T10:00:00+02:00', '2026-11-26T08:00:00.000Z', 'RFC 3339, 5.6: time-numoffset'],
  ['2026-11-26T10:00:00-02:30', '2026-11-26T12:30:00.000Z', 'RFC 3339, 5.6'],
  ['2026-11-26T10:00:00-00:00', '2026-11-26T10:00:00.000Z', 'RFC 3339, 4.3: unknown local offset'],
  ['2026-11-26T10:00:00 02:00', '2026-11-26T08:00:00.000Z', 'WHATWG URL, 5.1: + is decoded as a blank'],
  ['2026-11-26t10:00:00.5 02:00', '2026-11-26T08:00:00.500Z', 'WHATWG URL, 5.1'],
  ['2026-11-26 10:00:00+02:00', '2026-11-26T08:00:00.000Z', 'RFC 3339, 5.6: a blank instead of T'],
  ['2026-11-26 10:00:00 02:00', '2026-11-26T08:00:00.000Z', 'date --rfc-3339=seconds, in a URL'],
  ['2026-11-26T10:00:00.123456789Z', '2026-11-26T10:00:00.123Z', 'RFC 3339, 5.6: time-secfrac of any length'],
  ['2016-12-31T23:59:60Z', '2016-12-31T23:59:59.999Z', 'RFC 3339, 5.8: a leap second'],
  ['1990-12-31T15:59:60-08:00', '1990-12-31T23:59:59.999Z', 'RFC 3339, 5.8'],
  ['2017-01-01T00:59:60.5 01:00', '2016-12-31T23:59:59.999Z', 'RFC 3339, 5.7'],
];

for (const [text, instant, source] of READ)
  test(`the time ${text} is read (${source})`, () => {
    assert.is(Instant.parse(text), instant);
    assert.ok(InstantText.safeParse(text).success);
    assert.is(instantOf(text), instant);
  });

const REFUSED = [
  ...['2026-11-26T10:00Z', '2026-11-26T10:00 02:00', '2026-13-26T10:00:00 02:00'],
  ...['', '2026-11-26', '2026-11-26T10:00:00', '2026-11-26 10:00:00', '2026-11-26T10:00:00+0200', '2026-11-26T10:00:00 0200'],
  ...['2026-11-26T10:00:00  02:00', '2026-11-26T10:00:00,5Z', '2026-11-26T24:00:00Z', '2026-11-26T10:00:60Z', '2026-11-26T12:59:60Z'],
  ...[
    '2026-13-26T10:00:00Z',
    '2026-02-30T10:00:00Z',
    '2026-11-26T10:00:00+25:00',
    '26 November 2026',
    'now',
    '1764151200',
    '+02026-11-26T10:00:00Z',
  ],
];

test('a time that is not RFC 3339 is refused with the value as it arrived and an example', () => {
  for (const text of REFUSED)
    for (const schema of [Instant, InstantText]) {
      const told = schema.safeParse(text).error?.issues[0]?.message ?? 'accepted';
      assert.ok(told.startsWith('must be an RFC 3339 date-time, such as 2026-03-14T09:26:53Z'), `${text}: ${told}`);
      assert.ok(told.includes(text === '' ? 'it is none' : `it is "${text}"`), told);
    }
});

test('a URL of the console also accepts a blank before the offset of a time', () => {
  const now = Date.parse('2026-11-27T00:00:00Z');
  assert.is(pastTime('2026-11-26T10:00:00 02:00', now, 'UTC'), '2026-11-26T10:00:00+02:00');
  assert.is(pastTime('2026-11-26t10:00 02:00', now, 'UTC'), '2026-11-26T10:00:00+02:00');
  assert.is(pastTime('2026-11-26 10:00', now, 'UTC'), '2026-11-26T10:00:00.000Z');
});

test.run();
