import { createHash } from 'node:crypto';
import type { Recorded } from '../event.ts';
import type { CronJob, TARGET_KINDS } from './cron-job.ts';

/** A stream per occurrence of a job: its first event is the decision, so an occurrence is decided exactly once. */
export const category = 'cronrun';

export const DECISIONS = ['fired', 'suppressed', 'missed', 'skipped'] as const;
export const SUPPRESSION_REASONS = ['blackout', 'overlap', 'budget', 'agent_inactive', 'tenant_suspended'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/**
 * What a decision says of its job. `schedule_revision`: the revision of the event that set the schedule. Unless the
 * schedule has changed since, the job is due next at `next_fire_at`. `job_status` is set if the job ends with this
 * decision.
 */
export type DecisionFields = {
  readonly job_id: string;
  readonly agent_id: string;
  readonly due_at: string;
  readonly schedule_revision: number;
  readonly next_fire_at: string | null;
  readonly job_status?: 'completed' | 'failed' | undefined;
};

export type Attempt = { readonly at: string; readonly status_code: number | null; readonly error: string | null; readonly ms: number };

/** The kind of target that a run calls. */
type TargetKind = { readonly target_kind: (typeof TARGET_KINDS)[number] };

/** The job of an attempt, and the status that a one-shot job has from then on. */
type AttemptFields = Omit<Attempt, 'at'> & Pick<DecisionFields, 'job_id' | 'job_status'>;

export type CronRunEvent =
  | { type: 'CronFired'; data: DecisionFields & TargetKind }
  | { type: 'CronSuppressed'; data: DecisionFields & { readonly reason: SuppressionReason; readonly blackout_id: string | null } }
  | { type: 'CronMissed'; data: DecisionFields }
  | { type: 'CronOccurrenceSkipped'; data: DecisionFields }
  /** A person has asked for a run outside of the schedule. */
  | { type: 'CronRunRequested'; data: Pick<DecisionFields, 'job_id' | 'agent_id' | 'due_at'> & TargetKind }
  /** An attempt failed, and another one follows at `next_attempt_at`. */
  | { type: 'CronAttemptFailed'; data: AttemptFields & { readonly next_attempt_at: string } }
  | { type: 'CronSucceeded'; data: AttemptFields }
  /** The last attempt failed. */
  | { type: 'CronExhausted'; data: AttemptFields };

export type CronRun = {
  readonly decision: (typeof DECISIONS)[number] | 'undecided';
  readonly job_id: string;
  readonly due_at: string;
  readonly attempts: readonly Attempt[];
  /** Whether the target must still be called. */
  readonly is_open: boolean;
};

export const initial: CronRun = { decision: 'undecided', job_id: '', due_at: '', attempts: [], is_open: false };

const withAttempt = (run: CronRun, at: string, { status_code, error, ms }: AttemptFields): CronRun => ({
  ...run,
  attempts: [...run.attempts, { at, status_code, error, ms }],
});

export const evolve = (run: CronRun, { type, at, data }: Recorded<CronRunEvent>): CronRun => {
  switch (type) {
    case 'CronFired':
    case 'CronRunRequested':
      return { ...run, decision: 'fired', job_id: data.job_id, due_at: data.due_at, is_open: true };
    case 'CronSuppressed':
      return { ...run, decision: 'suppressed', job_id: data.job_id, due_at: data.due_at };
    case 'CronMissed':
      return { ...run, decision: 'missed', job_id: data.job_id, due_at: data.due_at };
    case 'CronOccurrenceSkipped':
      return { ...run, decision: 'skipped', job_id: data.job_id, due_at: data.due_at };
    case 'CronAttemptFailed':
      return withAttempt(run, at, data);
    case 'CronSucceeded':
    case 'CronExhausted':
      return { ...withAttempt(run, at, data), is_open: false };
  }
};

const OCCURRENCE_ID_LENGTH = 32;

/** The id of the occurrence of a job at `dueAt`. External targets get it as their Idempotency-Key. */
export const occurrenceId = (job_id: string, dueAt: string): string =>
  createHash('sha256').update(`${job_id}\0${dueAt}`).digest('hex').slice(0, OCCURRENCE_ID_LENGTH);

/** What a decision on the occurrence of `job` at `dueAt` says of the job. `next`: when the job is due after that. */
export const decisionFields = (job: CronJob, dueAt: string, next: string | null): DecisionFields => ({
  job_id: job.id,
  agent_id: job.agent_id,
  due_at: dueAt,
  schedule_revision: job.schedule_revision,
  next_fire_at: next,
});

/** Decides that an occurrence does not fire, on request of a person. A one-shot job is then completed. */
export const skip =
  (job: CronJob, dueAt: string, next: string | null) =>
  (run: CronRun): CronRunEvent[] => {
    if (run.decision !== 'undecided') return [];
    const job_status = job.kind === 'one_shot' ? 'completed' : undefined;
    return [{ type: 'CronOccurrenceSkipped', data: { ...decisionFields(job, dueAt, next), ...(job_status && { job_status }) } }];
  };

/** Requests a run of the job outside of its schedule. */
export const requestRun =
  ({ id, agent_id, target_kind }: CronJob, at: string) =>
  (run: CronRun): CronRunEvent[] =>
    run.decision === 'undecided' ? [{ type: 'CronRunRequested', data: { job_id: id, agent_id, due_at: at, target_kind } }] : [];
