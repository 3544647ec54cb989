import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { budgetBar } from '../../api/console/parts/budget-bar.ts';
import { htmlOf } from '../../api/console/parts/tags.ts';

type Hour = Parameters<typeof budgetBar>[0];

const hourWith = (limit_usd: number | null, settled_usd: number): Hour => ({
  hour: '2026-11-28T07:00:00.000Z',
  limit_usd,
  open_usd: 0,
  settled_usd,
  sessions_usd: 0,
  left_usd: limit_usd === null ? null : Math.max(0, limit_usd - settled_usd),
  refused: 0,
  refused_sessions: 0,
  reserved_usd: settled_usd,
  refused_reservation_id: null,
  refused_event_id: null,
});

const CASES: readonly (readonly [limit: number | null, used: number, state: string, text: string])[] = [
  [null, 3, 'none', '$3.00 this hour, no limit'],
  [10, 2.5, 'ok', '$2.50 of $10.00 this hour'],
  [10, 9, 'near', '$9.00 of $10.00 this hour'],
  [10, 10, 'stopped', '$10.00 of $10.00 this hour'],
  [10, 12.5, 'stopped', '$12.50 of $10.00 this hour'],
  [0, 0, 'stopped', '$0.00 of $0.00 this hour'],
];

test('the bar of a budget names its limit, also if more was used than the limit allows', () => {
  for (const [limit, used, state, text] of CASES) {
    const html = htmlOf(budgetBar(hourWith(limit, used)), '');
    assert.ok(html.includes(`data-budget="${state}"`), html);
    assert.ok(html.includes(`>${text}`), html);
  }
});

test.run();
