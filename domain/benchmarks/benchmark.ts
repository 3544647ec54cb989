import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { omit } from '../omit.ts';
import { conflict, Refusal, slugTaken } from '../refusal.ts';

/** Tasks for agents, and the rules by which their answers are scored. Belongs to the platform's catalogue. */
export const category = 'benchmark';
export const platform = true;

export const HARNESSES = ['claude_code', 'codex', 'qwen_code', 'opencode', 'pi', 'gemini_cli', 'openhands_sdk', 'shell'] as const;
export const TRAJECTORY_BUILDERS = ['prefix_merging', 'per_request'] as const;

/** A program that runs an agent on tasks. */
export type Harness = (typeof HARNESSES)[number];
export type TrajectoryBuilder = (typeof TRAJECTORY_BUILDERS)[number];

/** `dataset_sha256`: digest of the platform's copy if `dataset_uri` names an uploaded file; otherwise null. */
export type Dataset = { readonly dataset_uri: string; readonly dataset_sha256: string | null };

export type BenchmarkFields = Dataset & {
  readonly slug: string;
  readonly display_name: string;
  readonly evaluator_strategy: string;
  readonly default_harness: Harness;
  readonly description: string | null;
  readonly evaluator_config: Readonly<Record<string, unknown>>;
  readonly is_active: boolean;
  readonly read_only: boolean;
  readonly trajectory_builder: TrajectoryBuilder;
};

/** Null resets a field to its default; for a field without a default, null means no change. */
export type BenchmarkChanges = { [Name in keyof Omit<BenchmarkFields, 'slug'>]?: BenchmarkFields[Name] | null | undefined };

/** `generation`: how many earlier, retired benchmarks had this slug. */
export type BenchmarkEvent =
  | { type: 'BenchmarkCreated'; data: BenchmarkFields & { readonly generation: number } }
  | { type: 'BenchmarkUpdated'; data: Partial<Omit<BenchmarkFields, 'slug'>> }
  | { type: 'BenchmarkRetired'; data: object };

export type Benchmark = BenchmarkFields & {
  readonly status: 'absent' | 'live' | 'retired';
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
};

/** The values that null in a change sets. */
const defaults = {
  dataset_sha256: null,
  default_harness: 'claude_code',
  description: null,
  evaluator_config: {},
  is_active: true,
  read_only: false,
  trajectory_builder: 'prefix_merging',
} as const;

export const initial: Benchmark = {
  status: 'absent',
  id: '',
  slug: '',
  display_name: '',
  dataset_uri: '',
  evaluator_strategy: '',
  ...defaults,
  created_at: '',
  updated_at: '',
};

export const evolve = (benchmark: Benchmark, { type, data, id, at }: Recorded<BenchmarkEvent>): Benchmark => {
  switch (type) {
    case 'BenchmarkCreated': {
      const fields = omit(data, 'generation');
      return { ...benchmark, ...fields, status: 'live', id, created_at: at, updated_at: at };
    }
    case 'BenchmarkUpdated':
      return { ...benchmark, ...data, updated_at: at };
    case 'BenchmarkRetired':
      return { ...benchmark, status: 'retired', updated_at: at };
  }
};

/** The slug can then be used again. */
export const isRetired = ({ status }: Benchmark): boolean => status === 'retired';

/** Does nothing if the benchmark in this stream is retired: the caller then tries the slug's next generation. @throws Refusal slug_taken */
export const create =
  (fields: BenchmarkFields, generation: number) =>
  (benchmark: Benchmark): BenchmarkEvent[] => {
    if (benchmark.status === 'live') throw slugTaken(`There is already a benchmark ${fields.slug}`);
    return isRetired(benchmark) ? [] : [{ type: 'BenchmarkCreated', data: { ...fields, generation } }];
  };

/** @throws Refusal not_found if it does not exist or is retired */
export const assertExists = ({ status }: Benchmark): void => {
  if (status !== 'live') throw new Refusal('not_found', 'There is no such benchmark');
};

const assertWritable = ({ read_only }: Benchmark): void => {
  if (read_only) throw conflict('/read_only', 'read_only', 'The benchmark is read-only: set read_only to false first, in its own request');
};

/** While read-only, only `read_only` itself can be changed. @throws Refusal not_found, conflict if another field would change then */
export const update =
  (changes: BenchmarkChanges) =>
  (benchmark: Benchmark): BenchmarkEvent[] => {
    assertExists(benchmark);
    const fields = changedFields(benchmark, applyResets(changes, defaults)) as Partial<BenchmarkFields>;
    const changed = Object.keys(fields);
    if (changed.some((name) => name !== 'read_only')) assertWritable(benchmark);
    return changed.length > 0 ? [{ type: 'BenchmarkUpdated', data: fields }] : [];
  };

/** The runs of the benchmark are kept. @throws Refusal not_found, conflict if it is read-only */
export const retire = (benchmark: Benchmark): BenchmarkEvent[] => {
  assertExists(benchmark);
  assertWritable(benchmark);
  return [{ type: 'BenchmarkRetired', data: {} }];
};
