import fc from 'fast-check';
import * as Benchmark from '../../domain/benchmarks/benchmark.ts';
import * as BenchmarkRun from '../../domain/benchmarks/benchmark-run.ts';
import { omit } from '../../domain/omit.ts';
import * as benchmark from '../../projections/benchmarks/benchmark.queries.ts';
import * as run from '../../projections/benchmarks/benchmark-run.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { MIDDLE_TIME, newest, pages, single, TENANT } from '../fixtures/query-case.ts';
import { NOW, repeated } from '../fixtures/repeated-decisions.ts';

const queries: AreaCases['queries'] = {
  benchmarkPage: {
    ...pages((reads, window) => benchmark.benchmarkPage(reads, {}, window)),
    'with a part of the name': { rows: 'page', run: (reads) => benchmark.benchmarkPage(reads, { q: 'r050007' }, newest) },
    'that can be run': { rows: 'page', run: (reads) => benchmark.benchmarkPage(reads, { is_active: true }, newest) },
  },
  benchmarkBySlug: single((reads) => benchmark.benchmarkBySlug(reads, 'text 7')),
  benchmarkRunPage: pages((reads, window) => run.benchmarkRunPage(reads, { tenant_id: TENANT }, window)),
  runsToAdvance: { call: { rows: 'tenant', run: (reads) => run.runsToAdvance(reads, MIDDLE_TIME) } },
  hasOpenRuns: single((reads) => run.hasOpenRuns(reads)),
  runFilesWithDigest: { call: { rows: 'tenant', run: (reads) => run.runFilesWithDigest(reads, TENANT, 'text 7') } },
};

const fields = omit(Benchmark.initial, 'status', 'id', 'created_at', 'updated_at');
const update = fc
  .record({ display_name: fc.constantFrom('a', 'b', null), read_only: fc.constantFrom(true, false, null) })
  .map(Benchmark.update);

const runFields = { ...BenchmarkRun.initial, agent_id: 'a', task_ids: ['a', 'b'] };
const result = { score: 1, seconds: 2, error: null, trajectory_sha256: null };

const decisions: AreaCases['decisions'] = [
  repeated(Benchmark, [], {
    'benchmarks/benchmark.ts create': fc.constant(Benchmark.create(fields, 0)),
    'benchmarks/benchmark.ts update': update,
    'benchmarks/benchmark.ts retire': fc.constant(Benchmark.retire),
  }),
  repeated(BenchmarkRun, [], {
    'benchmarks/benchmark-run.ts queue': fc.constant(BenchmarkRun.queue(runFields, NOW)),
    'benchmarks/benchmark-run.ts scoreTasks': fc
      .constantFrom('a', 'b', 'c')
      .map((id) => BenchmarkRun.scoreTasks('a', [{ ...result, task_id: id }])),
    'benchmarks/benchmark-run.ts fail': fc.constant(BenchmarkRun.fail('why')),
  }),
];

export const cases: AreaCases = { queries, decisions };
