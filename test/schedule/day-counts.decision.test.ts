import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { periodsFrom } from '../../domain/schedule/blackout.ts';
import { coveredPeriods, predictedCounts } from '../../domain/schedule/day-counts.ts';
import type { ScheduledJob } from '../../domain/schedule/impact.ts';
import { predictedOccurrences } from '../../domain/schedule/prediction.ts';
import type { PresentBlackout } from '../../domain/schedule/preview.ts';
import type { Recurrence } from '../../domain/schedule/recurrence.ts';
import { instantOf, localTimeOf } from '../../domain/time-zone.ts';
import { parseCron } from '../../infra/cron-expression.ts';

const AGENT = 'cagent';
const DAYS = ['2026-03-27', '2026-03-28', '2026-03-29', '2026-03-30', '2026-03-31'];
const NOW = '2026-03-28T09:30:20.000Z';

const cron = (expression: string, zone = 'UTC'): Recurrence => ({ kind: 'cron', expression: parseCron(expression)!, zone });

const blackout = (start_date: string, end_date: string, more: Partial<PresentBlackout> = {}): PresentBlackout => ({
  ...{ id: `c${start_date}`, name: '', reason: null, recurring_yearly: false, timezone: 'UTC', agent_id: null },
  ...{ start_date, end_date },
  ...more,
});

const BLACKOUTS: Readonly<Record<string, readonly PresentBlackout[]>> = {
  none: [],
  'one day': [blackout('2026-03-29', '2026-03-29', { timezone: 'Europe/Berlin' })],
  'of another agent': [blackout('2026-03-29', '2026-03-29', { agent_id: 'cother' })],
  'yearly, over the end of the year': [blackout('2019-12-24', '2020-03-30', { recurring_yearly: true })],
  'two that overlap': [
    blackout('2026-03-30', '2026-04-02', { agent_id: AGENT }),
    blackout('2026-03-29', '2026-03-30', { timezone: 'Asia/Tokyo' }),
  ],
  'to the last day': [blackout('2026-03-30', '9999-12-31')],
};

const JOBS: Readonly<Record<string, Partial<ScheduledJob> & Pick<ScheduledJob, 'recurrence' | 'next_fire_at'>>> = {
  'every minute of some hours': { recurrence: cron('* 0,9 * * *'), next_fire_at: '2026-03-28T09:31:00.000Z' },
  'often, undecided for a day': { recurrence: cron('*/20 * * * *', 'Europe/Berlin'), next_fire_at: '2026-03-27T03:00:00.000Z' },
  'daily, due for some minutes': { recurrence: cron('20 9 * * *'), next_fire_at: '2026-03-28T09:20:00.000Z' },
  'daily, due for too long': { recurrence: cron('20 3 * * *'), next_fire_at: '2026-03-28T03:20:00.000Z' },
  'of an inactive agent': { recurrence: cron('0 */6 * * *'), next_fire_at: '2026-03-28T12:00:00.000Z', isInactive: true },
  'next due after the period': { recurrence: cron('0 0 1 * *'), next_fire_at: '2026-04-01T00:00:00.000Z' },
  once: { recurrence: { kind: 'once', at: '2026-03-29T01:30:00.000Z' }, next_fire_at: '2026-03-29T01:30:00.000Z' },
};

const jobOf = (given: (typeof JOBS)[string]): ScheduledJob => ({
  ...{ id: 'cjob', agent_id: AGENT, scheduled_at: '2026-01-01T00:00:00.000Z', isInactive: false },
  ...given,
});

const boundsIn = (zone: string) => [...DAYS, '2026-04-01'].map((day) => Date.parse(instantOf(`${day}T00:00:00`, zone)));

/** Counts one by one what the list of occurrences predicts. */
const oneByOne = (job: ScheduledJob, zone: string, blackouts: readonly PresentBlackout[], decided: ReadonlySet<number>) => {
  const bounds = boundsIn(zone).map((ms) => new Date(ms).toISOString());
  const all = [...predictedOccurrences([job], { from: bounds[0]!, to: bounds.at(-1)!, now: NOW, blackouts })];
  const counts = new Map<string, string[]>();
  for (const { due_at, decision, reason } of all.filter((one) => !decided.has(Date.parse(one.due_at)))) {
    const key = `${localTimeOf(due_at, zone).slice(0, 10)} ${decision} ${reason}`;
    counts.set(key, [...(counts.get(key) ?? []), due_at]);
  }
  return [...counts].map(([key, due]) => `${key} ${due.length} ${due.slice(0, 3)}`).toSorted();
};

const resultOf = <T>(steps: Generator<void, T>): T => {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
};

const counted = (job: ScheduledJob, zone: string, blackouts: readonly PresentBlackout[], decided: ReadonlySet<number>) => {
  const bounds = boundsIn(zone);
  const covered = resultOf(coveredPeriods(blackouts, AGENT, bounds[0]!, bounds.at(-1)!));
  return resultOf(predictedCounts(job, { bounds, now: NOW, covered, decided }))
    .map(({ day, decision, reason, runs, first }) => {
      const due = first.map((ms) => new Date(ms).toISOString());
      return `${DAYS[day]} ${decision} ${reason} ${runs} ${due}`;
    })
    .toSorted();
};

const DECIDED = new Set(['2026-03-29T00:00:00.000Z', '2026-03-28T09:31:00.000Z', '2026-03-28T09:00:00.000Z'].map((at) => Date.parse(at)));

for (const [name, given] of Object.entries(JOBS))
  test(`the counts by day are those of the occurrences that are predicted one by one: ${name}`, () => {
    for (const [index, [which, blackouts]] of Object.entries(BLACKOUTS).entries()) {
      const zone = ['UTC', 'Europe/Berlin', 'Pacific/Auckland'][index % 3]!;
      const decided = index % 2 === 0 ? DECIDED : new Set<number>();
      const [found, expected] = [counted, oneByOne].map((count) => count(jobOf(given), zone, blackouts, decided));
      assert.equal(found, expected, `${zone}, blackouts: ${which}, ${decided.size} decided`);
    }
  });

test('with five hundred yearly blackouts, each step of counting occurrences takes at most a few milliseconds', () => {
  const yearly = Array.from({ length: 500 }, (_, n) => {
    const day = `2020-${String((n % 12) + 1).padStart(2, '0')}-${String((n % 28) + 1).padStart(2, '0')}`;
    return blackout(day, day, { id: `c${n}`, recurring_yearly: true, timezone: 'Europe/Berlin' });
  });
  const [first, last] = [boundsIn('UTC')[0]!, boundsIn('UTC').at(-1)!];
  const steps = coveredPeriods(yearly, AGENT, first, last);
  let count = 0;
  while (!steps.next().done) count++;
  assert.is(count, 500);
  assert.is(resultOf(coveredPeriods(yearly, AGENT, first, last)).length, 1);
  const of = (day: string, until?: string) => yearly.flatMap((one) => periodsFrom(one, day, until));
  assert.equal(
    of('2026-03-26', '2026-04-02'),
    of('2026-03-26').filter(([start]) => start <= '2026-04-02'),
  );
});

test.run();
