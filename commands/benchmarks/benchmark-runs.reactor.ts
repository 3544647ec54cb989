import type { Decision } from '../../domain/aggregate.ts';
import * as BenchmarkRun from '../../domain/benchmarks/benchmark-run.ts';
import { parseDataset, selectTasks } from '../../domain/benchmarks/dataset.ts';
import type { Actor } from '../../domain/event.ts';
import { type BenchmarkDeliveryFacts, benchmarkDelivery } from '../../domain/webhooks/benchmark-delivery.ts';
import type { InactiveReason } from '../schedule/scheduler.reactor.ts';
import { decodeReport, type TaskReport } from './task-report.ts';

export type RunRef = { readonly tenant_id: string; readonly id: string };

/**
 * A run that has not ended, according to the read models. `has_delivery` is whether the run was sent, and `outcome` how
 * its delivery ended.
 */
export type OpenRun = RunRef & { readonly has_delivery: boolean; readonly outcome: 'acknowledged' | 'given_up' | null };

/** The functions that are needed to send runs to agents and to record results. Times are in milliseconds. */
export type BenchmarkRunPorts = {
  readonly now: () => number;
  readonly loadRun: (run: RunRef) => Promise<BenchmarkRun.BenchmarkRun>;
  readonly inactiveReason: (tenant_id: string, agent_id: string) => Promise<InactiveReason | null>;
  /** Returns a stored file of the tenant. @throws Refusal unavailable */
  readonly readContent: (tenant_id: string, sha256: string) => Promise<Uint8Array>;
  /** Stores a file of the tenant, and returns its SHA-256. @throws Refusal unavailable */
  readonly storeContent: (tenant_id: string, content: Uint8Array) => Promise<string>;
  /** Appends the first event of the delivery of a run. Does nothing if the delivery exists. */
  readonly createDelivery: (run: RunRef, facts: BenchmarkDeliveryFacts, body: Uint8Array) => Promise<void>;
  readonly transact: (
    run: RunRef,
    actor: Actor,
    decide: Decision<BenchmarkRun.BenchmarkRun, BenchmarkRun.BenchmarkRunEvent>,
  ) => Promise<unknown>;
};

/** The actor of events with which the platform ends runs. */
export const BENCHMARKS: Actor = { kind: 'system', id: 'benchmarks' };

const INACTIVE_TEXTS: Readonly<Record<InactiveReason, string>> = {
  agent_inactive: 'The agent is inactive or deleted',
  tenant_suspended: 'The tenant is suspended or closed',
};

const ENDED_EARLY = {
  acknowledged: 'The runner has acknowledged the run without a result for every task',
  given_up: 'The message with the run was given up: no runner has processed it, or a runner has refused it',
} as const;

const EXPIRED = `The run has not ended within ${BenchmarkRun.MAX_RUN_HOURS} hours`;

/**
 * Sends a run to the runner of its agent. Returns null if it was sent, and otherwise the reason why it cannot be sent.
 */
const send = async (ports: BenchmarkRunPorts, run: BenchmarkRun.BenchmarkRun): Promise<string | null> => {
  const { tenant_id, id, agent_id, dataset_sha256, task_ids } = run;
  const inactive = await ports.inactiveReason(tenant_id, agent_id);
  if (inactive) return INACTIVE_TEXTS[inactive];
  const dataset = parseDataset(await ports.readContent(tenant_id, dataset_sha256), '/benchmark');
  const { facts, body } = benchmarkDelivery(run, selectTasks(dataset, task_ids), new Date(ports.now()).toISOString());
  await ports.createDelivery({ tenant_id, id }, facts, body);
  return null;
};

/**
 * Does what is next for an open run: sends it if it was not sent yet, and ends it if its time is over or if its message
 * was acknowledged or given up. Before this, results that were published until the message ended must be recorded.
 */
export const advanceRun = async (ports: BenchmarkRunPorts, { tenant_id, id, has_delivery, outcome }: OpenRun): Promise<void> => {
  const ref = { tenant_id, id };
  const run = await ports.loadRun(ref);
  const end = (error: string) => ports.transact(ref, BENCHMARKS, BenchmarkRun.fail(error));
  if (Date.parse(run.expires_at) <= ports.now()) return void (await end(EXPIRED));
  if (outcome) return void (await end(ENDED_EARLY[outcome]));
  const failure = has_delivery ? null : await send(ports, run);
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
export const recordReports = async (ports: BenchmarkRunPorts, reports: readonly Report[]): Promise<void> => {
  const { tenant, agent, run_id: id } = reports[0]!;
  const ref = { tenant_id: tenant, id };
  const counted = BenchmarkRun.newResults(await ports.loadRun(ref), agent, reports.map(resultOf));
  const withTrajectory = async (result: BenchmarkRun.ScoredTask): Promise<BenchmarkRun.ScoredTask> => {
    const { trajectory = null } = reports.find(({ task_id }) => task_id === result.task_id)!;
    if (trajectory === null) return result;
    return { ...result, trajectory_sha256: await ports.storeContent(tenant, new TextEncoder().encode(JSON.stringify(trajectory))) };
  };
  const results = await Promise.all(counted.map(withTrajectory));
  if (results.length > 0) await ports.transact(ref, { kind: 'agent', id: agent }, BenchmarkRun.scoreTasks(agent, results));
};
