import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { dueTimes } from '../../domain/schedule/due-times.ts';
import { nextOccurrence, type Recurrence } from '../../domain/schedule/recurrence.ts';
import { parseCron } from '../../infra/cron-expression.ts';

const DAY_MS = 86_400_000;

const cron =
  (expression: string) =>
  (zone: string): Recurrence => ({ kind: 'cron', expression: parseCron(expression)!, zone });
const daily =
  (time: string) =>
  (zone: string): Recurrence => ({ kind: 'daily', time, zone });

const LOCAL: Readonly<Record<string, (zone: string) => Recurrence>> = {
  'every 20 minutes': cron('*/20 * * * *'),
  'some minutes of some hours': cron('5,50 1-4,23 * * *'),
  'a time that clocks skip or repeat': cron('30 2 * * *'),
  'several times that clocks skip or repeat': cron('15,45 0,1,2,3 * * *'),
  weekly: cron('0 0 * * MON'),
  'the last day of the month': cron('0 12 L * *'),
  'a leap day': cron('0 12 29 2 *'),
  'the last Friday of a month, or the first day': cron('10 3 1 * FRI#L'),
  daily: daily('02:30:15'),
  'daily at midnight': daily('00:00:00'),
};

/** Zones with clock changes of an hour, half an hour, at midnight, and without any; one has left out a whole day. */
const ZONES = ['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'Africa/Cairo', 'America/Santiago', 'Asia/Kathmandu', 'Pacific/Apia'];

/** Periods around clock changes, a leap day and the end of a year, and the missing day of Samoa. */
const PERIODS: readonly (readonly [from: string, days: number])[] = [
  ['2026-03-26T07:12:34.567Z', 12],
  ['2026-04-22T00:00:00.000Z', 3],
  ['2026-09-04T12:00:00.000Z', 3],
  ['2026-10-02T00:00:00.000Z', 3],
  ['2026-10-23T00:00:00.000Z', 9],
  ['2028-02-26T23:59:59.999Z', 5],
  ['2026-12-29T11:00:00.000Z', 4],
  ['2011-12-28T00:00:00.000Z', 4],
];

const oneByOne = (recurrence: Recurrence, from: number, to: number): string[] => {
  const found: string[] = [];
  for (let at = nextOccurrence(recurrence, new Date(from - 1).toISOString()); at !== null && Date.parse(at) < to; ) {
    found.push(at);
    at = nextOccurrence(recurrence, at);
  }
  return found;
};

const inParts = (recurrence: Recurrence, from: number, to: number): string[] =>
  [...dueTimes(recurrence, from, to)].flat().map((ms) => new Date(ms).toISOString());

for (const zone of ZONES)
  test(`the due times of a period are those which follow one by one, in ${zone}`, () => {
    for (const [name, recurrenceIn] of Object.entries(LOCAL))
      for (const [start, days] of PERIODS) {
        const [from, to] = [Date.parse(start), Date.parse(start) + days * DAY_MS];
        const expected = oneByOne(recurrenceIn(zone), from, to);
        assert.equal(inParts(recurrenceIn(zone), from, to), expected, `${name} ${start}`);
      }
  });

test('the due times of intervals and of one-shot jobs in a period follow their start, and end before its end', () => {
  const interval: Recurrence = { kind: 'interval', minutes: 7, anchor: '2026-03-01T10:00:00.250Z' };
  const once: Recurrence = { kind: 'once', at: '2026-03-02T10:00:00.000Z' };
  for (const recurrence of [interval, once])
    for (const start of ['2026-02-27T00:00:00.000Z', '2026-03-02T10:00:00.000Z', '2026-03-02T10:00:00.001Z', '2026-03-01T10:07:00.250Z']) {
      const [from, to] = [Date.parse(start), Date.parse(start) + 3 * DAY_MS];
      assert.equal(inParts(recurrence, from, to), oneByOne(recurrence, from, to), `${recurrence.kind} ${start}`);
    }
});

test('the due times of 62 days of a job that is due every minute take a fraction of a second', () => {
  const from = Date.parse('2026-03-01T00:00:00.000Z');
  const started = performance.now();
  assert.is([...dueTimes(cron('* * * * *')('Europe/Berlin'), from, from + 62 * DAY_MS)].flat().length, 62 * 1_440);
  assert.ok(performance.now() - started < 5_000);
});

test.run();
