import { z } from 'zod';
import {
  BenchmarkCreate,
  BenchmarkUpdate,
  createBenchmark,
  retireBenchmark,
  updateBenchmark,
} from '../../commands/benchmarks/benchmark.ts';
import type { DatasetPorts } from '../../commands/benchmarks/dataset-location.ts';
import { BENCHMARK_SORTS, benchmarkBySlug, benchmarkPage } from '../../projections/benchmarks/benchmark.queries.ts';
import { BenchmarkRead, benchmarks } from '../../projections/benchmarks/benchmark.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { Flag, listQuery, windowOf } from '../http/paging.ts';

const BENCHMARKS = '/benchmarks';
const BENCHMARK = `${BENCHMARKS}/:slug`;

export const benchmarkOperationsOf = (ports: DatasetPorts<Ctx>) => ({
  listBenchmarks: operation({
    method: 'get',
    path: BENCHMARKS,
    summary: 'List the benchmarks',
    permit: 'any',
    query: listQuery(
      {
        q: z.string().min(1).max(128).optional().meta({ description: 'Only benchmarks with this text in their name or slug' }),
        is_active: Flag.optional().meta({ description: 'Only benchmarks that can be run, or only those that cannot' }),
      },
      BENCHMARK_SORTS,
    ),
    reply: z.array(BenchmarkRead),
    projection: benchmarks.name,
    run: (ctx, { q, is_active, ...window }) => benchmarkPage(ctx.reads, { q, is_active }, windowOf(window, BENCHMARK_SORTS)),
  }),
  createBenchmark: operation({
    method: 'post',
    path: BENCHMARKS,
    summary: 'Add a benchmark to the catalogue',
    details: 'Every tenant can run it. A line of its dataset is one task: a JSON object, whose `id` is optional.',
    permit: 'platform',
    body: BenchmarkCreate,
    reply: BenchmarkRead,
    status: 201,
    location: BENCHMARK,
    run: createBenchmark(ports),
  }),
  readBenchmark: operation({
    method: 'get',
    path: BENCHMARK,
    summary: 'Read a benchmark',
    permit: 'any',
    reply: BenchmarkRead,
    projection: benchmarks.name,
    run: (ctx, { slug }) => benchmarkBySlug(ctx.reads, slug),
  }),
  updateBenchmark: operation({
    method: 'patch',
    path: BENCHMARK,
    summary: 'Change a benchmark',
    details: 'While it is read-only, only `read_only` itself can be changed. Runs that are queued already stay as they are.',
    permit: 'platform',
    body: BenchmarkUpdate,
    reply: BenchmarkRead,
    run: updateBenchmark(ports),
  }),
  retireBenchmark: operation({
    method: 'delete',
    path: BENCHMARK,
    summary: 'Remove a benchmark from the catalogue',
    details: 'Its runs stay. The slug can be used again. A read-only benchmark cannot be removed.',
    permit: 'platform',
    run: retireBenchmark,
  }),
});
