import type { z } from 'zod';
import { type Position, sortKey } from '../../domain/event.ts';
import { defineList, defineQuery } from '../query.ts';
import { type Doc, type Page, type PageWindow, type Reads, type Source, tenantCount } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { CronDecision, CronJobRead, cronJobCounter, cronJobs, runTable, table } from './cron-job.ts';

const from: Source<typeof table> = { projection: cronJobs.name, table };

export const CRON_JOB_SORTS = sortFields(table, CronJobRead);
export const CRON_RUN_SORTS = sortFields(runTable, CronDecision);

type AgentRef = { readonly tenant_id: string; readonly agent_id: string };
type JobRef = { readonly tenant_id: string; readonly job_id: string };

export const cronJobById = (reads: Reads, tenant_id: string, id: string): Promise<Doc | null> => reads.one(from, { tenant_id, id });

const jobList = defineList({ table }, (db, { tenant_id, agent_id }: AgentRef) =>
  db.selectFrom('cron_jobs.jobs as job').where('job.tenant_id', '=', tenant_id).where('job.agent_id', '=', agent_id),
);

export const cronJobPage = (reads: Reads, agent: AgentRef, window: PageWindow): Promise<Page> => reads.page(jobList, agent, window);

export const cronJobCount = (reads: Reads, tenant_id: string): Promise<number> =>
  tenantCount(reads, cronJobs.name, cronJobCounter.table, tenant_id);

const runList = defineList({ table: runTable }, (db, { tenant_id, job_id }: JobRef) =>
  db.selectFrom('cron_jobs.runs as run').where('run.tenant_id', '=', tenant_id).where('run.job_id', '=', job_id),
);

/** Returns a page of the decisions about the occurrences of a job, as CronDecision. */
export const cronRunPage = (reads: Reads, job: JobRef, window: PageWindow): Promise<Page> => reads.page(runList, job, window);

/** The row of a job. `schedule_revision` is the revision of the event that set its schedule. */
export type JobRow = z.output<typeof CronJobRead> & { readonly schedule_revision: number };

const jobRow = defineQuery((db, { tenant_id, job_id }: JobRef) =>
  db
    .selectFrom('cron_jobs.jobs as job')
    .where('job.tenant_id', '=', tenant_id)
    .where('job.id', '=', job_id)
    .select(['job.doc', 'job.schedule_revision']),
);

/** Returns a job with the revision of the event that set its schedule; null if it does not exist. */
export const cronJobRow = async (reads: Reads, tenant_id: string, job_id: string): Promise<JobRow | null> => {
  const [found] = await reads.rows(jobRow, { tenant_id, job_id });
  return found ? { ...(JSON.parse(found.doc) as z.output<typeof CronJobRead>), schedule_revision: found.schedule_revision! } : null;
};

const decisionsUntil = defineQuery((db, { tenant_id, job_id, until }: JobRef & { until: string }) =>
  db
    .selectFrom('cron_jobs.runs as run')
    .where('run.tenant_id', '=', tenant_id)
    .where('run.job_id', '=', job_id)
    .where('run.decided', '<=', until)
    .orderBy('run.decided', 'desc')
    .select(['run.decision', 'run.created_at', 'run.next_fire_at', 'run.schedule_revision'])
    .limit(({ lit }) => lit(1)),
);

/** Returns the last decision about an occurrence of a job up to a log position; undefined if there is none. */
export const lastDecisionUntil = async (reads: Reads, job: JobRef, at: Position) =>
  (await reads.rows(decisionsUntil, { ...job, until: sortKey(at) }))[0];

/** The maximum number of jobs in a preview of a blackout, and the maximum number of due times of each job. */
export const MAX_PREVIEWED_JOBS = 200;

type ActiveJobs = {
  readonly tenant_id: string;
  readonly agent_ids?: readonly string[] | undefined;
  readonly due_before?: string | undefined;
};

const activeJobs = defineQuery((db, { tenant_id, agent_ids, due_before }: ActiveJobs) =>
  db
    .selectFrom('cron_jobs.jobs as job')
    .where('job.tenant_id', '=', tenant_id)
    .where('job.status', '=', 'active')
    .where('job.deleted', 'is not', true)
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('job.agent_id', '=', fn.any(val(agent_ids!)))))
    .$if(due_before !== undefined, (query) => query.where('job.next_fire_at', '<', due_before!))
    .orderBy('job.created_at', 'desc')
    .orderBy('job.id', 'desc')
    .select(['job.id', 'job.agent_id', 'job.name', 'job.next_fire_at', 'job.schedule_revision'])
    .limit(({ lit }) => lit(MAX_PREVIEWED_JOBS)),
);

