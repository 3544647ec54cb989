import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nextOccurrence, type Recurrence } from '../../domain/schedule/recurrence.ts';
import { instantOf } from '../../domain/time-zone.ts';
import { parseCron } from '../../infra/schedule/cron-expression.ts';

const ZONES = [
  ...['Europe/Berlin', 'Europe/London', 'Europe/Lisbon', 'Europe/Athens', 'Europe/Chisinau', 'Europe/Dublin', 'Africa/Casablanca'],
  ...['Africa/Cairo', 'Asia/Jerusalem', 'Asia/Beirut', 'Asia/Gaza', 'Asia/Nicosia', 'Asia/Kolkata', 'Asia/Tokyo'],
  ...['America/New_York', 'America/Chicago', 'America/Los_Angeles', 'America/Anchorage', 'America/St_Johns', 'America/Havana'],
  ...['America/Santiago', 'America/Asuncion', 'America/Nuuk', 'America/Miquelon', 'Atlantic/Azores', 'Australia/Sydney'],
  ...['Australia/Lord_Howe', 'Pacific/Auckland', 'Pacific/Chatham', 'Pacific/Easter'],
];
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const START = Date.parse('2026-01-01T00:00:00.000Z');
const END = Date.parse('2027-01-01T00:00:00.000Z');

const toText = (ms: number): string => new Date(ms).toISOString();

/** Returns the times in 2026 at which the clocks in this time zone change. */
const transitionsOf = (zone: string): number[] => {
  const found: number[] = [];
  let at = Temporal.Instant.fromEpochMilliseconds(START).toZonedDateTimeISO(zone).getTimeZoneTransition('next');
  for (; at && at.epochMilliseconds < END; at = at.getTimeZoneTransition('next')) found.push(at.epochMilliseconds);
  return found;
};

const minuteAfter = (local: string): string => new Date(Date.parse(`${local}:00Z`) + MINUTE_MS).toISOString().slice(0, 16);

const localMinuteOf = (ms: number, zone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone).toPlainDateTime().toString({ smallestUnit: 'minute' });

/**
 * A minute, and the local times that are due in it: the local time that clocks show in this minute, unless they have
 * shown it before, and local times that clocks have skipped just before.
 */
type Minute = { readonly at: string; readonly locals: readonly string[] };

/** Lists all minutes of a period with their due local times. */
const walk = (zone: string, from: number, to: number): Minute[] => {
  const minutes: Minute[] = [];
  const seen = new Set<string>();
  // Start one day before the period. Otherwise, local times that clocks have shown before the period would be unknown.
  let expected = localMinuteOf(from - DAY_MS, zone);
  for (let ms = from - DAY_MS; ms < to; ms += MINUTE_MS) {
    const local = localMinuteOf(ms, zone);
    const locals = seen.has(local) ? [] : [local];
    for (; expected < local; expected = minuteAfter(expected)) if (!seen.has(expected)) locals.push(expected);
    for (const one of locals) seen.add(one);
    if (ms >= from) minutes.push({ at: toText(ms), locals });
    expected = minuteAfter(local);
  }
  return minutes;
};

const dueMinutes = (minutes: readonly Minute[], matches: (local: string) => boolean): string[] =>
  minutes.filter(({ locals }) => locals.some(matches)).map(({ at }) => at);

const occurrences = (recurrence: Recurrence, from: number, to: number): string[] => {
  const found: string[] = [];
  let at = nextOccurrence(recurrence, toText(from - 1));
  while (at !== null && Date.parse(at) < to) {
    found.push(at);
    at = nextOccurrence(recurrence, at);
  }
  return found;
};

const cron = (text: string, zone: string): Recurrence => ({ kind: 'cron', expression: parseCron(text)!, zone });

