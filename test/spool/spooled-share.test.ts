import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSpooledShare } from '../../infra/spool/spooled-share.ts';

test('the share of spooled deliveries counts those of the last five minutes', () => {
  let now = 0;
  const { add, share } = createSpooledShare(() => now);
  assert.is(share(), 0);
  for (const isSpooled of [true, true, true, false]) add(isSpooled);
  assert.is(share(), 0.75);
  now = 4 * 60_000;
  for (let index = 0; index < 4; index++) add(false);
  assert.is(share(), 3 / 8);
  now = 5 * 60_000;
  assert.is(share(), 0);
});

test.run();
