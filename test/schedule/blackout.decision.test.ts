import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type BlackoutFields, covers } from '../../domain/schedule/blackout.ts';
import { suppressedBy } from '../../domain/schedule/preview.ts';
import { nextOccurrence, type Recurrence } from '../../domain/schedule/recurrence.ts';

const blackout = (start_date: string, end_date: string, more: Partial<BlackoutFields> = {}): BlackoutFields => ({
  name: 'Holidays',
  start_date,
  end_date,
  agent_id: null,
  reason: null,
  recurring_yearly: false,
  timezone: 'UTC',
  ...more,
});

test('a blackout lasts from the start of its first day to the end of its last day, in the time zone of the blackout', () => {
  const days = blackout('2026-03-28', '2026-03-29', { timezone: 'Europe/Berlin' });
  assert.is(covers(days, '2026-03-27T22:59:59.999Z'), false);
  assert.is(covers(days, '2026-03-27T23:00:00.000Z'), true);
  assert.is(covers(days, '2026-03-29T21:59:59.999Z'), true);
  assert.is(covers(days, '2026-03-29T22:00:00.000Z'), false);
});

test('a yearly blackout covers the same days in its first and every later year, even if it includes the turn of the year; it covers no earlier days', () => {
  const holidays = blackout('2026-12-24', '2027-01-02', { recurring_yearly: true });
  for (const day of ['2026-12-24', '2027-01-02', '2027-12-31', '2030-01-01'])
    assert.is(covers(holidays, `${day}T12:00:00.000Z`), true, day);
  for (const day of ['2026-01-01', '2025-12-25', '2027-01-03', '2028-12-23'])
    assert.is(covers(holidays, `${day}T12:00:00.000Z`), false, day);
});

test('a yearly blackout of 29 February covers 28 February in years without a leap day', () => {
  const leap = blackout('2028-02-29', '2028-02-29', { recurring_yearly: true });
  for (const day of ['2028-02-29', '2029-02-28', '2032-02-29']) assert.is(covers(leap, `${day}T00:00:00.000Z`), true, day);
  for (const day of ['2028-02-28', '2029-03-01', '2032-02-28']) assert.is(covers(leap, `${day}T00:00:00.000Z`), false, day);
});

test('a yearly blackout that lasts longer than a year covers every day', () => {
  const long = blackout('2026-06-01', '2027-12-31', { recurring_yearly: true });
  for (const day of ['2026-06-01', '2027-03-01', '2028-01-15', '2031-11-30']) assert.is(covers(long, `${day}T00:00:00.000Z`), true, day);
});

const daily = (time: string, zone: string): Recurrence => ({ kind: 'daily', time, zone });

/** Returns the due times in the five years after `after` that a blackout covers, by checking every one. */
const coveredIn = (fields: BlackoutFields, recurrence: Recurrence, after: string): string[] => {
  const found: string[] = [];
  for (let at = nextOccurrence(recurrence, after); at !== null && at < '2031-06-01'; at = nextOccurrence(recurrence, at))
    if (covers(fields, at)) found.push(at);
  return found;
};

test('in every time zone and year, the occurrences that a blackout would suppress are exactly the due times within the blackout', () => {
  const after = '2026-06-01T12:00:00.000Z';
  for (const fields of [
    blackout('2026-12-24', '2027-01-02'),
    blackout('2026-12-24', '2027-01-02', { recurring_yearly: true, timezone: 'Pacific/Kiritimati' }),
    blackout('2020-06-01', '2020-06-01', { recurring_yearly: true, timezone: 'Pacific/Pago_Pago' }),
    blackout('2024-02-29', '2024-02-29', { recurring_yearly: true }),
    blackout('2024-01-01', '2024-12-31', { recurring_yearly: true }),
    blackout('2025-06-01', '2025-06-30'),
    blackout('2026-01-01', '9999-12-31'),
  ])
    for (const recurrence of [daily('23:30:00', 'America/New_York'), daily('00:10:00', 'Asia/Tokyo')]) {
      const suppressed = suppressedBy(fields, recurrence, { after, limit: 20_000 }).filter((at) => at < '2031-06-01');
      assert.equal(suppressed, coveredIn(fields, recurrence, after), JSON.stringify(fields));
    }
});

test('the occurrences that a distant or yearly blackout would suppress are found without computing those before it', () => {
  const everyMinute: Recurrence = { kind: 'interval', minutes: 1, anchor: '2026-01-01T00:00:00.000Z' };
  const after = '2026-06-01T12:00:00.000Z';
  const distant = suppressedBy(blackout('2126-12-24', '2126-12-24'), everyMinute, { after, limit: 100 });
  assert.equal([distant.length, distant[0]], [100, '2126-12-24T00:00:00.000Z']);
  const yearly = blackout('2026-12-24', '2026-12-24', { recurring_yearly: true });
  assert.is(suppressedBy(yearly, daily('09:00:00', 'UTC'), { after, limit: 100 }).length, 30);
});

test.run();
