import type { Recorded } from '../event.ts';
import { conflict, notFound } from '../refusal.ts';

export const category = 'replay';

/** The maximum number of deliveries that one job sends again. */
export const MAX_REPLAYED = 5_000;

/**
 * What a job sends again. `ids` are the ids of the deliveries. The integration, the times, the outcome and the event
 * are the criteria by which the deliveries were selected.
 */
export type ReplaySelection = {
  integration_id: string;
  from: string;
  to: string;
  outcome: 'accepted' | 'dead' | null;
  event: string | null;
  /** The agent that gets the deliveries; null: each goes to the agent that first got it. */
  agent_id: string | null;
  ids: readonly string[];
};

/**
 * The progress of a job. `done` is the number of handled deliveries. `skipped` is the number of handled deliveries that
 * were not sent. `error` tells users why they were not sent; null if every handled delivery was sent.
 */
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
    finished_at: string | null;
  };

export const initial: ReplayJob = {
  status: 'absent',
  integration_id: '',
  from: '',
  to: '',
  outcome: null,
  event: null,
  agent_id: null,
  ids: [],
  done: 0,
  skipped: 0,
  error: null,
  created_at: '',
  finished_at: null,
};

export const evolve = (job: ReplayJob, { type, data, at }: Recorded<ReplayJobEvent>): ReplayJob => {
  switch (type) {
    case 'DeliveriesReplayRequested':
      return { ...job, ...data, status: 'running', created_at: at };
    case 'DeliveriesReplayAdvanced':
      return { ...job, ...data };
    case 'DeliveriesReplayFinished':
      return { ...job, ...data, status: 'done', finished_at: at };
    case 'DeliveriesReplayCancelled':
      return { ...job, status: 'cancelled', finished_at: at };
  }
};

/** Requests that a job sends the selected deliveries again. */
export const request =
  (selection: ReplaySelection) =>
  (job: ReplayJob): ReplayJobEvent[] => {
    if (job.status !== 'absent') throw conflict('/path/id', 'exists', 'This job already exists');
    return [{ type: 'DeliveriesReplayRequested', data: selection }];
  };

/**
 * Records the progress of a running job. If every delivery is handled, also records that the job has ended. Does
 * nothing if the job is not running, or if no further delivery was handled.
 */
export const advance =
  (progress: ReplayProgress) =>
  (job: ReplayJob): ReplayJobEvent[] => {
    if (job.status !== 'running') return [];
    if (progress.done >= job.ids.length) return [{ type: 'DeliveriesReplayFinished', data: progress }];
    return progress.done > job.done ? [{ type: 'DeliveriesReplayAdvanced', data: progress }] : [];
  };

/**
 * Cancels a job: deliveries that it has not handled yet are not sent. Does nothing if the job is already canceled.
 * @throws Refusal not_found, conflict if the job has finished
 */
export const cancel = (job: ReplayJob): ReplayJobEvent[] => {
  if (job.status === 'absent') throw notFound();
  if (job.status === 'done') throw conflict('/path/id', 'job_finished', 'The job has finished: there is nothing to cancel');
  return job.status === 'cancelled' ? [] : [{ type: 'DeliveriesReplayCancelled', data: {} }];
};
