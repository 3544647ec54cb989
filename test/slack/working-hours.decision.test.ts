import { test } from 'uvu';
import { equal, is } from 'uvu/assert';
import { initial, type SlackConfig } from '../../domain/slack/slack-config.ts';
import { isWorkingTime, nextWorkingTime } from '../../domain/slack/working-hours.ts';

const nineToFive: SlackConfig = { ...initial, working_hours_enabled: true, working_hours_start: '09:00', working_hours_end: '17:00' };

/** Returns whether each of these times (RFC 3339) is within the working hours of an agent with these settings. */
const worksAt = (config: SlackConfig, times: readonly string[]): boolean[] => times.map((time) => isWorkingTime(config, Date.parse(time)));

test('working hours include the minute in which they start, and exclude the minute in which they end', () =>
  equal(
    worksAt(nineToFive, ['2026-03-02T08:59:59.999Z', '2026-03-02T09:00:00.000Z', '2026-03-02T16:59:59.999Z', '2026-03-02T17:00:00.000Z']),
    [false, true, true, false],
  ));

test('if no days are set, the working days are Monday to Friday; with an empty list of days, there are no working days', () => {
  const week = Array.from({ length: 7 }, (_, day) => `2026-03-0${day + 2}T12:00:00.000Z`);
  equal(worksAt(nineToFive, week), [true, true, true, true, true, false, false]);
  equal(worksAt({ ...nineToFive, working_hours_days: ['Sun', 'Tue'] }, week), [false, true, false, false, false, false, true]);
  equal(new Set(worksAt({ ...nineToFive, working_hours_days: [] }, week)), new Set([false]));
});

test('working hours without a start begin at midnight, and working hours without an end last until midnight', () => {
  const times = ['2026-03-02T00:00:00.000Z', '2026-03-02T23:59:59.999Z'];
  equal(worksAt({ ...nineToFive, working_hours_start: null }, times), [true, false]);
  equal(worksAt({ ...nineToFive, working_hours_end: null }, times), [false, true]);
  equal(worksAt({ ...nineToFive, working_hours_start: null, working_hours_end: null }, times), [true, true]);
});

test('the next working time is the minute in which working hours start next, over nights, weekends and clock changes', () => {
  const berlin = { ...nineToFive, working_hours_tz: 'Europe/Berlin' };
  const cases: readonly (readonly [SlackConfig, string, string | null])[] = [
    [nineToFive, '2026-03-02T03:00:00.000Z', '2026-03-02T09:00:00.000Z'],
    [nineToFive, '2026-03-02T08:59:59.999Z', '2026-03-02T09:00:00.000Z'],
    [nineToFive, '2026-03-02T17:00:00.000Z', '2026-03-03T09:00:00.000Z'],
    [nineToFive, '2026-03-06T17:00:00.000Z', '2026-03-09T09:00:00.000Z'],
    [{ ...nineToFive, working_hours_days: ['Mon'] }, '2026-03-02T17:00:00.000Z', '2026-03-09T09:00:00.000Z'],
    [berlin, '2026-03-27T20:00:00.000Z', '2026-03-30T07:00:00.000Z'],
    [{ ...nineToFive, working_hours_start: '09:07', working_hours_end: null }, '2026-03-02T03:00:30.000Z', '2026-03-02T09:07:00.000Z'],
    [{ ...nineToFive, working_hours_days: [] }, '2026-03-02T03:00:00.000Z', null],
  ];
  for (const [config, at, expected] of cases) {
    const next = nextWorkingTime(config, Date.parse(at));
    equal(next === null ? null : new Date(next).toISOString(), expected, at);
    equal(nextWorkingTime(config, Date.parse(at)), next);
  }
});

test('if the working hours of an agent are disabled, the agent works at any time', () =>
  is(isWorkingTime({ ...nineToFive, working_hours_enabled: false }, Date.parse('2026-03-01T03:00:00.000Z')), true));

test("working hours are evaluated in the agent's time zone, even where the day differs from the day in UTC", () => {
  const tokyo = { ...nineToFive, working_hours_tz: 'Asia/Tokyo' };
  // Monday 09:00 in Tokyo is Monday 00:00 in UTC, and Saturday 09:00 in Tokyo is Saturday 00:00 in UTC.
  equal(worksAt(tokyo, ['2026-03-01T23:59:59.999Z', '2026-03-02T00:00:00.000Z', '2026-03-07T00:00:00.000Z']), [false, true, false]);
  const kiritimati = { ...nineToFive, working_hours_tz: 'Pacific/Kiritimati' };
  // In Kiritimati, Sunday 19:00 UTC is Monday 09:00, and Friday 19:00 UTC is Saturday 09:00.
  equal(worksAt(kiritimati, ['2026-03-01T19:00:00.000Z', '2026-03-06T19:00:00.000Z']), [true, false]);
});

test('working hours follow the daylight saving time of the time zone', () => {
  const berlin = { ...nineToFive, working_hours_tz: 'Europe/Berlin' };
  // In 2026, Berlin changes to summer time on 29 March, and back to winter time on 25 October.
  equal(
    worksAt(berlin, [
      '2026-03-27T07:59:59.999Z',
      '2026-03-27T08:00:00.000Z',
      '2026-03-30T06:59:59.999Z',
      '2026-03-30T07:00:00.000Z',
      '2026-10-26T07:59:59.999Z',
      '2026-10-26T08:00:00.000Z',
    ]),
    [false, true, false, true, false, true],
  );
});

test('when daylight saving time ends, both occurrences of the repeated hour belong to the working hours; when it starts, the skipped hour does not', () => {
  const nights = (start: string, end: string) =>
    ({
      ...nineToFive,
      working_hours_tz: 'Europe/Berlin',
      working_hours_days: ['Sun'],
      working_hours_start: start,
      working_hours_end: end,
    }) as const;
  const october = Array.from({ length: 4 }, (_, hour) => new Date(Date.parse('2026-10-24T23:30:00.000Z') + hour * 3_600_000).toISOString());
  equal(worksAt(nights('02:00', '03:00'), october), [false, true, true, false]);
  const march = Array.from({ length: 3 }, (_, hour) => new Date(Date.parse('2026-03-29T00:30:00.000Z') + hour * 3_600_000).toISOString());
  equal(worksAt(nights('02:00', '03:00'), march), [false, false, false]);
});

test.run();
