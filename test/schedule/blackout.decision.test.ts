import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type BlackoutFields, covers } from '../../domain/schedule/blackout.ts';

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

test('a blackout lasts from the midnight before its first day to the midnight after its last day, in its time zone', () => {
  const days = blackout('2026-03-28', '2026-03-29', { timezone: 'Europe/Berlin' });
  assert.is(covers(days, '2026-03-27T22:59:59.999Z'), false);
  assert.is(covers(days, '2026-03-27T23:00:00.000Z'), true);
  assert.is(covers(days, '2026-03-29T21:59:59.999Z'), true);
  assert.is(covers(days, '2026-03-29T22:00:00.000Z'), false);
});

test('a yearly blackout covers the same days in each later year, even across the turn of the year, and no earlier days', () => {
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

test.run();
