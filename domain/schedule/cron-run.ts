import { createHash } from 'node:crypto';
import type { Recorded } from '../event.ts';
import { type CronJob, type TARGET_KINDS, targetAgentOf } from './cron-job.ts';
import { nextOccurrence, type Recurrence } from './recurrence.ts';

/** An occurrence of a cron job. One stream each, whose first event is the decision whether it fires: so there is exactly one decision. */
export const category = 'cronrun';

export const DECISIONS = ['fired', 'suppressed', 'missed', 'skipped'] as const;
export const SUPPRESSION_REASONS = ['blackout', 'overlap', 'budget', 'agent_inactive', 'tenant_suspended'] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/**
 * Without a change of the schedule since `schedule_revision`, the job is next due at `next_fire_at`. `job_status`: only if the decision
 * ends the job.
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

/** `target_agent_id`: only if the target is an agent. */
type Target = { readonly target_kind: (typeof TARGET_KINDS)[number]; readonly target_agent_id?: string };

/** `job_status`: the status that the result gives to a one-shot job. */
type AttemptFields = Omit<Attempt, 'at'> & Pick<DecisionFields, 'job_id' | 'job_status'>;

type MessageFields = { readonly delivery_id: string; readonly message_id: string };

export type CronRunEvent =
  | { type: 'CronFired'; data: DecisionFields & Target }
  | { type: 'CronSuppressed'; data: DecisionFields & { readonly reason: SuppressionReason; readonly blackout_id: string | null } }
  | { type: 'CronMissed'; data: DecisionFields }
  | { type: 'CronOccurrenceSkipped'; data: DecisionFields }
  | { type: 'CronRunRequested'; data: Pick<DecisionFields, 'job_id' | 'agent_id' | 'due_at'> & Target }
  /** The attempt fails if the message is not answered before `expires_at`. */
  | { type: 'CronMessageSent'; data: MessageFields & { readonly job_id: string; readonly expires_at: string } }
  /** The next attempt is made at `next_attempt_at`. */
  | { type: 'CronAttemptFailed'; data: AttemptFields & { readonly next_attempt_at: string } }
  | { type: 'CronSucceeded'; data: AttemptFields }
  /** The last attempt has failed, and therefore the run. */
  | { type: 'CronExhausted'; data: AttemptFields };

export type CronRun = {
  readonly decision: (typeof DECISIONS)[number] | 'undecided';
  readonly job_id: string;
  readonly agent_id: string;
  /** Null if the target is not an agent. */
  readonly target_agent_id: string | null;
  readonly due_at: string;
  readonly attempts: readonly Attempt[];
  /** Started, and not ended yet. */
  readonly is_open: boolean;
  /** When the present attempt fails, while a message to the agent waits for its answer. Null if no attempt follows. */
  readonly next_attempt_at: string | null;
  /** The delivery of the last message to the agent. Null if none was sent yet, or if the target is not an agent. */
  readonly delivery_id: string | null;
  readonly message_id: string | null;
  /** The last message is neither acknowledged nor given up. */
  readonly is_awaiting: boolean;
};

export const initial: CronRun = {
  decision: 'undecided',
  job_id: '',
  agent_id: '',
  target_agent_id: null,
  due_at: '',
  attempts: [],
  is_open: false,
  next_attempt_at: null,
  delivery_id: null,
  message_id: null,
  is_awaiting: false,
};

const withAttempt = (run: CronRun, at: string, { status_code, error, ms }: AttemptFields): CronRun => ({
  ...run,
  attempts: [...run.attempts, { at, status_code, error, ms }],
  is_awaiting: false,
});

const decided = (
  run: CronRun,
  decision: CronRun['decision'],
  { job_id, agent_id, due_at }: Pick<DecisionFields, 'job_id' | 'agent_id' | 'due_at'>,
): CronRun => ({ ...run, decision, job_id, agent_id, due_at });

export const evolve = (run: CronRun, { type, at, data }: Recorded<CronRunEvent>): CronRun => {
  switch (type) {
    case 'CronFired':
    case 'CronRunRequested':
      return { ...decided(run, 'fired', data), target_agent_id: data.target_agent_id ?? null, is_open: true, next_attempt_at: at };
    case 'CronSuppressed':
      return decided(run, 'suppressed', data);
    case 'CronMissed':
      return decided(run, 'missed', data);
    case 'CronOccurrenceSkipped':
      return decided(run, 'skipped', data);
    case 'CronMessageSent': {
      const { delivery_id, message_id, expires_at } = data;
      return { ...run, delivery_id, message_id, is_awaiting: true, next_attempt_at: expires_at };
    }
    case 'CronAttemptFailed':
      return { ...withAttempt(run, at, data), next_attempt_at: data.next_attempt_at };
    case 'CronSucceeded':
    case 'CronExhausted':
      return { ...withAttempt(run, at, data), is_open: false, next_attempt_at: null };
  }
};

const OCCURRENCE_ID_LENGTH = 32;

/** Requests to the target have this id as their Idempotency-Key. */
export const occurrenceId = (job_id: string, dueAt: string): string =>
  createHash('sha256').update(`${job_id}\0${dueAt}`).digest('hex').slice(0, OCCURRENCE_ID_LENGTH);

/** `next`: the due time after `dueAt`; null if there is none. */
export const decisionFields = (job: CronJob, dueAt: string, next: string | null): DecisionFields => ({
  job_id: job.id,
  agent_id: job.agent_id,
  due_at: dueAt,
  schedule_revision: job.schedule_revision,
  next_fire_at: next,
});

