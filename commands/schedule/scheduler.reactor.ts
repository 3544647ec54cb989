import type { Decision } from '../../domain/aggregate.ts';
import type { Actor } from '../../domain/event.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import { blackoutOf, type PresentBlackout } from '../../domain/schedule/preview.ts';
import type { ParseCron } from '../../domain/schedule/recurrence.ts';

/**
 * A job that is due according to the read model. `schedule_revision` is the revision at which this schedule was set.
 */
export type DueJob = {
  readonly tenant_id: string;
  readonly id: string;
  readonly next_fire_at: string;
  readonly schedule_revision: number;
};

/** The reason why no job of an agent fires, and why no job can call the agent. */
export type InactiveReason = 'tenant_suspended' | 'agent_inactive';

const INACTIVE_TEXTS: Readonly<Record<InactiveReason, string>> = {
  agent_inactive: 'The agent is inactive or deleted',
  tenant_suspended: 'The tenant is suspended or closed',
};

/**
 * Returns the reason why an attempt of a run must not call its target, as a text for people; null if it may call it.
 */
export const reasonNotToCall = async (
  { inactiveReason }: Pick<SchedulerPorts, 'inactiveReason'>,
  { tenant_id, status }: CronJob.CronJob,
  agent_id: string,
): Promise<string | null> => {
  if (status === 'archived') return 'The cron job was deleted';
  const reason = await inactiveReason(tenant_id, agent_id);
  return reason && INACTIVE_TEXTS[reason];
};

/** The functions that the scheduler needs. */
export type SchedulerPorts = {
  readonly parseCron: ParseCron;
  readonly loadJob: (job: Pick<DueJob, 'tenant_id' | 'id'>) => Promise<CronJob.CronJob>;
  /**
   * Returns the reason why no job of this agent fires at present, and why no job can call it; null if there is none.
   */
  readonly inactiveReason: (tenant_id: string, agent_id: string) => Promise<InactiveReason | null>;
  readonly blackouts: (tenant_id: string) => Promise<readonly PresentBlackout[]>;
  /** Returns whether an earlier run of the job has not ended yet. */
  readonly hasOpenRun: (job: Pick<DueJob, 'tenant_id' | 'id'>) => boolean;
  /** Returns whether the budget of the agent for this hour is used up. */
  readonly isBudgetSpent: (tenant_id: string, agent_id: string) => Promise<boolean>;
  /** Appends the events that the decision about this occurrence returns. */
  readonly transact: (
    occurrence: { readonly tenant_id: string; readonly id: string },
    decide: Decision<CronRun.CronRun, CronRun.CronRunEvent>,
  ) => Promise<unknown>;
};

/** The actor of the scheduler's events. */
export const SCHEDULER: Actor = { kind: 'system', id: 'scheduler' };

const suppressionOf = async (ports: SchedulerPorts, job: CronJob.CronJob, dueAt: string): Promise<CronRun.Suppression | null> => {
  const { tenant_id, agent_id, id } = job;
  const target_id = job.target_kind === 'internal_agent' ? CronJob.targetAgentOf(job) : agent_id;
  for (const agent of new Set([agent_id, target_id])) {
    const reason = await ports.inactiveReason(tenant_id, agent);
    if (reason) return { reason, blackout_id: null };
  }
  const blackout = blackoutOf(await ports.blackouts(tenant_id), agent_id, dueAt);
  if (blackout) return { reason: 'blackout', blackout_id: blackout.id };
  if (ports.hasOpenRun({ tenant_id, id })) return { reason: 'overlap', blackout_id: null };
  return (await ports.isBudgetSpent(tenant_id, target_id)) ? { reason: 'budget', blackout_id: null } : null;
};

/**
 * Decides about all occurrences of a job up to `now` (RFC 3339 UTC) for which no decision is recorded. The read model
 * that names the jobs may be outdated; only the stream of an occurrence shows whether a decision is recorded. So there
 * is one decision for each occurrence, even if there is a second scheduler or a crash.
 * @returns the next due time of the job by its schedule (null if there is none); undefined if nothing was decided,
 * because the schedule has changed
 */
export const decideDue = async (ports: SchedulerPorts, due: DueJob, now: string): Promise<string | null | undefined> => {
  const job = await ports.loadJob(due);
  if (job.status !== 'active' || job.schedule_revision !== due.schedule_revision) return undefined;
  const recurrence = CronJob.recurrenceOf(job, job.scheduled_at, ports.parseCron);
  const occurrences = CronRun.dueOccurrences(recurrence, due.next_fire_at, now);
  for (const occurrence of occurrences) {
    const suppression = occurrence.isMissed ? null : await suppressionOf(ports, job, occurrence.due_at);
    const id = CronRun.occurrenceId(job.id, occurrence.due_at);
    await ports.transact({ tenant_id: job.tenant_id, id }, CronRun.decide(job, occurrence, suppression));
  }
  return occurrences.at(-1)?.next;
};
