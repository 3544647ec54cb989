import { sql } from 'kysely';
import type { CursorKey } from '../cursor.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** The maximum number of recorded occurrences that one call returns. */
export const MAX_OCCURRENCES = 1_000;

/**
 * Selects the occurrences of a tenant that were due from `from` (inclusive) to `to` (exclusive). With `agent_ids`, only
 * those of jobs of these agents.
 */
export type SelectedOccurrences = {
  readonly tenant_id: string;
  readonly from: string;
  readonly to: string;
  readonly agent_ids?: readonly string[] | undefined;
  readonly decision?: string | undefined;
};

type After = { readonly after_due_at?: string | undefined; readonly after_id?: string | undefined };

const recorded = defineQuery((db, { tenant_id, from, to, agent_ids, decision, after_due_at, after_id }: SelectedOccurrences & After) =>
  db
    .selectFrom('cron_jobs.runs as run')
    .innerJoin('cron_jobs.jobs as job', (join) => join.onRef('job.tenant_id', '=', 'run.tenant_id').onRef('job.id', '=', 'run.job_id'))
    .where('run.tenant_id', '=', tenant_id)
    .where('run.due_at', '>=', from)
    .where('run.due_at', '<', to)
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('job.agent_id', '=', fn.any(val(agent_ids!)))))
    .$if(decision !== undefined, (query) => query.where('run.decision', '=', decision!))
    .$if(after_due_at !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) => eb(refTuple('run.due_at', 'run.id'), '>', tuple(after_due_at!, after_id!))),
    )
    .orderBy('run.due_at')
    .orderBy('run.id')
    .select(['run.doc', 'run.id', 'run.due_at', 'run.job_id', 'job.agent_id', 'job.name', 'job.status'])
    .limit(({ lit }) => lit(MAX_OCCURRENCES + 1)),
);

/** Returns the recorded occurrences after a cursor, the earliest first, at most MAX_OCCURRENCES + 1. */
export const recordedOccurrences = (reads: Reads, selected: SelectedOccurrences, after: CursorKey | null) =>
  reads.rows(recorded, { ...selected, ...(after && { after_due_at: after[0] as string, after_id: after[1] }) });

type Ahead = Pick<SelectedOccurrences, 'tenant_id' | 'from' | 'to'>;

/** `next_fire_at` is that of each job. */
type AheadOfJobs = Ahead & { readonly job_ids: readonly string[]; readonly next_fire_at: readonly string[] };

const decidedAhead = defineQuery((db, { tenant_id, from, to, job_ids, next_fire_at }: AheadOfJobs) =>
  db
    .selectFrom('cron_jobs.runs as run')
    .innerJoin(
      sql<{ id: string; next_fire_at: string }>`unnest(${job_ids}::text[], ${next_fire_at}::timestamptz[])`.as<'job'>(
        sql`job (id, next_fire_at)`,
      ),
      (join) => join.onRef('job.id', '=', 'run.job_id'),
    )
    .where('run.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('run.job_id', '=', fn.any(val(job_ids))))
    .where('run.due_at', '>=', from)
    .where('run.due_at', '<', to)
    .whereRef('run.due_at', '>=', 'job.next_fire_at')
    .orderBy('run.due_at')
    .select('run.id')
    .limit(({ lit }) => lit(MAX_OCCURRENCES)),
);

type Job = { readonly id: string; readonly next_fire_at: string };

/**
 * Returns the ids of recorded occurrences of these jobs that are not earlier than the given `next_fire_at`, at most
 * MAX_OCCURRENCES. They were decided since the jobs were read; or a user has skipped them in advance, and then the schedule
 * changed, or earlier ones have no decision yet.
 */
export const decidedAheadOf = async (reads: Reads, period: Ahead, jobs: readonly Job[]): Promise<ReadonlySet<string>> => {
  if (jobs.length === 0) return new Set();
  const [job_ids, next_fire_at] = [jobs.map(({ id }) => id), jobs.map((job) => job.next_fire_at)];
  return new Set((await reads.rows(decidedAhead, { ...period, job_ids, next_fire_at })).map(({ id }) => id));
};

const decidedFrom = defineQuery((db, { tenant_id, job_id, from }: { tenant_id: string; job_id: string; from: string }) =>
  db
    .selectFrom('cron_jobs.runs as run')
    .where('run.tenant_id', '=', tenant_id)
    .where('run.job_id', '=', job_id)
    .where('run.due_at', '>=', from)
    .orderBy('run.due_at')
    .select('run.id')
    .limit(({ lit }) => lit(MAX_OCCURRENCES)),
);

/** Returns the ids of the recorded occurrences of a job from a time on, at most MAX_OCCURRENCES. */
export const decidedOf = async (reads: Reads, tenant_id: string, job_id: string, from: string): Promise<ReadonlySet<string>> =>
  new Set((await reads.rows(decidedFrom, { tenant_id, job_id, from })).map(({ id }) => id));
