import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { excerptsOf } from '../../infra/projector/row-differences.ts';

test('in a difference between rows, short values are shown completely, even if one of the two is missing', () => {
  assert.equal(excerptsOf('one', 'two'), { live: 'one', rebuilt: 'two' });
  assert.equal(excerptsOf(null, 'two'), { live: null, rebuilt: 'two' });
});

test('in a difference between rows, long values are cut to 200 characters around the first place where they differ, so that the excerpts differ, too', () => {
  const { live, rebuilt } = excerptsOf(`${'a'.repeat(5_000)}b${'c'.repeat(500)}`, `${'a'.repeat(5_000)}d`);
  assert.is(live!.length, 200);
  assert.match(live!, /^…a{40}bc+…$/);
  assert.match(rebuilt!, /^…a{40}d$/);
});

test('an excerpt of a value never ends in the middle of a character', () => {
  const { live } = excerptsOf('😀'.repeat(150), null);
  assert.ok(live!.length <= 200 && live!.isWellFormed());
});

test.run();
