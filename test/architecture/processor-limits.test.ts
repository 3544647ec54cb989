import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import { equal, ok } from 'uvu/assert';
import { EXCEPTIONS, USUAL_LIMIT } from '../processor-limits.ts';
import { ringOf } from '../test-files.ts';
import { root } from './source-files.ts';

/** The limits of all exceptions in seconds. It may only be lowered: make another file cheaper before adding one. */
const MAX_SUM = 174;

test('each exception from the usual limit of processor time is a file of the quick ring that needs more', () => {
  const wrong = Object.entries(EXCEPTIONS).filter(
    ([file, { seconds }]) => !existsSync(join(root, file)) || ringOf(file) !== 'quick' || seconds <= USUAL_LIMIT,
  );
  equal(wrong, []);
});

test('the files that may use more processor time than usual may not use more than before', () => {
  const sum = Object.values(EXCEPTIONS).reduce((total, { seconds }) => total + seconds, 0);
  ok(sum <= MAX_SUM, `${sum} s instead of ${MAX_SUM} s`);
});

test.run();
