import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { verdictOf } from '../../infra/cli/verify-projections.ts';

const same = { position: '1:1', drifted: [] };
const different = { position: '1:1', drifted: [{}, {}] } as never;
const unbuilt = { position: null, drifted: [] };

test('annals verify has another exit code if rows differ, and if projections could not be checked', () => {
  assert.equal(verdictOf([same, same]), { text: 'every row is what the log yields', code: 0 });
  assert.equal(verdictOf([same, different, unbuilt]), { text: '2 rows differ from what the log yields', code: 1 });
  assert.equal(verdictOf([same, unbuilt]).code, 3);
  assert.match(verdictOf([unbuilt, unbuilt]).text, '2 projections were not checked');
});

test.run();
