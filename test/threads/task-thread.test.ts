import * as assert from 'uvu/assert';
import { createTaskThread, type TaskError, type TaskThreadOptions } from '../../infra/threads/task-thread.ts';
import type { TestTask } from '../fixtures/task-worker.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

const LIMITS = { timeLimitMs: 60_000, maxMemoryBytes: 64 * 1024 * 1024 };

const openThread = (options: Partial<TaskThreadOptions> = {}) => {
  const script = new URL('../fixtures/task-worker.ts', import.meta.url);
  const { run, close } = createTaskThread<TestTask, string>({ script, ...LIMITS, ...options });
  afterTest(async () => close());
  /** Returns the output of a task, or the kind of its error. */
  return (owner: string, task: TestTask): Promise<string> => run(owner, task).catch(({ kind }: TaskError) => kind);
};
const echo = (value: string): TestTask => ({ kind: 'echo', value });

test('owners take turns: a task of one owner waits for at most one task of another owner, however many wait', async () => {
  const run = openThread();
  const done: string[] = [];
  const note = (value: string): void => void done.push(value);
  const busy = Array.from({ length: 20 }, (_, at) => run('busy', echo(`busy ${at}`)).then(note));
  await Promise.all([...busy, run('calm', echo('calm 0')).then(note), run('calm', echo('calm 1')).then(note)]);
  assert.equal(done.slice(0, 4), ['busy 0', 'calm 0', 'busy 1', 'calm 1']);
});

test('an owner with too many waiting tasks gets an error at once, and other owners do not', async () => {
  const run = openThread({ maxWaiting: 3 });
  const all = Array.from({ length: 5 }, (_, at) => run('busy', echo(`${at}`)));
  const other = run('calm', echo('calm'));
  assert.equal(await Promise.all([...all, other]), ['0', '1', '2', 'busy', 'busy', 'calm']);
});

test('if a thread cannot start, each task gets an error, also without limits of waiting', async () => {
  const script = new URL('../fixtures/missing-worker.ts', import.meta.url);
  const run = openThread({ script, maxWaitMs: Number.POSITIVE_INFINITY });
  assert.equal(await Promise.all([run('a', echo('1')), run('b', echo('2'))]), ['ended', 'ended']);
  assert.is(await run('a', echo('3')), 'ended');
});

test('a task that exceeds a limit ends with the kind of the limit, and the next task gets a new thread', async () => {
  const cases: readonly (readonly [Partial<TaskThreadOptions>, TestTask, string])[] = [
    [{ cpuLimitMs: 100 }, { kind: 'loop' }, 'time'],
    [{ timeLimitMs: 500 }, { kind: 'loop' }, 'time'],
    [{}, { kind: 'buffers', megabytes: 1_000 }, 'memory'],
    [{}, { kind: 'objects', megabytes: 1_000 }, 'memory'],
    [{}, { kind: 'throw' }, 'failed'],
    [{}, { kind: 'exit' }, 'ended'],
  ];
  for (const [limits, task, kind] of cases) {
    const run = openThread(limits);
    const results = await Promise.all([run('a', task), run('a', { ...echo('after'), waitMs: 10 } as TestTask)]);
    assert.equal(results, [kind, 'after'], JSON.stringify([limits, task]));
  }
});

test('a task that only waits does not use up its processor time', async () => {
  const run = openThread({ cpuLimitMs: 400 });
  assert.is(await run('a', { kind: 'echo', value: 'slept', waitMs: 600 }), 'slept');
});

test('tasks that run at the same time as a task that exceeds the time limit end with another error than that task', async () => {
  const run = openThread({ timeLimitMs: 1_000, maxRunning: 2 });
  await run('a', echo('started'));
  assert.equal(await Promise.all([run('a', { kind: 'loop' }), run('b', { kind: 'echo', value: 'b', waitMs: 50 })]), ['time', 'ended']);
});

test.run();
