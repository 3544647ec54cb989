import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { trackLogGrowth } from '../../infra/readmodel/log-growth.ts';

const at = (place: number) => ({ commit: BigInt(place), prepare: BigInt(place) });

test('the log has grown beyond a position since the time of the first event after it; without one, the time is null', () => {
  const growth = trackLogGrowth();
  assert.is(growth.grownBeyond(null), null);
  growth.note(at(10), 1_000);
  growth.note(at(20), 5_000);
  growth.note(at(15), 9_000);
  assert.equal(
    [null, at(9), at(10), at(19), at(20)].map((position) => growth.grownBeyond(position)),
    [1_000, 1_000, 5_000, 5_000, null],
  );
  growth.clear();
  assert.is(growth.grownBeyond(null), null);
});

test('if many events follow a position, the time since when the log has grown beyond it is at most 250 ms too early, or too late by a sixteenth of its age', () => {
  const growth = trackLogGrowth();
  const count = 100_000;
  for (let n = 1; n <= count; n++) growth.note(at(n), n * 100);
  for (const n of [count - 1, count - 50, count >> 1, count >> 4, 1, 0]) {
    const late = growth.grownBeyond(at(n))! - (n + 1) * 100;
    assert.ok(late >= -250 && late <= ((count - n) * 100) / 16 + 250, `${n}: ${late} ms`);
  }
});

test.run();
