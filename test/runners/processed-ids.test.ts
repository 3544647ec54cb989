import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openProcessedIds } from '../../infra/runner/processed-ids.ts';
import { eventIdOf } from '../fixtures/generated-log.ts';

const inDirectory = (body: (file: string) => void) => () => {
  const dir = mkdtempSync(join(tmpdir(), 'annals-processed-ids-'));
  try {
    body(join(dir, 'deep', 'processed-ids'));
  } finally {
    rmSync(dir, { recursive: true });
  }
};

test(
  'event ids that were added to the file of processed ids are found after the file is closed and opened again',
  inDirectory((file) => {
    openProcessedIds(file).add(eventIdOf(0));
    const reopened = openProcessedIds(file);
    assert.equal([reopened.has(eventIdOf(0)), reopened.has(eventIdOf(1))], [true, false]);
    assert.is(statSync(file).mode & 0o777, 0o600);
  }),
);

test(
  'two runners that share a file of processed ids both see all ids in it, even after one of them has rewritten the file',
  inDirectory((file) => {
    const [one, other] = [openProcessedIds(file, 5), openProcessedIds(file, 5)];
    for (let index = 0; index < 40; index++) {
      (index % 2 ? one : other).add(eventIdOf(index));
      assert.ok(one.has(eventIdOf(index)) && other.has(eventIdOf(index)));
    }
  }),
);

test(
  'if a runner rewrites the file of processed ids just after another runner added ids, the new file contains those ids, and a third runner finds them',
  inDirectory((file) => {
    const [one, other, third] = [openProcessedIds(file, 5), openProcessedIds(file, 5), openProcessedIds(file, 5)];
    for (let index = 0; index < 10; index++) one.add(eventIdOf(index));
    assert.ok(third.has(eventIdOf(9)));
    other.add(eventIdOf(10));
    one.add(eventIdOf(11));
    assert.ok(readFileSync(file, 'latin1').split('\n').length <= 8, 'the file was rewritten');
    for (let index = 12; index < 16; index++) one.add(eventIdOf(index));
    for (const processed of [third, openProcessedIds(file, 5)])
      assert.equal(
        [10, 11, 15].map((index) => processed.has(eventIdOf(index))),
        [true, true, true],
      );
  }),
);

test(
  'in the file of processed ids, a line that a crash cut off is ignored, and the line after it is read',
  inDirectory((file) => {
    openProcessedIds(file).add(eventIdOf(0));
    appendFileSync(file, eventIdOf(1).slice(0, 20));
    openProcessedIds(file).add(eventIdOf(2));
    const reopened = openProcessedIds(file);
    assert.equal(
      [0, 1, 2].map((index) => reopened.has(eventIdOf(index))),
      [true, false, true],
    );
  }),
);

test(
  'the file of processed ids keeps at least the given number of the latest ids, and at most twice that number',
  inDirectory((file) => {
    const processed = openProcessedIds(file, 10);
    for (let index = 0; index < 95; index++) processed.add(eventIdOf(index));
    assert.ok(readFileSync(file, 'latin1').split('\n').length <= 21);
    const reopened = openProcessedIds(file, 10);
    assert.ok(Array.from({ length: 10 }, (_, index) => reopened.has(eventIdOf(94 - index))).every(Boolean));
    assert.not(reopened.has(eventIdOf(0)));
  }),
);

test(
  'lines of the file of processed ids that are not event ids are ignored',
  inDirectory((file) => {
    openProcessedIds(file);
    writeFileSync(file, `garbage\n\n${eventIdOf(3)}\n`);
    assert.ok(openProcessedIds(file).has(eventIdOf(3)));
  }),
);

test.run();
