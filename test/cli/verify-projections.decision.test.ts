import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { findingLines, projectionsNamed, verdictOf } from '../../infra/cli/verify-projections.ts';

const same = { position: '1:1', drifted: [] };
const different = { position: '1:1', drifted: [{}, {}] } as never;
const unbuilt = { position: null, drifted: [] };

test('annals verify has another exit code if rows differ, and if projections could not be checked', () => {
  assert.equal(verdictOf([same, same]), { text: 'every row is what the log yields', code: 0 });
  assert.equal(verdictOf([same, different, unbuilt]), { text: '2 rows differ from what the log yields', code: 1 });
  assert.equal(verdictOf([same, unbuilt]).code, 3);
  assert.match(verdictOf([unbuilt, unbuilt]).text, '2 projections were not checked');
});

test('annals verify prints the projections that differ before the others', () => {
  const drifted = [{ table: 'agents', key: { id: 'a' }, columns: ['name'], event: null }] as never;
  const lines = findingLines(
    [
      { projection: 'users', position: '1:1', checked: 2, drifted: [] },
      { projection: 'agents', position: '1:1', checked: 3, drifted },
    ],
    false,
  );
  assert.equal(
    lines.map((line) => line.slice(0, 12)),
    ['FAIL  agents', '      agents', 'ok    users '],
  );
});

test('annals verify takes names of projections, and refuses an unknown one with the list of all', () => {
  assert.equal(
    projectionsNamed(['users', 'agents'])
      .map(({ name }) => name)
      .sort(),
    ['agents', 'users'],
  );
  assert.ok(projectionsNamed([]).length > 20);
  assert.throws(() => projectionsNamed(['user']), /there is no projection user; there are .*\busers\b/);
});

test.run();
