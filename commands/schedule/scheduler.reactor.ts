import type { Actor } from '../../domain/event.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import { blackoutOf, type PresentBlackout } from '../../domain/schedule/preview.ts';
import type { ParseCron } from '../../domain/schedule/recurrence.ts';
import type { ReactorCtx } from '../context.ts';
import type { AgentChecks } from './agent-checks.ts';

/** According to the read model. `schedule_revision`: when this schedule was set. */
export type DueJob = {
  readonly tenant_id: string;
  readonly id: string;
  readonly next_fire_at: string;
  readonly schedule_revision: number;
};

/** The read models, and the state of agents. */
export type Scheduling = {
  readonly parseCron: ParseCron;
  readonly agents: AgentChecks;
  readonly blackouts: (tenant_id: string) => Promise<readonly PresentBlackout[]>;
  /** Whether an earlier run has not ended yet. */
  readonly hasOpenRun: (job_id: string) => boolean;
};

export const SCHEDULER: Actor = { kind: 'system', id: 'scheduler' };

const suppressionOf = async (
  { agents, blackouts, hasOpenRun }: Scheduling,
  job: CronJob.CronJob,
  dueAt: string,
): Promise<CronRun.Suppression | null> => {
  const { tenant_id, agent_id, id } = job;
  const target_id = job.target_kind === 'internal_agent' ? CronJob.targetAgentOf(job) : agent_id;
  for (const agent of new Set([agent_id, target_id])) {
    const reason = await agents.inactiveReason(tenant_id, agent);
    if (reason) return { reason, blackout_id: null };
  }
  const blackout = blackoutOf(await blackouts(tenant_id), agent_id, dueAt);
  if (blackout) return { reason: 'blackout', blackout_id: blackout.id };
  if (hasOpenRun(id)) return { reason: 'overlap', blackout_id: null };
  return (await agents.isBudgetSpent(tenant_id, target_id)) ? { reason: 'budget', blackout_id: null } : null;
};

/**
 * Decides about all undecided occurrences up to the time of the context. The read model may be outdated; only the stream of an occurrence
 * counts, so there is one decision each, even with a second scheduler or after a crash.
 * @returns the next due time by the schedule (null if none); undefined if nothing was decided, because the schedule has changed
 */
export const decideDue = async (ctx: ReactorCtx, scheduling: Scheduling, due: DueJob): Promise<string | null | undefined> => {
  const ofTenant = ctx.inTenant(due.tenant_id);
  const { state: job } = await ofTenant.load(CronJob, due.id);
  if (job.status !== 'active' || job.schedule_revision !== due.schedule_revision) return undefined;
  const recurrence = CronJob.recurrenceOf(job, job.scheduled_at, scheduling.parseCron);
  const occurrences = CronRun.dueOccurrences(recurrence, due.next_fire_at, ctx.at());
  for (const occurrence of occurrences) {
    const suppression = occurrence.isMissed ? null : await suppressionOf(scheduling, job, occurrence.due_at);
    const id = CronRun.occurrenceId(job.id, occurrence.due_at);
    await ofTenant.transact(CronRun, id, CronRun.decide(job, occurrence, suppression), { expectNew: true });
  }
  return occurrences.at(-1)?.next;
};
