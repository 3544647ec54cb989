import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { progressLine, startProgress } from '../../infra/cli/projections/verify-progress.ts';
import { findingLines, projectionsNamed, verdictOf } from '../../infra/cli/projections/verify-projections.ts';

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
  assert.throws(
    () => projectionsNamed(['user']),
    ({ name, message }: Error) => name === 'CLIError' && /there is no projection user; there are .*\busers\b/.test(message),
  );
});

test('the progress line of annals verify says how long the rest of the pass will take', () => {
  const progress = { pass: 1, events: 3_000, share: 0.25, elapsedMs: 5_000 };
  assert.is(progressLine(progress), 'reading the log: 25 %, 3000 events, about 15 s left');
  assert.is(progressLine({ ...progress, pass: 2, share: 1 }), 'reading the log, pass 2: 100 %, 3000 events, about 0 s left');
  assert.is(progressLine({ ...progress, share: 0 }), 'reading the log: 0 %, 3000 events');
});

/** Returns what is written to standard error if a check reports its progress at these times, in milliseconds. */
const writtenAt = (times: readonly number[], isTTY: boolean): string => {
  const { write, isTTY: before } = process.stderr;
  let now = 0;
  let written = '';
  const keep = (chunk: string): boolean => {
    written += chunk;
    return true;
  };
  Object.assign(process.stderr, { isTTY, write: keep });
  try {
    const { show, end } = startProgress(() => now);
    for (now of times) show({ pass: 1, events: now, share: 0, elapsedMs: 0 });
    end();
    return written;
  } finally {
    Object.assign(process.stderr, { isTTY: before, write });
  }
};

test('annals verify shows its progress on standard error after 2 s and every 2 s, on a terminal in one line', () => {
  assert.is(writtenAt([500, 1_999], false), '');
  assert.is(writtenAt([500, 2_000, 3_000, 4_500], false), 'reading the log: 0 %, 2000 events\nreading the log: 0 %, 4500 events\n');
  assert.is(writtenAt([2_000], true), '\r\x1b[Kreading the log: 0 %, 2000 events\r\x1b[K');
});

test.run();
