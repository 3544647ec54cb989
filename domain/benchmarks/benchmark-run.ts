import type { Recorded } from '../event.ts';
import { type ById, type Transient, withEntry } from '../immutable-record.ts';
import type { Benchmark, Harness, TrajectoryBuilder } from './benchmark.ts';

/** The delivery that sends the tasks to the runner has the same id as the run. */
export const category = 'benchmarkrun';

export const RUN_STATUSES = ['queued', 'running', 'completed', 'failed'] as const;
export const TASK_STATUSES = ['pending', 'scored', 'failed'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** A run that has not ended by then fails. */
export const MAX_RUN_HOURS = 24;

/** The benchmark's fields as they were when the run was queued. `dataset_sha256`: digest of the copy in the tenant's file store. */
export type RunFields = Pick<Benchmark, 'evaluator_strategy' | 'evaluator_config' | 'dataset_uri'> & {
  readonly benchmark_id: string;
  readonly benchmark: string;
  readonly agent_id: string;
  readonly harness: Harness;
  readonly trajectory_builder: TrajectoryBuilder;
  readonly dataset_sha256: string;
  readonly task_ids: readonly string[];
};

/**
 * A score from 0 to 1 or, without one, the reason in `error`. `trajectory_sha256`: a file in the tenant's file store that records what the
 * agent did.
 */
export type TaskResult = {
  readonly score: number | null;
  readonly seconds: number | null;
  readonly error: string | null;
  readonly trajectory_sha256: string | null;
};

type Ending = { readonly status: 'completed' | 'failed'; readonly score: number | null; readonly error: string | null };

export type BenchmarkRunEvent =
  | { type: 'BenchmarkRunQueued'; data: RunFields & { readonly expires_at: string } }
  | { type: 'BenchmarkTaskScored'; data: TaskResult & { readonly agent_id: string; readonly task_id: string } }
  | { type: 'BenchmarkRunFinished'; data: Ending & { readonly agent_id: string } };

/** `results` has the ended tasks, by id. */
export type BenchmarkRun = RunFields & {
  readonly status: 'absent' | RunStatus;
  readonly id: string;
  readonly tenant_id: string;
  readonly results: ById<TaskResult>;
  readonly score: number | null;
  readonly error: string | null;
  readonly expires_at: string;
  readonly finished_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export const initial: BenchmarkRun = {
  status: 'absent',
  id: '',
  tenant_id: '',
  benchmark_id: '',
  benchmark: '',
  agent_id: '',
  harness: 'claude_code',
  evaluator_strategy: '',
  evaluator_config: {},
  trajectory_builder: 'prefix_merging',
  dataset_uri: '',
  dataset_sha256: '',
  task_ids: [],
  results: {},
  score: null,
  error: null,
  expires_at: '',
  finished_at: null,
  created_at: '',
  updated_at: '',
};

const resultOf = ({ score, seconds, error, trajectory_sha256 }: TaskResult): TaskResult => ({ score, seconds, error, trajectory_sha256 });

export const evolve = (run: BenchmarkRun, event: Recorded<BenchmarkRunEvent>, transient?: Transient): BenchmarkRun => {
  const { type, data, id, tenant, at } = event;
  switch (type) {
    case 'BenchmarkRunQueued':
      return { ...run, ...data, status: 'queued', id, tenant_id: tenant, created_at: at, updated_at: at };
    case 'BenchmarkTaskScored':
      return { ...run, status: 'running', results: withEntry(run.results, data.task_id, resultOf(data), transient), updated_at: at };
    case 'BenchmarkRunFinished':
      return { ...run, ...data, finished_at: at, updated_at: at };
  }
};

/** As in the response schema BenchmarkRunRead. */
export type TaskView = TaskResult & { readonly id: string; readonly status: (typeof TASK_STATUSES)[number] };

export const pendingTask = (id: string): TaskView => ({
  id,
  status: 'pending',
  score: null,
  seconds: null,
  error: null,
  trajectory_sha256: null,
});

export const endedTask = (id: string, result: TaskResult): TaskView => ({
  id,
  status: result.error === null ? 'scored' : 'failed',
  ...resultOf(result),
});

/** In the order of the dataset. */
export const tasksOf = ({ task_ids, results }: Pick<BenchmarkRun, 'task_ids' | 'results'>): readonly TaskView[] =>
  task_ids.map((id) => (Object.hasOwn(results, id) ? endedTask(id, results[id]!) : pendingTask(id)));

const isOpen = ({ status }: BenchmarkRun): boolean => status === 'queued' || status === 'running';

/** `at` is RFC 3339 UTC. */
export const queue =
  (fields: RunFields, at: string) =>
  (run: BenchmarkRun): BenchmarkRunEvent[] => {
    if (run.status !== 'absent') return [];
    const expires_at = new Date(Date.parse(at) + MAX_RUN_HOURS * 3_600_000).toISOString();
    return [{ type: 'BenchmarkRunQueued', data: { ...fields, expires_at } }];
  };

/** A task without a score counts as 0. */
const meanScore = (task_ids: readonly string[], results: ById<TaskResult>): number =>
  task_ids.reduce((sum, id) => sum + (results[id]?.score ?? 0), 0) / task_ids.length;

export type ScoredTask = TaskResult & { readonly task_id: string };

/** Returns the results of tasks of the run that have none yet; if a report has two results for a task, the first one. */
export const newResults = (run: BenchmarkRun, agent_id: string, results: readonly ScoredTask[]): readonly ScoredTask[] => {
  if (!isOpen(run) || run.agent_id !== agent_id) return [];
  const tasks = new Set(run.task_ids);
  const first = new Map<string, ScoredTask>();
  for (const result of results)
    if (tasks.has(result.task_id) && !Object.hasOwn(run.results, result.task_id) && !first.has(result.task_id))
      first.set(result.task_id, result);
  return [...first.values()];
};

/** Leaves out what `newResults` leaves out. Completes the run if every task then has a result. */
export const scoreTasks =
  (agent_id: string, reported: readonly ScoredTask[]) =>
  (run: BenchmarkRun): BenchmarkRunEvent[] => {
    const counted = newResults(run, agent_id, reported);
    const events = counted.map((data): BenchmarkRunEvent => ({ type: 'BenchmarkTaskScored', data: { agent_id, ...data } }));
    const results = { ...run.results, ...Object.fromEntries(counted.map(({ task_id, ...result }) => [task_id, result])) };
    if (events.length === 0 || run.task_ids.some((id) => !Object.hasOwn(results, id))) return events;
    const ending = { status: 'completed', score: meanScore(run.task_ids, results), error: null } as const;
    return [...events, { type: 'BenchmarkRunFinished', data: { agent_id, ...ending } }];
  };

/** Does nothing if the run has already ended. */
export const fail =
  (error: string) =>
  (run: BenchmarkRun): BenchmarkRunEvent[] =>
    isOpen(run) ? [{ type: 'BenchmarkRunFinished', data: { agent_id: run.agent_id, status: 'failed', score: null, error } }] : [];
