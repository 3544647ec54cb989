import { sql } from 'kysely';
import { MAX_LISTED } from '../../domain/schedule/impact.ts';
import type { CursorKey } from '../cursor.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';
import type { SelectedOccurrences } from './cron-occurrence.queries.ts';

/** The maximum number of jobs that one call of `jobsWithOccurrences` returns. */
export const MAX_SUMMARY_JOBS = 50;

/** Active jobs that are due before `planned_before` are found even if they have no recorded occurrence. */
type SelectedJobs = SelectedOccurrences & { readonly job_id?: string | undefined; readonly planned_before: string | undefined };
type After = { readonly after_name?: string | undefined; readonly after_id?: string | undefined };

const jobs = defineQuery(
  (db, { tenant_id, from, to, agent_ids, job_id, decision, planned_before, after_name, after_id }: SelectedJobs & After) =>
    db
      .selectFrom('cron_jobs.jobs as job')
      .where('job.tenant_id', '=', tenant_id)
      .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('job.agent_id', '=', fn.any(val(agent_ids!)))))
      .$if(job_id !== undefined, (query) => query.where('job.id', '=', job_id!))
      .$if(after_name !== undefined, (query) =>
        query.where(({ eb, refTuple, tuple }) => eb(refTuple('job.name', 'job.id'), '>', tuple(after_name!, after_id!))),
      )
      .where(({ eb, or, and, exists, selectFrom }) =>
        or([
          ...(planned_before === undefined ? [] : [and([eb('job.status', '=', 'active'), eb('job.next_fire_at', '<', planned_before)])]),
          exists(
            selectFrom('cron_jobs.runs as run')
              .whereRef('run.tenant_id', '=', 'job.tenant_id')
              .whereRef('run.job_id', '=', 'job.id')
              .where('run.due_at', '>=', from)
              .where('run.due_at', '<', to)
              .$if(decision !== undefined, (query) => query.where('run.decision', '=', decision!))
              .select('run.id'),
          ),
        ]),
      )
      .orderBy('job.name')
      .orderBy('job.id')
      .select(['job.id', 'job.agent_id', 'job.name', 'job.status', 'job.next_fire_at', 'job.schedule_revision'])
      .limit(({ lit }) => lit(MAX_SUMMARY_JOBS)),
);

/**
 * Returns the jobs that have occurrences in a period, or may have some there: also deleted ones. They are in the order of
 * their names, and follow the cursor; at most MAX_SUMMARY_JOBS.
 */
export const jobsWithOccurrences = (reads: Reads, selected: SelectedJobs, after: CursorKey | null) =>
  reads.rows(jobs, { ...selected, ...(after && { after_name: after[0] as string, after_id: after[1] }) });

/** The maximum number of recorded occurrences that are counted at once. */
export const MAX_COUNTED = 500_000;

type Counted = Pick<SelectedOccurrences, 'tenant_id' | 'from' | 'to'> & {
  /** The starts of the days. */
  readonly days: readonly string[];
};

/** `next_fire_at` is that of each job, or `infinity`. */
type Args = Counted & {
  readonly job_ids: readonly string[];
  readonly next_fire_at: readonly string[];
  readonly max_recorded: number;
  readonly max_ahead: number;
};

/** The condition that an occurrence was decided ahead of the next one of its job. */
const IS_AHEAD = sql`run.due_at >= job.next_fire_at`;

const counts = defineQuery((db, { tenant_id, job_ids, next_fire_at, from, to, days, max_recorded, max_ahead }: Args) =>
  db
    .selectFrom(({ selectFrom }) =>
      selectFrom('cron_jobs.runs as one')
        .where('one.tenant_id', '=', tenant_id)
        .where(({ eb, fn, val }) => eb('one.job_id', '=', fn.any(val(job_ids))))
        .where('one.due_at', '>=', from)
        .where('one.due_at', '<', to)
        .select(['one.id', 'one.job_id', 'one.decision', 'one.reason', 'one.due_at'])
        .limit(max_recorded)
        .as('run'),
    )
    .innerJoin(
      sql<{ id: string; next_fire_at: string }>`unnest(${job_ids}::text[], ${next_fire_at}::timestamptz[])`.as<'job'>(
        sql`job (id, next_fire_at)`,
      ),
      (join) => join.onRef('job.id', '=', 'run.job_id'),
    )
    .select(({ fn, cast }) => [
      'run.job_id',
      'run.decision',
      'run.reason',
      sql<number>`width_bucket(run.due_at, ${days}::timestamptz[]) - 1`.as('day'),
      cast<number>(fn.countAll(), 'integer').as('runs'),
      sql<number[]>`(array_agg(extract(epoch from run.due_at)::float8 * 1000 order by run.due_at))[1:${sql.lit(MAX_LISTED)}]`.as('first'),
      sql<
        number[] | null
      >`(array_agg(extract(epoch from run.due_at)::float8 * 1000 order by run.due_at, run.id) filter (where ${IS_AHEAD}))[1:${max_ahead}::integer]`.as(
        'ahead',
      ),
      sql<string[] | null>`(array_agg(run.id order by run.due_at, run.id) filter (where ${IS_AHEAD}))[1:${max_ahead}::integer]`.as(
        'ahead_ids',
      ),
    ])
    .groupBy(['run.job_id', 'run.decision', 'run.reason', 'day']),
);

/**
 * The jobs whose occurrences are counted, with their next undecided occurrence if it is needed; and the maximum numbers of
 * recorded occurrences, and of those of each job that were decided ahead.
 */
type CountOptions = {
  readonly jobs: readonly { readonly id: string; readonly next_fire_at: string | null }[];
  readonly recorded: number;
  readonly ahead: number;
};

/**
 * Counts the recorded occurrences of some jobs in a period by job, day (its index in `days`), decision and reason, with the
 * due times of the first ones in milliseconds since 1970. `ahead` has the due times that are not earlier than
 * `next_fire_at`, and `ahead_ids` their ids: a user has skipped them in advance, and then the schedule changed, or earlier
 * occurrences have no decision yet. At most one more than the maximum. Not complete if there are more than the maximum.
 */
export const recordedCounts = async (reads: Reads, selected: Counted, { jobs, recorded, ahead }: CountOptions) => {
  const rows = await reads.rows(counts, {
    ...selected,
    job_ids: jobs.map(({ id }) => id),
    next_fire_at: jobs.map(({ next_fire_at }) => next_fire_at ?? 'infinity'),
    max_recorded: recorded + 1,
    max_ahead: ahead + 1,
  });
  return { rows, isComplete: rows.reduce((sum, { runs }) => sum + runs, 0) <= recorded };
};
