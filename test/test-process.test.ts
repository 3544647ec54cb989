import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { pidsWith } from './fixtures/child-process.ts';
import { test } from './fixtures/test-with-cleanup.ts';
import { startTestProcess } from './test-process.ts';

const mark = `annals-test-mark-${randomUUID()}`;

/**
 * Runs files of test/fixtures/runner-files in one test process, and in a new one after each file that has ended it. Returns
 * their outcomes.
 */
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

test('a file that leaves a process, exceeds its time or ends the process fails; the next one gets a new process', async () => {
  const [leaving, hanging, exiting, mixed] = await outcomesOf('leaving', 'hanging', 'exiting', 'mixed');
  assert.equal([leaving!.passed, leaving!.failed], [1, 1]);
  assert.match(leaving!.reason!, /left processes running: .*annals-test-mark/);
  assert.is(hanging!.failed, 1);
  assert.match(hanging!.reason!, 'took longer than 1 s');
  assert.equal([exiting!.failed, exiting!.reason], [1, 'the process ended during this file (code 3)']);
  assert.is(mixed!.passed, 1);
  assert.equal(pidsWith(mark), [], 'the processes that the files have started in other sessions are ended');
});

test.run();
