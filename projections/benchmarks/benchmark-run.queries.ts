import type { RunStatus } from '../../domain/benchmarks/benchmark-run.ts';
import { MAX_AGENTS_OF_FILE } from '../file-selection.ts';
import { defineList, defineQuery } from '../query.ts';
import type { Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { BenchmarkRunRead, DATASET, table } from './benchmark-run.ts';

export const BENCHMARK_RUN_SORTS = sortFields(table, BenchmarkRunRead);

/** The runs of a tenant that a filter selects. With `agent_ids`, only the runs of these agents. */
export type SelectedRuns = {
  readonly tenant_id: string;
  readonly agent_ids?: readonly string[] | undefined;
  readonly agent_id?: string | undefined;
  readonly benchmark?: string | undefined;
  readonly status?: RunStatus | undefined;
};

const runList = defineList({ table }, (db, { tenant_id, agent_ids, agent_id, benchmark, status }: SelectedRuns) =>
  db
    .selectFrom('benchmark_runs.runs as run')
    .where('run.tenant_id', '=', tenant_id)
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('run.agent_id', '=', fn.any(val(agent_ids!)))))
    .$if(agent_id !== undefined, (query) => query.where('run.agent_id', '=', agent_id!))
    .$if(benchmark !== undefined, (query) => query.where('run.benchmark', '=', benchmark!))
    .$if(status !== undefined, (query) => query.where('run.status', '=', status!)),
);

export const benchmarkRunPage = (reads: Reads, runs: SelectedRuns, window: PageWindow): Promise<Page> => reads.page(runList, runs, window);

/** A stored content of the runs of one agent: a dataset or a trajectory. */
export type RunFile = { readonly agent_id: string; readonly kind: 'dataset' | 'trajectory' };

const filesByDigest = defineQuery((db, { tenant_id, sha256 }: { tenant_id: string; sha256: string }) =>
  db
    .selectFrom('benchmark_runs.files as file')
    .distinctOn('file.agent_id')
    .select(['file.agent_id', 'file.name'])
    .where('file.tenant_id', '=', tenant_id)
    .where('file.sha256', '=', sha256)
    .orderBy('file.agent_id')
    .limit(({ lit }) => lit(MAX_AGENTS_OF_FILE)),
);

/** Returns the datasets and trajectories with this digest in the runs of a tenant, one per agent. */
export const runFilesWithDigest = async (reads: Reads, tenant_id: string, sha256: string): Promise<RunFile[]> =>
  (await reads.rows(filesByDigest, { tenant_id, sha256 })).map(({ agent_id, name }) => ({
    agent_id: agent_id!,
    kind: name === DATASET ? 'dataset' : 'trajectory',
  }));

/** The maximum number of runs that `runsToAdvance` returns. */
export const MAX_ADVANCED_RUNS = 500;

const dueRuns = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('benchmark_runs.runs as run')
    .leftJoin('deliveries.deliveries as delivery', (join) =>
      join.onRef('delivery.tenant_id', '=', 'run.tenant_id').onRef('delivery.id', '=', 'run.id'),
    )
    .where('run.open_since', 'is not', null)
    .where(({ or, eb }) =>
      or([
        eb('delivery.id', 'is', null),
        eb('delivery.status', '=', 'done'),
        eb('delivery.status', '=', 'dead'),
        eb('run.expires_at', '<=', at),
      ]),
    )
    .orderBy('run.open_since')
    .orderBy('run.id')
    .select(['run.tenant_id', 'run.id', 'delivery.status'])
    .limit(({ lit }) => lit(MAX_ADVANCED_RUNS)),
);

/**
 * Returns the open runs that must be sent or ended at the time `at`, in all tenants, oldest first. Each has the status
 * of its delivery, or null if it has no delivery.
 */
export const runsToAdvance = (reads: Pick<Reads, 'rows'>, at: string) => reads.rows(dueRuns, { at });

const openRuns = defineQuery((db) =>
  db
    .selectFrom('benchmark_runs.runs as run')
    .where('run.open_since', 'is not', null)
    .orderBy('run.open_since')
    .select('run.id')
    .limit(({ lit }) => lit(1)),
);

export const hasOpenRuns = async (reads: Pick<Reads, 'rows'>): Promise<boolean> => (await reads.rows(openRuns, {})).length > 0;
