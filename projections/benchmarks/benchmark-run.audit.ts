import type { BenchmarkRunEvent } from '../../domain/benchmarks/benchmark-run.ts';
import type { AuditOf } from '../audit-record.ts';

export const benchmarkRunAudit = {
  BenchmarkRunQueued: { summary: 'queued a run of the agent {agent} on the benchmark {benchmark}', activity: 'create' },
  BenchmarkTaskScored: { summary: 'recorded the result of the task {task_id} of a benchmark run of the agent {agent}', activity: 'update' },
  BenchmarkRunFinished: { summary: 'finished a benchmark run of the agent {agent}: {status}', activity: 'update' },
} satisfies AuditOf<BenchmarkRunEvent>;