test('around every clock change of 2026 in 30 time zones, the due times of daily and cron jobs equal those that a check of every minute finds', () => {
  let checked = 0;
  for (const zone of ZONES)
    for (const transition of transitionsOf(zone)) {
      const [from, to] = [transition - 12 * 60 * MINUTE_MS, transition + 30 * 60 * MINUTE_MS];
      const minutes = walk(zone, from, to);
      for (const time of ['00:00', '00:30', '01:30', '02:00', '02:30', '03:00', '23:45']) {
        const expected = dueMinutes(minutes, (local) => local.endsWith(`T${time}`));
        assert.equal(occurrences({ kind: 'daily', time: `${time}:00`, zone }, from, to), expected, `${zone} ${time}`);
        const [hour, minute] = time.split(':').map(Number);
        assert.equal(occurrences(cron(`${minute} ${hour} * * *`, zone), from, to), expected, `${zone} cron ${time}`);
        checked += expected.length;
      }
      const quarters = dueMinutes(minutes, (local) => Number(local.slice(-2)) % 15 === 0);
      assert.equal(occurrences(cron('*/15 * * * *', zone), from, to), quarters, zone);
      checked += quarters.length;
    }
  assert.ok(checked > 3_000, `only ${checked} occurrences were compared`);
});

test('in each of 30 time zones, a daily job is due exactly once on each day of 2026', () => {
  for (const zone of ZONES)
    for (const time of ['00:00:00', '02:30:00', '23:59:59']) {
      const first = Date.parse(instantOf(`2026-01-01T${time}`, zone));
      const found = occurrences({ kind: 'daily', time, zone }, first, Date.parse(instantOf('2027-01-01T00:00:00', zone)));
      assert.is(found.length, 365, `${zone} ${time}`);
      assert.is(new Set(found).size, 365);
    }
});

test('an interval counts elapsed time from the start time of the job, also across clock changes, and the job is not due before its start time', () => {
  const every = (minutes: number, anchor: string): Recurrence => ({ kind: 'interval', minutes, anchor });
  assert.is(nextOccurrence(every(90, '2026-03-29T00:00:00.000Z'), '2026-03-29T00:00:00.000Z'), '2026-03-29T01:30:00.000Z');
  assert.is(nextOccurrence(every(90, '2026-03-29T00:00:00.000Z'), '2026-03-29T01:29:59.999Z'), '2026-03-29T01:30:00.000Z');
  assert.is(nextOccurrence(every(90, '2026-03-29T00:00:00.000Z'), '2026-03-29T01:30:00.000Z'), '2026-03-29T03:00:00.000Z');
  assert.is(nextOccurrence(every(1, '2030-01-01T00:00:00.000Z'), '2026-01-01T00:00:00.000Z'), '2030-01-01T00:00:00.000Z');
});

test('a one-shot job is due exactly once, at the time that it names', () => {
  const once: Recurrence = { kind: 'once', at: '2026-05-01T12:00:00.000Z' };
  assert.is(nextOccurrence(once, '2026-05-01T11:59:59.999Z'), '2026-05-01T12:00:00.000Z');
  assert.is(nextOccurrence(once, '2026-05-01T12:00:00.000Z'), null);
});

test('checking a cron expression that is malformed or never matches is refused', () => {
  for (const text of [
    '',
    '* * * *',
    '* * * * * *',
    '*/0 * * * *',
    '61 * * * *',
    '0 24 * * *',
    '0 0 30 2 *',
    '@daily',
    'a b c d e',
    '5-1 * * * *',
  ])
    assert.is(parseCron(text), null, text);
  for (const text of ['* * * * *', '0 0 29 2 *', '*/7 1,2,3 * JAN MON-FRI', '0 9 1,15 * *']) assert.ok(parseCron(text), text);
});

test('a cron expression with both a day of the month and a weekday matches each day that has either of them', () => {
  assert.equal(occurrences(cron('0 0 15 * MON', 'UTC'), Date.parse('2026-01-10T00:00:00Z'), Date.parse('2026-01-20T00:00:00Z')), [
    '2026-01-12T00:00:00.000Z',
    '2026-01-15T00:00:00.000Z',
    '2026-01-19T00:00:00.000Z',
  ]);
});

test.run();
