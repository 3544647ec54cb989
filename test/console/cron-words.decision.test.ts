import { CronPattern } from 'croner';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { cronFieldsOf, cronWords } from '../../api/console/parts/cron-words.ts';
import { clockChangesAfter } from '../../api/console/parts/local-time.ts';

const WORDS: Readonly<Record<string, string>> = {
  '* * * * *': 'Every minute',
  '*/15 * * * *': 'Every 15 minutes',
  '0 * * * *': 'At minute 0 of every hour',
  '5,20 * * * *': 'At minutes 5 and 20 of every hour',
  '0 9 * * 1-5': 'At 09:00, Monday to Friday',
  '0 9 * * MON-FRI': 'At 09:00, Monday to Friday',
  '30 8,17 * * sat,sun': 'At 08:30 and 17:30, Saturday and Sunday',
  '0 9 ? * fri-sun': 'At 09:00, Friday to Sunday',
  '0 */6 * * *': 'At 00:00, 06:00, 12:00 and 18:00',
  '0 */2 * * *': 'At minute 0 of every 2nd hour, from 00:00',
  '*/10 9-17 * * *': 'Every 10 minutes from 09:00 to 17:59',
  '* 9,12 * * *': 'Every minute from 09:00 to 09:59 and from 12:00 to 12:59',
  '0-30/10 8-18 * * *': 'At minutes 0, 10, 20 and 30 of the hours 8 to 18',
  '0 0 1 * *': 'At 00:00, on day 1 of the month',
  '0 0 1-7,15 * *': 'At 00:00, on days 1 to 7 and 15 of the month',
  '0 0 L * *': 'At 00:00, on the last day of the month',
  '0 0 LW * *': 'At 00:00, on the last weekday (Monday to Friday) of the month',
  '0 0 15W,l * *': 'At 00:00, on the weekday nearest to day 15 of the month and on the last day of the month',
  '0 9 * * MON#2': 'At 09:00, the second Monday of the month',
  '0 9 * * 5L': 'At 09:00, the last Friday of the month',
  '0 9 13 * FRI': 'At 09:00, on day 13 of the month or Friday',
  '0 9 13 * +FRI': 'At 09:00, on day 13 of the month if it is Friday',
  '0 9 1 * 0-6': 'At 09:00',
  '0 9 1 jan,jul *': 'At 09:00, on day 1 of the month, in January and July',
  '0 9 * 3-5 *': 'At 09:00, in March to May',
};

test('a cron expression is described in words', () => {
  for (const [expression, words] of Object.entries(WORDS)) assert.is(cronWords(expression), words, expression);
});

const places = (values: readonly number[], first: number): number[] => values.flatMap((value, index) => (value ? [index + first] : []));

/** The bits by which the parser stores which weekdays of a month match. */
const NTH = [1, 2, 4, 8, 16];
const ALL = 63;
const LAST = 32;

test('the fields of an expression have the same values as for the parser of the scheduler', () => {
  const more = [
    '*/7 1-23/5 */9 2-12/3 */2',
    '59 23 31 12 7',
    '0 0 1,2W,L FEB-APR SUN',
    '1-5,7,50-59/3 0 * * 1#1,3#5,6L',
    '? ? ? ? ?',
    '0 0 L,15 * 5-6#L',
  ];
  for (const expression of [...Object.keys(WORDS), ...more]) {
    const fields = cronFieldsOf(expression);
    const parsed = new CronPattern(expression, undefined, { mode: '5-part' });
    assert.equal(fields.minutes.values, places(parsed.minute, 0), expression);
    assert.equal(fields.hours.values, places(parsed.hour, 0), expression);
    assert.equal(fields.months.values, places(parsed.month, 1), expression);
    assert.equal(fields.days.values, places(parsed.day, 1), expression);
    assert.equal(fields.days.nearest, places(parsed.nearestWeekdays, 1), expression);
    const { days, isStar, isRequired } = fields.weekdays;
    const bits = Array(7).fill(0);
    for (const { day, nth } of days) bits[day] |= nth === null ? ALL : nth === 'last' ? LAST : NTH[nth - 1]!;
    assert.equal(bits, parsed.dayOfWeek.slice(0, 7), expression);
    assert.equal(
      [fields.days.isLast, fields.days.isLastWorkday, fields.days.isStar, isStar, isRequired],
      [parsed.lastDayOfMonth, parsed.lastWeekday, parsed.starDOM, parsed.starDOW, parsed.useAndLogic],
      expression,
    );
  }
});

test('the next clock changes of a zone are found, with the local times before and after', () => {
  assert.equal(clockChangesAfter('2026-01-01T00:00:00Z', 'Europe/Berlin', 2), [
    { at: '2026-03-29T01:00:00.000Z', from: '2026-03-29T02:00:00', to: '2026-03-29T03:00:00' },
    { at: '2026-10-25T01:00:00.000Z', from: '2026-10-25T03:00:00', to: '2026-10-25T02:00:00' },
  ]);
  assert.equal(clockChangesAfter('2026-01-01T00:00:00Z', 'Australia/Lord_Howe', 2), [
    { at: '2026-04-04T15:00:00.000Z', from: '2026-04-05T02:00:00', to: '2026-04-05T01:30:00' },
    { at: '2026-10-03T15:30:00.000Z', from: '2026-10-04T02:00:00', to: '2026-10-04T02:30:00' },
  ]);
  assert.equal(clockChangesAfter('2026-01-01T00:00:00Z', 'UTC', 2), []);
});

test.run();
