import * as BenchmarkRun from '../../domain/benchmarks/benchmark-run.ts';
import { parseDataset, selectTasks } from '../../domain/benchmarks/dataset.ts';
import { type BenchmarkDeliveryFacts, benchmarkDelivery } from '../../domain/deliveries/benchmark-delivery.ts';
import type { Actor } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { readAll } from '../blobs.ts';
import type { Ctx, ReactorCtx } from '../context.ts';
import { type AgentChecks, INACTIVE_TEXTS } from '../schedule/agent-checks.ts';
import { decodeReport, type TaskReport } from './task-report.ts';

/** A run that has not ended, according to the read models. `has_delivery`: the run was sent; `outcome`: how its delivery ended. */
export type OpenRun = { readonly id: string; readonly has_delivery: boolean; readonly outcome: 'acknowledged' | 'given_up' | null };

type BenchmarkCtx = ReactorCtx & Pick<Ctx, 'blobs'>;

export type RunMessages = {
  readonly agents: AgentChecks;
  /** Does nothing if the delivery exists. */
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

/** @throws Refusal unavailable */
const readContent = async ({ blobs }: BenchmarkCtx, sha256: string): Promise<Uint8Array> => {
  const blob = await blobs.get(sha256);
  if (!blob) throw new Refusal('unavailable', `the stored content ${sha256} is missing`);
  return readAll(blob.content);
};

/** Sends the run to the runner of its agent. Returns why it cannot be sent; null if it was sent. */
const send = async (ctx: BenchmarkCtx, messages: RunMessages, run: BenchmarkRun.BenchmarkRun): Promise<string | null> => {
  const { tenant_id, id, agent_id, dataset_sha256, task_ids } = run;
  const inactive = await messages.agents.inactiveReason(tenant_id, agent_id);
  if (inactive) return INACTIVE_TEXTS[inactive];
  const dataset = parseDataset(await readContent(ctx, dataset_sha256), '/benchmark');
  const { facts, body } = benchmarkDelivery(run, selectTasks(dataset, task_ids), ctx.at());
  await messages.createDelivery({ tenant_id, id }, facts, body);
  return null;
};

/** Sends the run, or ends it if its time is over or its message has ended. Results that were published until then must be recorded. */
export const advanceRun = async (ctx: BenchmarkCtx, messages: RunMessages, { id, has_delivery, outcome }: OpenRun): Promise<void> => {
  const { state: run } = await ctx.load(BenchmarkRun, id);
  const end = async (error: string): Promise<void> => void (await ctx.transact(BenchmarkRun, id, BenchmarkRun.fail(error)));
  if (Date.parse(run.expires_at) <= Date.parse(ctx.at())) return end(EXPIRED);
  if (outcome) return end(ENDED_EARLY[outcome]);
  const failure = has_delivery ? null : await send(ctx, messages, run);
  if (failure !== null) await end(failure);
};

/** A report with the tenant and the agent of the runner that published it. */
export type Report = TaskReport & { readonly tenant: string; readonly agent: string };

/** Null if the result is not valid. */
export const readReport = (reporter: { readonly tenant: string; readonly agent: string }, message: Uint8Array): Report | null => {
  const report = decodeReport(message);
  return report && { ...report, ...reporter };
};

const resultOf = ({ task_id, score = null, error = null, seconds = null }: TaskReport): BenchmarkRun.ScoredTask => ({
  ...{ task_id, score, error, seconds, trajectory_sha256: null },
});

/** The results must be of one run and one agent's runner. Late and repeated results change nothing. @throws Refusal unavailable */
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
