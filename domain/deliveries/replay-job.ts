import type { Recorded } from '../event.ts';
import { conflict, notFound } from '../refusal.ts';

export const category = 'replay';

/** The maximum number of deliveries of one job. */
export const MAX_REPLAYED = 5_000;

/** The maximum number of deliveries between two events of a job; also the maximum of `per_second`. */
export const MAX_BATCH = 100;

/** Each is absent if it was not given. */
type TenantCriteria = {
  provider?: string;
  reason?: string;
  rule?: string;
  problem?: string;
  provider_delivery_id?: string;
  matched_secret?: string;
  delivery_status?: string;
  source_agent_id?: string;
  /** The deliveries were given up at this time or later. */
  given_up_from?: string;
};

/** Sends `ids` again. All other fields except `agent_id`, `per_second` and `release_reason` are the criteria by which these were selected. */
export type ReplaySelection = TenantCriteria & {
  /** Null: of all integrations of the tenant. */
  integration_id: string | null;
  from: string | null;
  to: string;
  outcome: 'accepted' | 'dead' | 'blocked' | null;
  /** Why blocked deliveries are released; only if the outcome is `blocked`. */
  release_reason?: string;
  event: string | null;
  /** Gets the deliveries; null if each goes to the agent that got it first. */
  agent_id: string | null;
  /** Absent: as many as possible. */
  per_second?: number;
  ids: readonly string[];
};

/** `done`: deliveries that were handled; `skipped`: how many of these were not sent, for the reason `error` (null if all were). */
export type ReplayProgress = { done: number; skipped: number; error: string | null };

export type ReplayJobEvent =
  | { type: 'DeliveriesReplayRequested'; data: ReplaySelection }
  | { type: 'DeliveriesReplayAdvanced'; data: ReplayProgress }
  | { type: 'DeliveriesReplayFinished'; data: ReplayProgress }
  | { type: 'DeliveriesReplayCancelled'; data: object };

export const JOB_STATUSES = ['running', 'done', 'cancelled'] as const;

export type ReplayJob = ReplaySelection &
  ReplayProgress & {
    status: 'absent' | (typeof JOB_STATUSES)[number];
    created_at: string;
    /** When the job was requested, or its progress last recorded. */
    advanced_at: string;
    finished_at: string | null;
  };

export const initial: ReplayJob = {
  status: 'absent',
  integration_id: null,
  from: null,
  to: '',
  outcome: null,
  event: null,
  agent_id: null,
  ids: [],
  done: 0,
  skipped: 0,
  error: null,
  created_at: '',
  advanced_at: '',
  finished_at: null,
};

export const evolve = (job: ReplayJob, { type, data, at }: Recorded<ReplayJobEvent>): ReplayJob => {
  switch (type) {
    case 'DeliveriesReplayRequested':
      return { ...job, ...data, status: 'running', created_at: at, advanced_at: at };
    case 'DeliveriesReplayAdvanced':
      return { ...job, ...data, advanced_at: at };
    case 'DeliveriesReplayFinished':
      return { ...job, ...data, status: 'done', finished_at: at };
    case 'DeliveriesReplayCancelled':
      return { ...job, status: 'cancelled', finished_at: at };
  }
};

export const request =
  (selection: ReplaySelection) =>
  (job: ReplayJob): ReplayJobEvent[] => {
    if (job.status !== 'absent') throw conflict('/path/id', 'exists', 'This job already exists');
    return [{ type: 'DeliveriesReplayRequested', data: selection }];
  };

/** Deliveries to handle at the time `at`. A job does not catch up after a break: never more at once than in one second. */
export const batchSize = ({ per_second, advanced_at }: ReplayJob, at: string): number => {
  if (per_second === undefined) return MAX_BATCH;
  const seconds = Math.max(0, Date.parse(at) - Date.parse(advanced_at)) / 1_000;
  return Math.floor(per_second * Math.min(1, seconds));
};

/** Ends the job if all deliveries are handled. Does nothing if it is not running, or if `done` has not increased. */
export const advance =
  (progress: ReplayProgress) =>
  (job: ReplayJob): ReplayJobEvent[] => {
    if (job.status !== 'running') return [];
    if (progress.done >= job.ids.length) return [{ type: 'DeliveriesReplayFinished', data: progress }];
    return progress.done > job.done ? [{ type: 'DeliveriesReplayAdvanced', data: progress }] : [];
  };

/** Does nothing if already canceled. @throws Refusal not_found if there is no such job, conflict if it has finished */
export const cancel = (job: ReplayJob): ReplayJobEvent[] => {
  if (job.status === 'absent') throw notFound();
  if (job.status === 'done') throw conflict('/path/id', 'job_finished', 'The job has finished: there is nothing to cancel');
  return job.status === 'cancelled' ? [] : [{ type: 'DeliveriesReplayCancelled', data: {} }];
};
