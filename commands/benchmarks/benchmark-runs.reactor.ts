import * as BenchmarkRun from '../../domain/benchmarks/benchmark-run.ts';
import { parseDataset, selectTasks } from '../../domain/benchmarks/dataset.ts';
import type { Actor } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type BenchmarkDeliveryFacts, benchmarkDelivery } from '../../domain/webhooks/benchmark-delivery.ts';
import { readAll } from '../blobs.ts';
import type { Ctx, ReactorCtx } from '../context.ts';
import { type AgentChecks, INACTIVE_TEXTS } from '../schedule/agent-checks.ts';
import { decodeReport, type TaskReport } from './task-report.ts';

/**
 * A run that has not ended, according to the read models. `has_delivery` is whether the run was sent, and `outcome` how
 * its delivery ended.
 */
export type OpenRun = { readonly id: string; readonly has_delivery: boolean; readonly outcome: 'acknowledged' | 'given_up' | null };

type BenchmarkCtx = ReactorCtx & Pick<Ctx, 'blobs'>;

/** What is needed to send runs to agents besides the context. */
export type RunMessages = {
  readonly agents: AgentChecks;
  /** Appends the first event of the delivery of a run. Does nothing if the delivery exists. */
  readonly createDelivery: (
    run: { readonly tenant_id: string; readonly id: string },
    facts: BenchmarkDeliveryFacts,
    body: Uint8Array,
  ) => Promise<void>;
};

export const BENCHMARKS: Actor = { kind: 'system', id: 'benchmarks' };

const ENDED_EARLY = {
  acknowledged: 'The runner has acknowledged the run without a result for every task',
  given_up: 'The message with the run was given up: no runner has processed it, or a runner has refused it',
} as const;

const EXPIRED = `The run has not ended within ${BenchmarkRun.MAX_RUN_HOURS} hours`;

/** Returns a stored file of the tenant. @throws Refusal unavailable */
const readContent = async ({ blobs }: BenchmarkCtx, sha256: string): Promise<Uint8Array> => {
  const blob = await blobs.get(sha256);
  if (!blob) throw new Refusal('unavailable', `the stored content ${sha256} is missing`);
  return readAll(blob.content);
};

/**
 * Sends a run to the runner of its agent. Returns null if it was sent, and otherwise the reason why it cannot be sent.
 */
const send = async (ctx: BenchmarkCtx, messages: RunMessages, run: BenchmarkRun.BenchmarkRun): Promise<string | null> => {
  const { tenant_id, id, agent_id, dataset_sha256, task_ids } = run;
  const inactive = await messages.agents.inactiveReason(tenant_id, agent_id);
  if (inactive) return INACTIVE_TEXTS[inactive];
  const dataset = parseDataset(await readContent(ctx, dataset_sha256), '/benchmark');
  const { facts, body } = benchmarkDelivery(run, selectTasks(dataset, task_ids), ctx.at());
  await messages.createDelivery({ tenant_id, id }, facts, body);
  return null;
};

/**
 * Does what is next for an open run: sends it if it was not sent yet, and ends it if its time is over or if its message
 * was acknowledged or given up. Before this, results that were published until the message ended must be recorded.
 */
export const advanceRun = async (ctx: BenchmarkCtx, messages: RunMessages, { id, has_delivery, outcome }: OpenRun): Promise<void> => {
  const { state: run } = await ctx.load(BenchmarkRun, id);
  const end = async (error: string): Promise<void> => void (await ctx.transact(BenchmarkRun, id, BenchmarkRun.fail(error)));
  if (Date.parse(run.expires_at) <= Date.parse(ctx.at())) return end(EXPIRED);
  if (outcome) return end(ENDED_EARLY[outcome]);
  const failure = has_delivery ? null : await send(ctx, messages, run);
  if (failure !== null) await end(failure);
};

/** A valid result, with the tenant and the agent of the runner that published it. */
export type Report = TaskReport & { readonly tenant: string; readonly agent: string };

/**
 * Parses a message with a result that the runner of an agent has published. Returns null if the result is not valid.
 */
export const readReport = (reporter: { readonly tenant: string; readonly agent: string }, message: Uint8Array): Report | null => {
  const report = decodeReport(message);
  return report && { ...report, ...reporter };
};

const resultOf = ({ task_id, score = null, error = null, seconds = null }: TaskReport): BenchmarkRun.ScoredTask => ({
  ...{ task_id, score, error, seconds, trajectory_sha256: null },
});

/**
 * Records results of one run that the runner of one agent has published, in one append. Late and repeated results
 * change nothing.
 * @throws Refusal unavailable
 */
export const recordReports = async (ctx: BenchmarkCtx, reports: readonly Report[]): Promise<void> => {
  const { agent, run_id: id } = reports[0]!;
  const { state: run } = await ctx.load(BenchmarkRun, id);
  const counted = BenchmarkRun.newResults(run, agent, reports.map(resultOf));
  const withTrajectory = async (result: BenchmarkRun.ScoredTask): Promise<BenchmarkRun.ScoredTask> => {
    const { trajectory = null } = reports.find(({ task_id }) => task_id === result.task_id)!;
    if (trajectory === null) return result;
    const { sha256 } = await ctx.blobs.put(new TextEncoder().encode(JSON.stringify(trajectory)));
    return { ...result, trajectory_sha256: sha256 };
  };
  const results = await Promise.all(counted.map(withTrajectory));
  if (results.length === 0) return;
  await ctx.withActor({ kind: 'agent', id: agent }).transact(BenchmarkRun, id, BenchmarkRun.scoreTasks(agent, results));
};
