import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { rebuildReply } from '../../infra/projector/admin-replies.ts';
import type { RebuildRequest } from '../../infra/projector/rebuild-requests.ts';
import type { PublishedStatus, RebuildProgress } from '../../infra/projector/status.ts';
import { projections } from '../../projections/registry.ts';

const running = { id: 1, done_at: null, outcome: null, decided_by: null, asked_by: null, reason: null } as unknown as RebuildRequest;

const progressOf = (rebuild: Partial<RebuildProgress>) => {
  const status = { rebuild: { done: 0, events: 0, lag_events: 0, rate: 0, seconds_left: null, ...rebuild } } as PublishedStatus;
  const { events, total } = rebuildReply(running, projections[0]!, status);
  return { events, total };
};

test('the total of a running rebuild follows from the fraction that is done, so the progress does not decrease when the estimated lag grows', () => {
  const [early, late] = [
    progressOf({ done: 0.5, events: 500, lag_events: 400 }),
    progressOf({ done: 0.6, events: 600, lag_events: 2_000 }),
  ];
  assert.equal(
    [early, late],
    [
      { events: 500, total: 1_000 },
      { events: 600, total: 1_000 },
    ],
  );
});

test('the total of a rebuild is at least the number of processed events; before the first event, it is the estimated lag', () => {
  assert.equal(progressOf({ done: 1, events: 700, lag_events: 0 }), { events: 700, total: 700 });
  assert.equal(progressOf({ done: 0, events: 0, lag_events: 90 }), { events: 0, total: 90 });
});

test.run();
