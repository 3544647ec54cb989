import { z } from 'zod';
import { HARNESSES } from '../../domain/benchmarks/benchmark.ts';
import * as BenchmarkRun from '../../domain/benchmarks/benchmark-run.ts';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import { type Change, insert, insertDerived, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';

const Score = z.number().nullable();
const Digest = z.string();

const TaskRead = z.object({
  id: z.string().meta({ description: 'The id of the task in the dataset', examples: ['task-1'] }),
  status: z.enum(BenchmarkRun.TASK_STATUSES).meta({ description: '`failed`: the runner reported an error instead of a score' }),
  score: Score.meta({ description: 'From 0 to 1; null if there is none', examples: [1] }),
  seconds: z
    .number()
    .nullable()
    .meta({ description: 'How long the agent took, as the runner reported it', examples: [42.5] }),
  error: z
    .string()
    .nullable()
    .meta({ description: 'Why there is no score', examples: [null] }),
  trajectory_sha256: Digest.nullable().meta({
    description: 'The SHA-256 of what the agent did, in hex: `/tenant/{tenant_id}/files/{digest}` returns it; null if it was not reported',
    examples: [null],
  }),
});

export const BenchmarkRunRead = z
  .object({
    id: idOf('benchmark run'),
    tenant_id: idOf('tenant'),
    benchmark: z.string().meta({ description: 'The slug of the benchmark', examples: ['bug-fixes'] }),
    benchmark_id: idOf('benchmark'),
    agent_id: idOf('agent'),
    harness: z.enum(HARNESSES).meta({ description: 'The program that runs the agent' }),
    dataset_sha256: Digest.meta({
      description: 'The SHA-256 of the dataset, in hex: `/tenant/{tenant_id}/files/{digest}` returns it',
      examples: ['9f86d081'.repeat(8)],
    }),
    status: z.enum(BenchmarkRun.RUN_STATUSES).meta({ description: '`running` from the first result of a task on' }),
    score: Score.meta({
      description: 'The mean of the scores of all tasks, where a failed task counts as 0; null unless the run is completed',
      examples: [null],
    }),
    error: z
      .string()
      .nullable()
      .meta({ description: 'Why the run failed', examples: [null] }),
    tasks: z.array(TaskRead).meta({ description: 'The tasks, in the order of the dataset' }),
    expires_at: Timestamp.meta({ description: 'When the run fails if it has not ended before' }),
    finished_at: Timestamp.nullable().meta({ description: 'When the run ended', examples: [null] }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'BenchmarkRunRead' });

/** `open_since` is the time at which the run was queued; null after it has ended. */
export const table = {
  name: 'runs',
  key: ['tenant_id', 'id'],
  stream: BenchmarkRun.category,
  isReadByChanges: true,
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    benchmark: 'text',
    status: 'text',
    score: 'double precision',
    open_since: 'timestamptz',
    expires_at: 'timestamptz',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  docs: { doc: BenchmarkRunRead },
  indexes: [
    { columns: ['tenant_id', 'created_at', 'id'] },
    { columns: ['tenant_id', 'agent_id', 'created_at', 'id'] },
    { columns: ['open_since', 'id'], withoutNull: 'open_since' },
  ],
} as const satisfies Table;

/** The contents that runs of agents have stored: datasets and trajectories. */
export const fileTable = {
  name: 'files',
  key: ['tenant_id', 'run_id', 'name'],
  columns: { tenant_id: 'text', run_id: 'text', name: 'text', sha256: 'text', agent_id: 'text' },
  docs: {},
  indexes: [{ columns: ['tenant_id', 'sha256', 'agent_id'] }],
} as const satisfies Table;

type TaskScored = Recorded<Extract<BenchmarkRun.BenchmarkRunEvent, { type: 'BenchmarkTaskScored' }>>;

/**
 * The value of the task column for a dataset. It cannot be the id of a task, because task ids do not begin with a
 * space.
 */
export const DATASET = ' dataset';

const fileOf = ({ tenant: tenant_id, id: run_id }: Recorded, agent_id: string, name: string, sha256: string): Change =>
  insert('files', { tenant_id, run_id, name, sha256, agent_id });

const showResult = (event: TaskScored): readonly Change[] => {
  const { tenant: tenant_id, id, at, data } = event;
  const { task_id, agent_id, trajectory_sha256 } = data;
  const key = { tenant_id, id };
  const complete = ({ run }: Readonly<Record<string, Record<string, unknown> | null>>) => {
    const tasks = (run?.tasks ?? []) as readonly BenchmarkRun.TaskView[];
    const ended = tasks.map((task) => (task.id === task_id ? BenchmarkRun.endedTask(task_id, data) : task));
    return { ...run, status: 'running', tasks: ended, updated_at: at };
  };
  return [
    insertDerived('runs', key, { reads: { run: { table: 'runs', key } }, complete }),
    ...(trajectory_sha256 === null ? [] : [fileOf(event, agent_id, task_id, trajectory_sha256)]),
  ];
};

export const benchmarkRuns = {
  name: 'benchmark_runs',
  version: 1,
  categories: [BenchmarkRun.category],
  tables: [table, fileTable],
  on: {
    BenchmarkRunQueued: (event) => {
      const run = BenchmarkRun.evolve(BenchmarkRun.initial, event);
      const shown = omit(run, 'results', 'evaluator_strategy', 'evaluator_config', 'trajectory_builder', 'dataset_uri');
      const { task_ids, ...row } = shown;
      return [
        insert('runs', { ...row, tasks: task_ids.map(BenchmarkRun.pendingTask), open_since: event.at }),
        fileOf(event, run.agent_id, DATASET, run.dataset_sha256),
      ];
    },
    BenchmarkTaskScored: showResult,
    BenchmarkRunFinished: ({ tenant: tenant_id, id, at, data: { status, score, error } }) =>
      patch('runs', { tenant_id, id }, { status, score, error, open_since: null, finished_at: at, updated_at: at }),
  },
} as const satisfies Projection<BenchmarkRun.BenchmarkRunEvent>;
