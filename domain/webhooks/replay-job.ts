import type { Recorded } from '../event.ts';
import { conflict, notFound } from '../refusal.ts';

export const category = 'replay';

/** The maximum number of deliveries that one job sends again. */
export const MAX_REPLAYED = 5_000;

/** Which deliveries a job sends again: those with these ids, which the other fields have selected. */
export type ReplaySelection = {
  integration_id: string;
  from: string;
  to: string;
  outcome: 'accepted' | 'dead' | null;
  event: string | null;
  /** The agent that gets the deliveries; null: the agent that got each of them first. */
  agent_id: string | null;
  ids: readonly string[];
};

/** How far a job is: `done` deliveries were handled, and `skipped` of them were not sent, for the reason `error`. */
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

/** Requests that the selected deliveries are sent again. */
export const request =
  (selection: ReplaySelection) =>
  (job: ReplayJob): ReplayJobEvent[] => {
    if (job.status !== 'absent') throw conflict('/path/id', 'exists', 'This job already exists');
    return [{ type: 'DeliveriesReplayRequested', data: selection }];
  };

/**
 * Records how far a running job is, and that it has finished if every delivery was handled. Yields no event for a job
 * that does not run, or if nothing new was handled.
 */
export const advance =
  (progress: ReplayProgress) =>
  (job: ReplayJob): ReplayJobEvent[] => {
    if (job.status !== 'running') return [];
    if (progress.done >= job.ids.length) return [{ type: 'DeliveriesReplayFinished', data: progress }];
    return progress.done > job.done ? [{ type: 'DeliveriesReplayAdvanced', data: progress }] : [];
  };

/**
 * Cancels a job: the deliveries that it has not handled yet are not sent. Cancelling it again changes nothing.
 * @throws Refusal not_found, or conflict if the job has finished
 */
export const cancel = (job: ReplayJob): ReplayJobEvent[] => {
  if (job.status === 'absent') throw notFound();
  if (job.status === 'done') throw conflict('/path/id', 'job_finished', 'The job has finished: there is nothing to cancel');
  return job.status === 'cancelled' ? [] : [{ type: 'DeliveriesReplayCancelled', data: {} }];
};
