import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { costChart } from '../../api/billing/console/cost-chart.ts';
import { htmlOf } from '../../api/console/parts/tags.ts';
import { addDays } from '../../domain/billing/anomaly.ts';

const TODAY = new Date().toISOString().slice(0, 10);
const startOf = (day: string): string => `${day}T00:00:00.000Z`;

/** The chart of a period of `length` days whose first day was `ago` days ago. Each day of the period before has cost `before`. */
const chartOf = (length: number, ago: number, costs: readonly number[], before: number): string => {
  const start = addDays(TODAY, -ago);
  const earlier = addDays(start, -length);
  const daysFrom = (day: string, all: readonly number[]) => all.map((cost_usd, n) => ({ day: addDays(day, n), cost_usd }));
  const total = costs.reduce((sum, cost) => sum + cost, 0);
  return htmlOf(
    costChart({
      period: { start: startOf(start), end: startOf(addDays(start, length)) },
      groups: [],
      total_cost_usd: total,
      total_repriced_usd: total,
      series: [{ key: 'a', label: 'Reviewer', days: daysFrom(start, costs) }],
      previous: {
        period: { start: startOf(earlier), end: startOf(start) },
        total_cost_usd: before * length,
        days: daysFrom(earlier, Array<number>(length).fill(before)),
      },
      forecast_usd: null,
    }) as Parameters<typeof htmlOf>[0],
    '',
  ).replaceAll(/<[^>]+>/g, '');
};

test('a running period is compared with the same days of the period before, and one that is over with all of it', () => {
  for (const [name, text, expected] of [
    ['running, the same', chartOf(10, 2, [1, 1, 1], 1), 'That is as much as in the same days of the period before, with $3.00.'],
    ['running, less', chartOf(10, 2, [1, 1, 1], 2), 'That is 50 % less than in the same days of the period before, with $6.00.'],
    ['running, nothing before', chartOf(10, 2, [1, 1, 1], 0), 'The same days of the period before have cost nothing.'],
    ['over', chartOf(3, 5, [1, 1, 2], 1), 'That is 33 % more than in the period before, with $3.00.'],
    ['over, nothing before', chartOf(3, 5, [1, 1, 1], 0), 'The period before has cost nothing.'],
  ] as const)
    assert.ok(text.includes(expected), `${name}: ${text.slice(0, 300)}`);
});

test.run();
