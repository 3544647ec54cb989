import { z } from 'zod';
import * as Benchmark from '../../domain/benchmarks/benchmark.ts';
import * as BenchmarkRun from '../../domain/benchmarks/benchmark-run.ts';
import { MAX_RUN_TASKS, MAX_TASK_ID_LENGTH, parseDataset, selectTasks } from '../../domain/benchmarks/dataset.ts';
import { PLATFORM } from '../../domain/event.ts';
import { displayText } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { conflict, invalid, Refusal } from '../../domain/refusal.ts';
import { loadAgent } from '../agents/agent.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { refusalOfEgress } from '../egress-failure.ts';
import { BenchmarkSlug, benchmarkWithSlug } from './benchmark.ts';
import { type DatasetHost, readDataset } from './dataset-location.ts';

export const BenchmarkRunCreate = z
  .strictObject({
    benchmark: BenchmarkSlug.meta({ description: 'The slug of the benchmark', examples: ['bug-fixes'] }),
    agent_id: idOf('agent', 'The id of the agent that is to be measured'),
    harness: z
      .enum(Benchmark.HARNESSES)
      .nullish()
      .meta({ description: 'The program that runs the agent; null: the default of the benchmark' }),
    tasks: z
      .array(displayText(1, MAX_TASK_ID_LENGTH))
      .min(1, 'must name at least one task')
      .max(MAX_RUN_TASKS, `must name at most ${MAX_RUN_TASKS} tasks`)
      .nullish()
      .meta({ description: 'The ids of the tasks to run; null: all tasks of the dataset', examples: [['task-1', 'task-2']] }),
  })
  .meta({ id: 'BenchmarkRunCreate' });

/** The request field that refers to the dataset. */
const POINTER = '/benchmark';

/** @throws Refusal invalid if it does not exist, conflict if it is inactive */
const loadRunnable = async (ctx: Ctx, slug: string): Promise<Benchmark.Benchmark> => {
  const { state } = await benchmarkWithSlug(ctx, slug);
  if (state.status !== 'live') throw invalid(POINTER, 'there is no such benchmark', 'unknown_benchmark');
  if (!state.is_active) throw conflict(POINTER, 'benchmark_inactive', 'The benchmark is inactive: it cannot be run');
  return state;
};

/** @throws Refusal invalid, unavailable, bad_gateway */
const contentOf = async (ctx: Ctx, host: DatasetHost, { dataset_uri, dataset_sha256 }: Benchmark.Dataset): Promise<Uint8Array> => {
  if (dataset_sha256 === null) {
    const { bytes, failed } = await host.fetch(dataset_uri);
    if (failed) throw refusalOfEgress(failed, POINTER);
    return bytes;
  }
  const blob = await ctx.inTenant(PLATFORM).blobs.get(dataset_sha256);
  if (!blob) throw new Refusal('unavailable', 'The dataset of the benchmark cannot be read', { retryAfter: 60 });
  return readDataset(blob, POINTER);
};

type RunInput = Input<typeof BenchmarkRunCreate, 'tenant_id'>;

/** Stores the dataset in the file store of the tenant. */
const prepareRun = async (ctx: Ctx, host: DatasetHost, { benchmark: slug, agent_id, harness, tasks = null }: RunInput) => {
  const benchmark = await loadRunnable(ctx, slug);
  const bytes = await contentOf(ctx, host, benchmark);
  const selected = selectTasks(parseDataset(bytes, POINTER), tasks);
  const { sha256: dataset_sha256 } = await ctx.blobs.put(bytes);
  const { id: benchmark_id, default_harness, evaluator_strategy, evaluator_config, trajectory_builder, dataset_uri } = benchmark;
  return {
    ...{ benchmark_id, benchmark: slug, agent_id, harness: harness ?? default_harness },
    ...{ evaluator_strategy, evaluator_config, trajectory_builder, dataset_uri, dataset_sha256 },
    task_ids: selected.map(({ id }) => id),
  };
};

/** As in the response schema BenchmarkRunRead. */
const runView = (run: BenchmarkRun.BenchmarkRun) => ({ ...run, tasks: BenchmarkRun.tasksOf(run) });

const assertActive = async (ctx: Ctx, agent_id: string): Promise<void> => {
  const { state } = await loadAgent(ctx, agent_id);
  if (!state.is_active) throw conflict('/agent_id', 'agent_inactive', 'The agent is inactive: activate it to run benchmarks');
};

/** The function throws Refusal not_found, invalid, unavailable, conflict if agent or benchmark is inactive, bad_gateway without dataset. */
export const queueBenchmarkRun =
  (host: DatasetHost) =>
  async (ctx: Ctx, input: RunInput): Promise<Loaded<ReturnType<typeof runView>>> => {
    const fields = await ctx.sideEffect(async () => {
      await assertActive(ctx, input.agent_id);
      return prepareRun(ctx, host, input);
    });
    const loaded = await ctx.transact(BenchmarkRun, ctx.newId(), BenchmarkRun.queue(fields, ctx.at()), { expectNew: true });
    return { ...loaded, state: runView(loaded.state) };
  };
