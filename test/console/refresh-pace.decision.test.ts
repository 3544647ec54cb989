import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createRefreshPace } from '../../api/console/browser/refresh-pace.mjs';

const MAX_LATENESS_MS = 1_000;

/**
 * Simulates a page with a pace: a change every `every` ms, and refreshes that take `duration` ms. A refresh shows the
 * changes up to its start. @returns how late each change was shown, and the times at which refreshes started
 */
const simulate = ({ every, duration, forMs = 20_000 }: { every: number; duration: number; forMs?: number }) => {
  const realNow = Date.now;
  let now = 1_000_000;
  Date.now = () => now;
  try {
    const pace = createRefreshPace();
    const end = now + forMs;
    const starts: number[] = [];
    const lateness: number[] = [];
    let pending: number[] = [];
    for (let nextChange = now + every; now < end; ) {
      const nextRefresh = pending.length > 0 ? now + pace.delay() : Number.POSITIVE_INFINITY;
      now = Math.min(nextChange, nextRefresh);
      if (now === nextChange) {
        pending.push(now);
        nextChange += every;
        continue;
      }
      starts.push(now);
      pace.onRefresh();
      const shown = pending;
      pending = [];
      for (now += duration; nextChange <= now; nextChange += every) pending.push(nextChange);
      pace.onRefreshed();
      lateness.push(...shown.map((at) => now - at));
    }
    return { lateness: Math.max(...lateness), starts };
  } finally {
    Date.now = realNow;
  }
};

for (const every of [5, 100, 450, 700, 900, 1_500, 4_000])
  for (const duration of [5, 40, 90])
    test(`with a change every ${every} ms and refreshes that take ${duration} ms, each change is shown within a second, and the page is fetched at most twice a second`, () => {
      const { lateness, starts } = simulate({ every, duration });
      assert.ok(lateness <= MAX_LATENESS_MS, `${lateness} ms late`);
      const gaps = starts.slice(1).map((at, index) => at - starts[index]!);
      assert.ok(Math.min(...gaps) >= 500, `only ${Math.min(...gaps)} ms between two refreshes`);
    });

test('while changes continue, refreshes that take 300 ms start every three seconds, and even slower ones at least every four seconds', () => {
  const gapsFor = (duration: number) => {
    const { starts } = simulate({ every: 50, duration });
    return starts.slice(2).map((at, index) => at - starts[index + 1]!);
  };
  assert.ok(Math.min(...gapsFor(300)) >= 3_000, String(gapsFor(300)));
  assert.ok(Math.max(...gapsFor(700)) <= 4_000, String(gapsFor(700)));
});

test('the first change after a quiet time is shown at once', () => assert.is(simulate({ every: 3_000, duration: 20 }).lateness, 20));

test('if refreshes take longer than three seconds, the page waits for half of that time between them', () => {
  const { starts } = simulate({ every: 50, duration: 4_000, forMs: 60_000 });
  const gaps = starts.slice(2).map((at, index) => at - starts[index + 1]!);
  assert.ok(Math.min(...gaps) >= 6_000, String(gaps));
});

test('when the reader presses a button, the next refresh takes place as early as it may', () => {
  const pace = createRefreshPace();
  pace.onRefresh();
  pace.hurry();
  assert.ok(pace.delay() <= 500);
});

test.run();