/**
 * Returns the newest active jobs of the tenant, or of some of its agents; at most MAX_PREVIEWED_JOBS. With `due_before`,
 * only those that are due next before this time.
 */
export const activeJobsOf = (reads: Reads, tenant_id: string, agent_ids?: readonly string[], due_before?: string) =>
  reads.rows(activeJobs, { tenant_id, agent_ids, due_before });

/** The maximum number of jobs or runs that a query for due ones returns. */
export const MAX_DUE_JOBS = 10_000;
export const MAX_DUE_RUNS = 500;
export const MAX_DUE_CALLS = 5_000;

const dueJobs = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('cron_jobs.jobs as job')
    .where('job.next_fire_at', '<=', at)
    .orderBy('job.next_fire_at')
    .select(['job.tenant_id', 'job.id', 'job.next_fire_at', 'job.schedule_revision'])
    .limit(({ lit }) => lit(MAX_DUE_JOBS)),
);

/** Returns the jobs that are due at the time `at`, in all tenants. Those that have been due for longest come first. */
export const jobsDueAt = (reads: Pick<Reads, 'rows'>, at: string) => reads.rows(dueJobs, { at });

const dueMessages = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('cron_jobs.runs as run')
    .where('run.target_kind', '=', 'internal_agent')
    .where('run.next_attempt_at', '<=', at)
    .orderBy('run.next_attempt_at')
    .select(['run.tenant_id', 'run.id', 'run.job_id'])
    .limit(({ lit }) => lit(MAX_DUE_RUNS)),
);

/**
 * Returns the runs that must send a message to an agent at the time `at`, in all tenants. Those that have been due for
 * longest come first.
 */
export const messagesDueAt = (reads: Pick<Reads, 'rows'>, at: string) => reads.rows(dueMessages, { at });

const dueCalls = defineQuery((db, { at, except }: { at: string; except: readonly string[] | undefined }) =>
  db
    .selectFrom('cron_jobs.runs as run')
    .innerJoin('cron_jobs.jobs as job', (join) => join.onRef('job.tenant_id', '=', 'run.tenant_id').onRef('job.id', '=', 'run.job_id'))
    .where('run.target_kind', '=', 'external_url')
    .where('run.next_attempt_at', '<=', at)
    .$if(except !== undefined, (query) => query.where(({ eb, fn, val, not }) => not(eb('run.tenant_id', '=', fn.any(val(except!))))))
    .orderBy('run.next_attempt_at')
    .select(['run.tenant_id', 'run.id', 'run.job_id', 'job.target'])
    .limit(({ lit }) => lit(MAX_DUE_CALLS)),
);

/**
 * Returns the runs whose external targets must be called at the time `at`, with the URLs of the targets, beginning with
 * those that have been due for longest. Runs of the tenants in `except` are left out.
 */
export const callsDueAt = (reads: Pick<Reads, 'rows'>, at: string, except: readonly string[]) =>
  reads.rows(dueCalls, { at, except: except.length > 0 ? except : undefined });

const settledRuns = defineQuery((db) =>
  db
    .selectFrom('cron_jobs.runs as run')
    .where('run.settled_at', 'is not', null)
    .orderBy('run.settled_at')
    .select(['run.tenant_id', 'run.id', 'run.job_id'])
    .select(['run.settled_message', 'run.settled_outcome', 'run.settled_at', 'run.settled_published_at'])
    .limit(({ lit }) => lit(MAX_DUE_RUNS)),
);

/** Returns the open runs of all tenants whose messages to agents were acknowledged or given up, the earliest first. */
export const settledRunsOf = (reads: Pick<Reads, 'rows'>) => reads.rows(settledRuns, {});

const openRuns = defineQuery((db, { jobs }: { jobs: readonly string[] }) =>
  db
    .selectFrom('cron_jobs.runs as run')
    .where('run.is_open', 'is not', null)
    .where(({ eb, fn, val }) => eb('run.job_id', '=', fn.any(val(jobs))))
    .select('run.job_id'),
);

/** Returns those of the given ids whose jobs have a run that has not ended. */
export const jobsWithOpenRun = async (reads: Pick<Reads, 'rows'>, jobs: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set((await reads.rows(openRuns, { jobs })).map(({ job_id }) => job_id!));
