import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { addDays } from '../../domain/billing/anomaly.ts';
import { FORECAST_DAYS, forecastOf } from '../../domain/billing/forecast.ts';

const TODAY = '2026-03-14';
const day = (ago: number): string => addDays(TODAY, -ago);

test('a forecast divides the costs of seven days by seven, or by the days since the first use of a newer tenant', () => {
  const cases: readonly [string, { first: number | null; costs: Record<number, number> }, number | null][] = [
    ['weekly costs, yesterday', { first: 60, costs: { 1: 70, 8: 70 } }, 100 + 10 * 10],
    ['weekly costs, seven days ago', { first: 60, costs: { 7: 70 } }, 100 + 10 * 10],
    ['daily costs', { first: 60, costs: { 1: 7, 2: 7, 3: 7, 4: 7, 5: 7, 6: 7, 7: 7 } }, 100 + 7 * 10],
    ['a tenant of two days', { first: 2, costs: { 1: 5, 2: 15 } }, 100 + 10 * 10],
    ['a tenant of two days, without costs yesterday', { first: 2, costs: { 2: 20 } }, 100 + 10 * 10],
    ['a tenant of seven days', { first: 7, costs: { 7: 70 } }, 100 + 10 * 10],
    ['only older costs', { first: 8, costs: { 8: 70 } }, 100],
    ['a tenant that started today', { first: 0, costs: {} }, null],
    ['no use at all', { first: null, costs: {} }, null],
  ];
  for (const [name, { first, costs }, expected] of cases) {
    const recent = new Map(
      Object.entries(costs).flatMap(([ago, cost]) => (Number(ago) <= FORECAST_DAYS ? [[day(Number(ago)), cost]] : [])),
    );
    const known = { recent, first: first === null ? undefined : day(first), spent: 100 };
    assert.is(forecastOf({ ...known, now: `${TODAY}T12:00:00.000Z`, end: '2026-03-24T12:00:00.000Z' }), expected, name);
  }
});

test.run();
