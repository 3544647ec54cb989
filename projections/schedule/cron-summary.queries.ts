import { sql } from 'kysely';
import type { CursorKey } from '../cursor.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';
import type { SelectedOccurrences } from './cron-occurrence.queries.ts';

/** The maximum number of jobs that one call of `jobsWithOccurrences` returns. */
export const MAX_SUMMARY_JOBS = 50;

/** With `only_recorded`, jobs that only have occurrences without a decision are left out. */
type SelectedJobs = SelectedOccurrences & { readonly job_id?: string | undefined; readonly only_recorded?: true | undefined };
type After = { readonly after_name?: string | undefined; readonly after_id?: string | undefined };

const jobs = defineQuery(
  (db, { tenant_id, from, to, agent_ids, job_id, decision, only_recorded, after_name, after_id }: SelectedJobs & After) =>
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
          ...(only_recorded ? [] : [and([eb('job.status', '=', 'active'), eb('job.next_fire_at', '<', to)])]),
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

/** The maximum number of recorded occurrences that one call of `recordedCounts` counts. */
export const MAX_COUNTED = 500_000;

/** The maximum number of due times that `recordedCounts` returns for a day and a decision. */
const MAX_FIRST = 3;

type CountedJobs = Pick<SelectedOccurrences, 'tenant_id' | 'from' | 'to' | 'decision'> & {
  readonly job_ids: readonly string[];
  /** The starts of the days. */
  readonly days: readonly string[];
};

const counts = defineQuery((db, { tenant_id, job_ids, from, to, decision, days }: CountedJobs) =>
  db
    .selectFrom(({ selectFrom }) =>
      selectFrom('cron_jobs.runs as one')
        .where('one.tenant_id', '=', tenant_id)
        .where(({ eb, fn, val }) => eb('one.job_id', '=', fn.any(val(job_ids))))
        .where('one.due_at', '>=', from)
        .where('one.due_at', '<', to)
        .$if(decision !== undefined, (query) => query.where('one.decision', '=', decision!))
        .select(['one.job_id', 'one.decision', 'one.reason', 'one.due_at'])
        .limit(({ lit }) => lit(MAX_COUNTED + 1))
        .as('run'),
    )
    .select(({ fn, cast }) => [
      'run.job_id',
      'run.decision',
      'run.reason',
      sql<number>`width_bucket(run.due_at, ${days}::timestamptz[]) - 1`.as('day'),
      cast<number>(fn.countAll(), 'integer').as('runs'),
      sql<number[]>`(array_agg(extract(epoch from run.due_at)::float8 * 1000 order by run.due_at))[1:${sql.lit(MAX_FIRST)}]`.as('first'),
    ])
    .groupBy(['run.job_id', 'run.decision', 'run.reason', 'day']),
);

/**
 * Counts the recorded occurrences of some jobs in a period by job, day (its index in `days`), decision and reason, with the
 * due times of the first ones in milliseconds since 1970. Null if there are more than MAX_COUNTED.
 */
export const recordedCounts = async (reads: Reads, selected: CountedJobs) => {
  const rows = await reads.rows(counts, selected);
  return rows.reduce((sum, { runs }) => sum + runs, 0) > MAX_COUNTED ? null : rows;
};
