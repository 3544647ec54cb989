import { z } from 'zod';
import { BenchmarkSlug } from '../../commands/benchmarks/benchmark.ts';
import { BenchmarkRunCreate, queueBenchmarkRun } from '../../commands/benchmarks/benchmark-run.ts';
import type { DatasetHost } from '../../commands/benchmarks/dataset-location.ts';
import { RUN_STATUSES } from '../../domain/benchmarks/benchmark-run.ts';
import { Id25 } from '../../domain/id.ts';
import { BENCHMARK_RUN_SORTS, benchmarkRunPage } from '../../projections/benchmarks/benchmark-run.queries.ts';
import { BenchmarkRunRead, benchmarkRuns } from '../../projections/benchmarks/benchmark-run.ts';
import { requireOnAgentInBody } from '../agents/agent-in-body.ts';
import { agentsWithPermission } from '../agents/readable-agents.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

const RUNS = '/tenant/:tenant_id/benchmark-runs';

/** The operations on runs of benchmarks. `host` reads the datasets. */
export const benchmarkRunOperationsOf = (host: DatasetHost) => ({
  listBenchmarkRuns: operation({
    method: 'get',
    path: RUNS,
    summary: 'List the benchmark runs of the tenant',
    permit: 'tenant:read',
    permissionNote: 'Requires the permission `tenant:read`. Lists the runs of the agents on which the caller has `agent:read`.',
    query: listQuery(
      {
        agent_id: Id25.optional().meta({ description: 'Only runs of this agent' }),
        benchmark: BenchmarkSlug.optional().meta({ description: 'Only runs on the benchmark with this slug' }),
        status: z.enum(RUN_STATUSES).optional().meta({ description: 'Only runs with this status' }),
      },
      BENCHMARK_RUN_SORTS,
    ),
    reply: z.array(BenchmarkRunRead),
    projection: benchmarkRuns.name,
    run: async (ctx, { agent_id, benchmark, status, ...window }) => {
      // A caller who may read the audit log of the tenant may read the runs of all its agents.
      const agent_ids = (await ctx.may('tenant:audit:read')) ? undefined : await agentsWithPermission(ctx, 'agent:read');
      const runs = { tenant_id: ctx.tenant, agent_ids, agent_id, benchmark, status };
      return benchmarkRunPage(ctx.reads, runs, windowOf(window, BENCHMARK_RUN_SORTS));
    },
  }),
  queueBenchmarkRun: operation({
    method: 'post',
    path: RUNS,
    summary: 'Run a benchmark with an agent',
    details:
      'Reads the dataset and queues its tasks for the runner of the agent, which reports a score for each; see `/asyncapi.json`. A run has at most 1,000 tasks, and fails if it has not ended after 24 hours. An inactive agent or benchmark is refused with 409.',
    permit: 'tenant:read',
    permissionNote: 'Requires the permission `agent:assign` on the agent.',
    preauthorize: requireOnAgentInBody('agent:assign'),
    body: BenchmarkRunCreate,
    reply: BenchmarkRunRead,
    status: 202,
    asksOtherHosts: true,
    run: queueBenchmarkRun(host),
  }),
});
