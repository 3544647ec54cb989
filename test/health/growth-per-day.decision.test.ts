import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { estimateGrowth } from '../../infra/health/growth-per-day.ts';

const HOUR = 3_600_000;

test('the growth of the log per day is estimated from the last day; during the first ten minutes, it is unknown', () => {
  const growth = estimateGrowth();
  assert.is(growth(1_000n, 0), null);
  assert.is(growth(2_000n, 9 * 60_000), null);
  assert.is(growth(3_000n, HOUR), 48_000);
  // From now on, the log grows by 100 bytes per hour. A day later, only this counts.
  for (let hour = 2; hour <= 26; hour++) growth(3_000n + BigInt((hour - 1) * 100), hour * HOUR);
  assert.is(growth(5_600n, 27 * HOUR), 2_400);
});

test.run();
