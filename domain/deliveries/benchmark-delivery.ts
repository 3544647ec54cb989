import { hash } from 'node:crypto';
import type { BenchmarkRun } from '../benchmarks/benchmark-run.ts';
import type { Task } from '../benchmarks/dataset.ts';
import { partsField } from '../bodies/delivery-body.ts';
import type { DeliveryFacts } from './delivery.ts';

export const BENCHMARK_PROVIDER = 'benchmark';

/**
 * The delivery sends a benchmark run to its agent: it is recorded, sent, acknowledged and sent again like a provider's. It has the id of
 * the run; `integration_id` is the id of the benchmark.
 */
export type BenchmarkDeliveryFacts = DeliveryFacts & { provider: typeof BENCHMARK_PROVIDER; benchmark: string };

const JSON_TYPE = 'application/json';

/** JSON, with each task as the unchanged line of the dataset. */
const contentOf = (run: BenchmarkRun, tasks: readonly Task[]): string => {
  const { id: run_id, benchmark, harness, evaluator_strategy, evaluator_config, trajectory_builder, expires_at } = run;
  const head = { run_id, benchmark, harness, evaluator_strategy, evaluator_config, trajectory_builder, expires_at };
  const items = tasks.map(({ id, line }) => `{"id":${JSON.stringify(id)},"task":${line}}`);
  return `${JSON.stringify(head).slice(0, -1)},"tasks":[${items.join(',')}]}`;
};

/** `at` is RFC 3339 UTC. */
export const benchmarkDelivery = (
  run: BenchmarkRun,
  tasks: readonly Task[],
  at: string,
): { readonly facts: BenchmarkDeliveryFacts; readonly body: Uint8Array } => {
  const body = new TextEncoder().encode(contentOf(run, tasks));
  const facts: BenchmarkDeliveryFacts = {
    integration_id: run.benchmark_id,
    agent_id: run.agent_id,
    provider: BENCHMARK_PROVIDER,
    provider_delivery_id: run.id,
    event: null,
    content_type: JSON_TYPE,
    sha256: hash('sha256', body, 'hex'),
    size_bytes: body.length,
    ...partsField(body.length),
    matched_secret: null,
    received_at: at,
    reason: null,
    guardrails: [],
    benchmark: run.benchmark,
  };
  return { facts, body };
};