/** `next`: the due time after it; null if there is none. `isMissed`: too late to fire. */
export type DueOccurrence = { readonly due_at: string; readonly next: string | null; readonly isMissed: boolean };

/** An occurrence that is due for longer does not fire any more. */
export const MAX_LATENESS_MS = 3_600_000;
/** Decisions in one step. After a long downtime, further steps handle the others. */
export const MAX_DUE = 500;

/** Late by more than an hour or than the time until `next`, or so late that `next` is due, too. */
export const isTooLate = (due_at: string, next: string | null, now: string): boolean => {
  const interval = next === null ? MAX_LATENESS_MS : Date.parse(next) - Date.parse(due_at);
  return (next !== null && next <= now) || Date.parse(now) - Date.parse(due_at) > Math.min(interval, MAX_LATENESS_MS);
};

/**
 * Returns the occurrences from `first` to `now`, oldest first, at most MAX_DUE. All but the newest are missed, and so is the newest if it
 * is too late: if the clock jumps forward, a job fires only once.
 */
export const dueOccurrences = (recurrence: Recurrence, first: string, now: string): DueOccurrence[] => {
  const due: DueOccurrence[] = [];
  for (let due_at: string | null = first; due_at !== null && due_at <= now && due.length < MAX_DUE; ) {
    const next = nextOccurrence(recurrence, due_at);
    due.push({ due_at, next, isMissed: isTooLate(due_at, next, now) });
    due_at = next;
  }
  return due;
};

const targetOf = (job: CronJob): Target =>
  job.target_kind === 'internal_agent'
    ? { target_kind: job.target_kind, target_agent_id: targetAgentOf(job) }
    : { target_kind: job.target_kind };

/** Why an occurrence does not fire. */
export type Suppression = { readonly reason: SuppressionReason; readonly blackout_id: string | null };

/** Does not fire if missed or suppressed; a one-shot job has then failed. Does nothing if a decision is already recorded. */
export const decide =
  (job: CronJob, { due_at, next, isMissed }: DueOccurrence, suppression: Suppression | null) =>
  (run: CronRun): CronRunEvent[] => {
    if (run.decision !== 'undecided') return [];
    const fields = decisionFields(job, due_at, next);
    const failed = job.kind === 'one_shot' ? ({ job_status: 'failed' } as const) : {};
    if (isMissed) return [{ type: 'CronMissed', data: { ...fields, ...failed } }];
    if (suppression) return [{ type: 'CronSuppressed', data: { ...fields, ...failed, ...suppression } }];
    return [{ type: 'CronFired', data: { ...fields, ...targetOf(job) } }];
  };

/** `status_code` is null if the target is an agent or did not respond. `error` is null if the attempt succeeded. */
export type Outcome = { readonly status_code: number | null; readonly error: string | null; readonly ms: number };

const RETRY_DELAY_MS = 30_000;

/** The delay after failed attempt number `attempts`, in milliseconds. */
const retryDelay = (backoff: CronJob['retry_backoff'], attempts: number): number => {
  if (backoff === 'fixed') return RETRY_DELAY_MS;
  return RETRY_DELAY_MS * (backoff === 'linear' ? attempts : 2 ** attempts);
};

/** `number` counts from 1. If the job is deleted, no attempt follows a failed one. Does nothing if already recorded. */
export const recordAttempt =
  (job: Pick<CronJob, 'id' | 'kind' | 'status' | 'max_retries' | 'retry_backoff'>, number: number, outcome: Outcome, at: string) =>
  (run: CronRun): CronRunEvent[] => {
    if (!run.is_open || run.attempts.length !== number - 1) return [];
    const fields = { job_id: job.id, ...outcome };
    const ended = (job_status: 'completed' | 'failed') => (job.kind === 'one_shot' ? { job_status } : {});
    if (outcome.error === null) return [{ type: 'CronSucceeded', data: { ...fields, ...ended('completed') } }];
    if (number > job.max_retries || job.status === 'archived') return [{ type: 'CronExhausted', data: { ...fields, ...ended('failed') } }];
    const next_attempt_at = new Date(Date.parse(at) + retryDelay(job.retry_backoff, number)).toISOString();
    return [{ type: 'CronAttemptFailed', data: { ...fields, next_attempt_at } }];
  };

/** A person skips the occurrence. This completes a one-shot job. Does nothing if a decision about the occurrence is already recorded. */
export const skip =
  (job: CronJob, dueAt: string, next: string | null) =>
  (run: CronRun): CronRunEvent[] => {
    if (run.decision !== 'undecided') return [];
    const job_status = job.kind === 'one_shot' ? 'completed' : undefined;
    return [{ type: 'CronOccurrenceSkipped', data: { ...decisionFields(job, dueAt, next), ...(job_status && { job_status }) } }];
  };

export const requestRun =
  (job: CronJob, at: string) =>
  (run: CronRun): CronRunEvent[] => {
    const { id: job_id, agent_id } = job;
    return run.decision === 'undecided' ? [{ type: 'CronRunRequested', data: { job_id, agent_id, due_at: at, ...targetOf(job) } }] : [];
  };

/** The attempt has sent this message to the agent. Does nothing if already recorded. */
export const recordSent =
  (message: MessageFields, expires_at: string) =>
  (run: CronRun): CronRunEvent[] =>
    run.is_open && run.message_id !== message.message_id
      ? [{ type: 'CronMessageSent', data: { job_id: run.job_id, ...message, expires_at } }]
      : [];

const OCCURRENCE_ID = /^(?:[0-9a-f]{32}|c[a-z0-9]{24})$/;

/** The id of an occurrence or of a requested run. */
export const isOccurrenceId = (text: string): boolean => OCCURRENCE_ID.test(text);
