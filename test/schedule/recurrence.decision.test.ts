// share
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nextOccurrence, type Recurrence } from '../../domain/schedule/recurrence.ts';
import { instantOf } from '../../domain/time-zone.ts';
import { parseCron } from '../../infra/cron-expression.ts';
import { openShare } from '../fixtures/share.ts';

const ZONES = [
  ...['Europe/Berlin', 'Europe/London', 'Europe/Lisbon', 'Europe/Athens', 'Europe/Chisinau', 'Europe/Dublin', 'Africa/Casablanca'],
  ...['Africa/Cairo', 'Asia/Jerusalem', 'Asia/Beirut', 'Asia/Gaza', 'Asia/Nicosia', 'Asia/Kolkata', 'Asia/Tokyo'],
  ...['America/New_York', 'America/Chicago', 'America/Los_Angeles', 'America/Anchorage', 'America/St_Johns', 'America/Havana'],
  ...['America/Santiago', 'America/Asuncion', 'America/Nuuk', 'America/Miquelon', 'Atlantic/Azores', 'Australia/Sydney'],
  ...['Australia/Lord_Howe', 'Pacific/Auckland', 'Pacific/Chatham', 'Pacific/Easter'],
];
const share = openShare();
/** The zones of this run: npm test tries a tenth of them. */
const zones = share.casesOf(ZONES, (zone) => zone);
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

share.test(
  'around every clock change of 2026 in 30 time zones, the due times of daily and cron jobs equal those that a check of every minute finds',
  () => {
    let checked = 0;
    for (const zone of zones)
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
        const quarters = dueMinutes(minutes, (local) => /T02:(?:00|15|30|45)$/.test(local));
        assert.equal(occurrences(cron('*/15 2 * * *', zone), from, to), quarters, zone);
        checked += quarters.length;
      }
    const transitions = zones.flatMap(transitionsOf).length;
    assert.ok(checked >= 15 * transitions, `only ${checked} occurrences around ${transitions} clock changes were compared`);
  },
);

/** Expressions whose hour is a wildcard, a step or a range, with the hours and minutes that they match. */
const RHYTHMS: Readonly<Record<string, (hour: number, minute: number) => boolean>> = {
  '*/15 * * * *': (_, minute) => minute % 15 === 0,
  '0 * * * *': (_, minute) => minute === 0,
  '30 * * * *': (_, minute) => minute === 30,
  '7,52 * * * *': (_, minute) => minute === 7 || minute === 52,
  '*/7 * * * *': (_, minute) => minute % 7 === 0,
  '0 */2 * * *': (hour, minute) => hour % 2 === 0 && minute === 0,
  '45 */3 * * *': (hour, minute) => hour % 3 === 0 && minute === 45,
  '30 1-3 * * *': (hour, minute) => hour >= 1 && hour <= 3 && minute === 30,
  '*/20 0-4 * * *': (hour, minute) => hour <= 4 && minute % 20 === 0,
  '0 22-23,0-4 * * *': (hour, minute) => (hour >= 22 || hour <= 4) && minute === 0,
  '10 1-23/2 * * *': (hour, minute) => hour % 2 === 1 && minute === 10,
};

share.test(
  'around every clock change of 2026 in 30 time zones, a schedule with a wildcard, a step or a range of hours keeps its rhythm',
  () => {
    for (const zone of zones)
      for (const transition of transitionsOf(zone)) {
        const offset = (ms: number): number => Date.parse(`${localMinuteOf(ms, zone)}:00Z`) - ms;
        const before = offset(transition - MINUTE_MS);
        const gained = offset(transition) - before;
        const [from, to] = [transition - 3 * 60 * MINUTE_MS, transition + 4 * 60 * MINUTE_MS];
        const minutes = [];
        for (let ms = from; ms < to; ms += MINUTE_MS) {
          // What clocks would show in the minutes after they were put forward, if they had not been.
          const skipped = ms >= transition && ms < transition + gained ? [toText(ms + before).slice(0, 16)] : [];
          minutes.push({ at: toText(ms), locals: [localMinuteOf(ms, zone), ...skipped] });
        }
        for (const [text, matches] of Object.entries(RHYTHMS)) {
          const isDue = (local: string): boolean => matches(Number(local.slice(11, 13)), Number(local.slice(14, 16)));
          assert.equal(occurrences(cron(text, zone), from, to), dueMinutes(minutes, isDue), `${zone} ${text}`);
        }
      }
  },
);

test('the times of a schedule that keeps its rhythm, on the days on which clocks change in Berlin', () => {
  const hours = (text: string, day: string): string[] =>
    occurrences(cron(text, 'Europe/Berlin'), Date.parse(`${day}T23:30:00Z`) - DAY_MS, Date.parse(`${day}T03:30:00Z`)).map((at) =>
      at.slice(11, 16),
    );
  // https://man7.org/linux/man-pages/man8/cron.8.html: jobs with wildcards follow the new time at once.
  assert.equal(hours('0 * * * *', '2026-03-29'), ['00:00', '01:00', '02:00', '03:00']);
  assert.equal(hours('0 * * * *', '2026-10-25'), ['00:00', '01:00', '02:00', '03:00']);
  assert.equal(hours('30 * * * *', '2026-03-29'), ['23:30', '00:30', '01:30', '02:30']);
  assert.is(hours('*/15 * * * *', '2026-10-25').length, 16);
  assert.is(hours('* * * * *', '2026-10-25').length, 240);
  assert.is(hours('* * * * *', '2026-03-29').length, 240);
  // Fixed times: shifted to the end of the gap, and only the first of two.
  assert.equal(hours('30 2 * * *', '2026-03-29'), ['01:00']);
  assert.equal(hours('30 2 * * *', '2026-10-25'), ['00:30']);
  assert.equal(hours('30 2,3 * * *', '2026-10-25'), ['00:30', '02:30']);
});

share.test('in each of 30 time zones, a daily job is due exactly once on each day of 2026', () => {
  for (const zone of zones)
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
