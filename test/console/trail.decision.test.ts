import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { gaps } from '../../api/console/parts/trail.ts';

test('the durations of the steps of a delivery add up to its total, even if two clocks differ', () => {
  const steps = ['10:00:00.000', '10:00:01.500', '10:00:01.000', '10:00:03.000'].map((time) => ({ at: `2026-11-21T${time}Z` }));
  assert.equal(gaps([...steps.slice(0, 2), { at: null }, ...steps.slice(2)]), [null, 1_500, null, 0, 1_500]);
});

test.run();
