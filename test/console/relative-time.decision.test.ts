import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { relativeText } from '../../api/console/parts/time.ts';

const NOW = Date.parse('2026-11-26T12:00:00.000Z');
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

test('a relative time is shown in its largest suitable unit, for times before and after now', () => {
  const expected: readonly (readonly [number, string])[] = [
    [0, 'now'],
    [-400, 'now'],
    [-5 * SECOND, '5 seconds ago'],
    [-54 * SECOND, '54 seconds ago'],
    [-4 * MINUTE, '4 minutes ago'],
    [-58 * MINUTE, '1 hour ago'],
    [-3 * HOUR - 20 * MINUTE, '3 hours ago'],
    [-22 * HOUR, 'yesterday'],
    [-DAY - HOUR, 'yesterday'],
    [-3 * DAY, '3 days ago'],
    [-15 * DAY, '2 weeks ago'],
    [-100 * DAY, '3 months ago'],
    [-800 * DAY, '2 years ago'],
    [2 * HOUR, 'in 2 hours'],
  ];
  const found = expected.map(([ms]) => [ms, relativeText(new Date(NOW + ms).toISOString(), NOW)]);
  assert.equal(found, expected);
});

test.run();
