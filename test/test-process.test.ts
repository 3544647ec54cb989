import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { pidsWith } from './fixtures/child-process.ts';
import { test } from './fixtures/test-with-cleanup.ts';
import { startTestProcess } from './test-process.ts';

const mark = `annals-test-mark-${randomUUID()}`;

/** Runs files of test/fixtures/runner-files in one test process, or in more if one ends. Returns their outcomes. */
const outcomesOf = async (...names: string[]) => {
  let running = startTestProcess({ ...process.env, TEST_MARK: mark });
  const outcomes = [];
  for (const name of names) {
    if (!running.isUsable()) running = startTestProcess({ ...process.env, TEST_MARK: mark });
    outcomes.push(await running.run(`test/fixtures/runner-files/${name}.ts`));
  }
  await running.close();
  return outcomes;
};

test('each file of a test process has its own counts, and problems outside of tests count as failures', async () => {
  const outcomes = await outcomesOf('unloadable', 'failing-cleanup', 'empty', 'mixed');
  assert.equal(
    outcomes.map(({ passed, failed, skipped, reason }) => [passed, failed, skipped, reason]),
    [
      [0, 1, 0, 'could not be run, or left something that could not be closed: cannot be loaded'],
      [1, 1, 0, 'could not be run, or left something that could not be closed: cannot be closed'],
      [0, 1, 0, 'ran no test: does it end in test.run()?'],
      [1, 1, 1, undefined],
    ],
  );
  assert.match(outcomes.at(-1)!.output, 'FAIL  "fails"');
});

test('a file that ends the process has failed, and the next files run in a new process', async () => {
  const [exiting, mixed] = await outcomesOf('exiting', 'mixed');
  assert.equal([exiting!.failed, exiting!.reason], [1, 'the process ended during this file (code 3)']);
  assert.is(mixed!.passed, 1);
});

test('a file that exceeds its time limit is stopped, with the processes that it has started in other sessions', async () => {
  const [hanging] = await outcomesOf('hanging');
  assert.is(hanging!.failed, 1);
  assert.match(hanging!.reason!, 'took longer than 1 s');
  assert.equal(pidsWith(mark), []);
});

test('a file that leaves a process running has failed, and the process is ended', async () => {
  const [leaving] = await outcomesOf('leaving');
  assert.equal([leaving!.passed, leaving!.failed], [1, 1]);
  assert.match(leaving!.reason!, /left processes running: .*annals-test-mark/);
  assert.equal(pidsWith(mark), []);
});

test.run();
