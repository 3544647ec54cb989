import { createAgentChecks, memoized } from '../../commands/schedule/agent-checks.ts';
import { decideDue, SCHEDULER } from '../../commands/schedule/scheduler.reactor.ts';
import type { Reads } from '../../projections/read-model.ts';
import { blackoutsOf } from '../../projections/schedule/blackout.queries.ts';
import { jobsDueAt, jobsWithOpenRun, MAX_DUE_JOBS } from '../../projections/schedule/cron-job.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import { parseCron } from '../cron-expression.ts';
import type { Log } from '../eventstore/event-log.ts';
import { createLruMap } from '../lru-map.ts';
import { forEachConcurrently } from '../reactors/for-each-concurrently.ts';
import { type Runs, type TimerServices, timedRuns } from '../reactors/timed.ts';

const SEED = 'decided';
const MAX_REMEMBERED = 20_000;

/** The number of jobs for which one query finds the open runs. */
const BATCH = 500;

/** `at` is the time of the tick (RFC 3339 UTC). */
export const openTick = (log: Log, reads: Pick<Reads, 'rows'>, at: string) => {
  const ctx = reactorContext(log, { actor: SCHEDULER, at, seed: SEED });
  const blackouts = memoized((tenant_id) => blackoutsOf(reads, tenant_id));
  return { ctx, scheduling: { parseCron, agents: createAgentChecks(ctx), blackouts } };
};

/** `plan` is that in the read model at the decision; `next` is the job's next due time. */
type Decided = { readonly plan: string; readonly next: string | null };
type Plan = { readonly next_fire_at: string | null; readonly schedule_revision: number | null };
type PlannedJob = Plan & { readonly id: string };

const planOf = ({ next_fire_at, schedule_revision }: Plan): string => `${schedule_revision} ${next_fire_at}`;

const openDecisions = ({ log }: TimerServices): Runs => {
  // The read model may lack these decisions. A job is examined again when its next occurrence is due, even if the read model is unchanged:
  // for an occurrence skipped before it was due, no event is appended.
  const decided = createLruMap<string, Decided>({ capacity: MAX_REMEMBERED });
  const isDecided = ({ id, next_fire_at, schedule_revision }: PlannedJob, at: string): boolean => {
    const last = decided.get(id);
    if (last?.plan !== planOf({ next_fire_at, schedule_revision })) return false;
    return last.next === null || at < last.next;
  };
  return {
    run: async (reads, at) => {
      const due = await jobsDueAt(reads, at);
      const { ctx, scheduling } = openTick(log, reads, at);
      const undecided = due.filter((job) => !isDecided(job, at));
      for (let start = 0; start < undecided.length; start += BATCH) {
        const jobs = undecided.slice(start, start + BATCH);
        const ids = jobs.map(({ id }) => id);
        const withOpenRun = await jobsWithOpenRun(reads, ids);
        const ofBatch = { ...scheduling, hasOpenRun: (id: string) => withOpenRun.has(id) };
        await forEachConcurrently(jobs, async ({ tenant_id, id, next_fire_at, schedule_revision }) => {
          const job = { tenant_id, id, next_fire_at: next_fire_at!, schedule_revision: schedule_revision! };
          const next = await decideDue(ctx, ofBatch, job);
          if (next !== undefined) decided.set(id, { plan: planOf(job), next });
        });
      }
      return due.length === MAX_DUE_JOBS;
    },
  };
};

/** Decides whether due cron jobs fire. If none is due, this costs one index look-up. */
export const scheduler = timedRuns({
  lock: 'reactor scheduler',
  everyMs: 1_000,
  failure: 'cron jobs cannot be decided now; trying again',
  open: openDecisions,
});
