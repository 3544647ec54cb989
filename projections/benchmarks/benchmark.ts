import { z } from 'zod';
import * as Benchmark from '../../domain/benchmarks/benchmark.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import { insert, type Projection, patch, remove } from '../projection.ts';
import type { Table } from '../table.ts';

export const BenchmarkRead = z
  .object({
    id: idOf('benchmark'),
    slug: z.string().meta({ description: 'The unique name in the URL; it never changes', examples: ['bug-fixes'] }),
    display_name: z.string().meta({ description: 'The name for people', examples: ['Bug fixes'] }),
    description: z
      .string()
      .nullable()
      .meta({ description: 'What the benchmark measures', examples: [null] }),
    dataset_uri: z.string().meta({ description: 'Where the tasks are', examples: ['https://example.com/bug-fixes.jsonl'] }),
    dataset_sha256: z
      .string()
      .nullable()
      .meta({ description: 'The SHA-256 of the uploaded dataset, in hex; null if the dataset is read from a URL', examples: [null] }),
    default_harness: z.enum(Benchmark.HARNESSES).meta({ description: 'The program that runs the agent, unless a run names another' }),
    evaluator_strategy: z.string().meta({ description: 'How the runner scores an answer; its name for that', examples: ['exact_match'] }),
    evaluator_config: z.record(z.string(), z.unknown()).meta({ description: 'Settings of the evaluator, for the runner', examples: [{}] }),
    trajectory_builder: z
      .enum(Benchmark.TRAJECTORY_BUILDERS)
      .meta({ description: 'How the runner joins the requests to the language model into a trajectory' }),
    is_active: z.boolean().meta({ description: 'Whether it can be run', examples: [true] }),
    read_only: z.boolean().meta({ description: 'Whether it is protected from changes and deletion' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'BenchmarkRead' });

export const table = {
  name: 'benchmarks',
  key: ['id'],
  stream: 'benchmark',
  columns: {
    id: 'text',
    slug: 'text',
    display_name: 'text',
    is_active: 'boolean',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  docs: { doc: BenchmarkRead },
  search: ['display_name', 'slug'],
  indexes: [{ columns: ['created_at', 'id'] }, { columns: ['slug'], unique: true }],
} as const satisfies Table;

export const benchmarks = {
  name: 'benchmarks',
  version: 2,
  categories: ['benchmark'],
  tables: [table],
  on: {
    BenchmarkCreated: (event) => {
      const row = omit(Benchmark.evolve(Benchmark.initial, event), 'status');
      return insert('benchmarks', row);
    },
    BenchmarkUpdated: ({ id, at, data }) => patch('benchmarks', { id }, { ...data, updated_at: at }),
    BenchmarkRetired: ({ id }) => remove('benchmarks', { id }),
  },
} as const satisfies Projection<Benchmark.BenchmarkEvent>;
