import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { busiestOf, isComplete } from '../../api/console/day-times.ts';
import type { JobRuns } from '../../api/console/parts/day-runs.ts';
import type { Occurrence } from '../../api/console/parts/schedule-mark.ts';

const run = (job_id: string, due_at: string, predicted = true): Occurrence => ({
  ...{ occurrence_id: `${job_id} ${due_at}`, job_id, job_name: job_id, job_status: 'active', agent_id: job_id },
  ...{ due_at, predicted, decision: 'fired', reason: null, blackout_id: null, created_at: null, attempts: [], delivery_id: null },
  session_id: null,
});

const jobs = (due: Readonly<Record<string, number>>): readonly JobRuns[] =>
  Object.entries(due).map(([job_id, count]) => ({ job_id, due: count }) as JobRuns);

test('a minute in an hour that clocks show twice can be among the busiest ones twice', () => {
  // Clocks in Berlin go back at 01:00 UTC.
  const times = ['2026-10-25T00:30:00.000Z', '2026-10-25T01:30:00.000Z'];
  const runs = times.flatMap((at) => [run('a', at), run('b', at)]);
  assert.equal(
    busiestOf(runs, 'Europe/Berlin').map(([minute, found]) => `${minute} ${found.length}`),
    ['2026-10-25T02:30 2', '2026-10-25T02:30 2'],
  );
  assert.equal(busiestOf([run('a', times[0]!), run('b', times[1]!)], 'Europe/Berlin'), []);
});

test('the table of a day is incomplete if it lacks runs of the calendar, or if it predicts as many jobs as it can', () => {
  const at = '2026-10-25T00:30:00.000Z';
  const listed = [run('a', at), run('b', at)];
  assert.is(isComplete(listed, jobs({ a: 1, b: 1 })), true);
  assert.is(isComplete(listed, jobs({ a: 1, b: 1, c: 1 })), false);
  assert.is(isComplete(listed, jobs({ a: 2, b: 1 })), false);
  const many = Array.from({ length: 200 }, (_, n) => `job ${n}`);
  assert.is(
    isComplete(
      many.map((id) => run(id, at)),
      [],
    ),
    false,
  );
  assert.is(
    isComplete(
      many.map((id) => run(id, at, false)),
      [],
    ),
    true,
  );
});

test.run();
