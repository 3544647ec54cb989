import type { Decision } from '../../domain/aggregate.ts';
import type * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import type { Headers } from '../../domain/schedule/request-headers.ts';
import { type InactiveReason, reasonNotToCall } from './scheduler.reactor.ts';

/** A run whose target must be called. */
export type DueRun = { readonly tenant_id: string; readonly id: string; readonly job_id: string };

/** A request to an external target. */
export type TargetRequest = {
  readonly url: string;
  readonly method: CronJob.CronJob['method'];
  readonly headers: Headers;
  readonly body: Uint8Array | null;
};

/** The answer of a target: its HTTP status or, if there was no answer, the reason. */
export type TargetAnswer = { readonly status_code: number } | { readonly error: string };

/** The functions and settings that are needed to call targets. Times are in milliseconds, `at` is RFC 3339 UTC. */
export type CallPorts = {
  readonly loadJob: (job: { readonly tenant_id: string; readonly id: string }) => Promise<CronJob.CronJob>;
  readonly loadRun: (run: DueRun) => Promise<CronRun.CronRun>;
  /** Returns the reason why the jobs of this agent must not call their targets at present; null if they may. */
  readonly inactiveReason: (tenant_id: string, agent_id: string) => Promise<InactiveReason | null>;
  /** Returns the headers of a job with their secret values. */
  readonly headersOf: (job: CronJob.CronJob) => Promise<Headers>;
  readonly send: (request: TargetRequest) => Promise<TargetAnswer>;
  readonly transact: (run: DueRun, decide: Decision<CronRun.CronRun, CronRun.CronRunEvent>) => Promise<unknown>;
  readonly now: () => number;
};

const outcomeOf = (answer: TargetAnswer, ms: number): CronRun.Outcome => {
  if ('error' in answer) return { status_code: null, error: answer.error, ms };
  const isSuccess = answer.status_code >= 200 && answer.status_code < 300;
  return { status_code: answer.status_code, error: isSuccess ? null : `The target answered ${answer.status_code}`, ms };
};

const requestOf = async (ports: CallPorts, job: CronJob.CronJob, run_id: string): Promise<TargetRequest> => {
  const { target: url, method, body_bytes } = job;
  const headers = { ...(await ports.headersOf(job)), 'idempotency-key': run_id };
  return { url, method, headers, body: body_bytes === null || method === 'GET' ? null : Buffer.from(body_bytes, 'base64') };
};

/**
 * Calls the external target of a run once, and records the attempt. If the tenant, agent or job is inactive or deleted
 * by then, the target is not called. All attempts of a run have the same `Idempotency-Key`: if an attempt has called
 * the target but could not be recorded, the target can recognise the next attempt as a repeat.
 */
export const callTarget = async (ports: CallPorts, due: DueRun): Promise<void> => {
  const run = await ports.loadRun(due);
  const startedAt = ports.now();
  // The read model that lists due runs may be outdated, so this attempt may already have been made.
  if (run.next_attempt_at === null || Date.parse(run.next_attempt_at) > startedAt) return;
  const job = await ports.loadJob({ tenant_id: due.tenant_id, id: due.job_id });
  const reason = await reasonNotToCall(ports, job, job.agent_id);
  const answer = reason ? { error: reason } : await ports.send(await requestOf(ports, job, due.id));
  const endedAt = ports.now();
  const outcome = outcomeOf(answer, Math.max(0, Math.round(endedAt - startedAt)));
  await ports.transact(due, CronRun.recordAttempt(job, run.attempts.length + 1, outcome, new Date(endedAt).toISOString()));
};
