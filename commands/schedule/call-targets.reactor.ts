import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import type { Headers } from '../../domain/schedule/request-headers.ts';
import type { ReactorCtx, Secrets, UsesSecrets } from '../context.ts';
import { type AgentChecks, reasonNotToCall } from './agent-checks.ts';
import { openHeaders } from './secret-headers.ts';

export type DueRun = { readonly id: string; readonly job_id: string };

export type TargetRequest = {
  readonly url: string;
  readonly method: CronJob.CronJob['method'];
  readonly headers: Headers;
  readonly body: Uint8Array | null;
};

/** The HTTP status or, if there was no answer, the reason. */
export type TargetAnswer = { readonly status_code: number } | { readonly error: string };

export type TargetCalls = { readonly agents: AgentChecks; readonly send: (request: TargetRequest) => Promise<TargetAnswer> };

const outcomeOf = (answer: TargetAnswer, ms: number): CronRun.Outcome => {
  if ('error' in answer) return { status_code: null, error: answer.error, ms };
  const isSuccess = answer.status_code >= 200 && answer.status_code < 300;
  return { status_code: answer.status_code, error: isSuccess ? null : `The target answered ${answer.status_code}`, ms };
};

const requestOf = async (open: Secrets['open'], job: CronJob.CronJob, run_id: string): Promise<TargetRequest> => {
  const { target: url, method, body_bytes } = job;
  const headers = { ...(await openHeaders(open, job)), 'idempotency-key': run_id };
  return { url, method, headers, body: body_bytes === null || method === 'GET' ? null : Buffer.from(body_bytes, 'base64') };
};

/**
 * Makes one attempt, unless tenant, agent or job is inactive or deleted by then. All attempts of a run have the same `Idempotency-Key`: if
 * one could not be recorded, the target can recognise the next as a repeat.
 */
export const callTarget = async (
  ctx: Pick<ReactorCtx, 'load' | 'transact' | 'at'> & UsesSecrets<'open'>,
  { agents, send }: TargetCalls,
  { id, job_id }: DueRun,
): Promise<void> => {
  const { state: run } = await ctx.load(CronRun, id);
  const startedAt = ctx.at();
  // The read model that lists due runs may be outdated, so this attempt may already have been made.
  if (run.next_attempt_at === null || run.next_attempt_at > startedAt) return;
  const { state: job } = await ctx.load(CronJob, job_id);
  const reason = await reasonNotToCall(agents, job, job.agent_id);
  const answer = reason ? { error: reason } : await send(await requestOf(ctx.secrets.open, job, id));
  const endedAt = ctx.at();
  const outcome = outcomeOf(answer, Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)));
  await ctx.transact(CronRun, id, CronRun.recordAttempt(job, run.attempts.length + 1, outcome, endedAt));
};
