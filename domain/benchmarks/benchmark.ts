import { applyResets, changedFields } from '../aggregate.ts';
import type { Recorded } from '../event.ts';
import { conflict, Refusal, slugTaken } from '../refusal.ts';

/** A benchmark in the catalogue of the platform: tasks for agents, and the rules by which their answers are scored. */
export const category = 'benchmark';
export const platform = true;

export const HARNESSES = ['claude_code', 'codex', 'qwen_code', 'opencode', 'pi', 'gemini_cli', 'openhands_sdk', 'shell'] as const;
export const TRAJECTORY_BUILDERS = ['prefix_merging', 'per_request'] as const;

/** A program that runs an agent on tasks. */
export type Harness = (typeof HARNESSES)[number];
export type TrajectoryBuilder = (typeof TRAJECTORY_BUILDERS)[number];

/**
 * Where the tasks of a benchmark are. If `dataset_uri` names an uploaded file, `dataset_sha256` is the digest of the
 * platform's copy of this file; otherwise it is null.
 */
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

/** A partial update. Null resets a field to its default; for a field without a default, null means no change. */
export type BenchmarkChanges = { [Name in keyof Omit<BenchmarkFields, 'slug'>]?: BenchmarkFields[Name] | null | undefined };

/**
 * After a benchmark is retired, another one can use its slug. `generation` is the number of earlier benchmarks with
 * this slug.
 */
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

/** The values that fields get when a change sets them to null. */
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
      const { generation: _, ...fields } = data;
      return { ...benchmark, ...fields, status: 'live', id, created_at: at, updated_at: at };
    }
    case 'BenchmarkUpdated':
      return { ...benchmark, ...data, updated_at: at };
    case 'BenchmarkRetired':
      return { ...benchmark, status: 'retired', updated_at: at };
  }
};

/** Returns whether the benchmark was retired, so that its slug can be used again. */
export const isRetired = ({ status }: Benchmark): boolean => status === 'retired';

/**
 * Creates a benchmark. If the benchmark in this stream is retired, does nothing: the caller then tries the next
 * generation of the slug.
 * @throws Refusal slug_taken if there is a benchmark with this slug
 */
export const create =
  (fields: BenchmarkFields, generation: number) =>
  (benchmark: Benchmark): BenchmarkEvent[] => {
    if (benchmark.status === 'live') throw slugTaken(`There is already a benchmark ${fields.slug}`);
    return isRetired(benchmark) ? [] : [{ type: 'BenchmarkCreated', data: { ...fields, generation } }];
  };

/** Checks that the benchmark exists and is not retired. @throws Refusal not_found */
export const assertExists = ({ status }: Benchmark): void => {
  if (status !== 'live') throw new Refusal('not_found', 'There is no such benchmark');
};

const assertWritable = ({ read_only }: Benchmark): void => {
  if (read_only)
    throw conflict('/read_only', 'read_only', 'The benchmark is read-only: set read_only to false first, in a request of its own');
};

/**
 * Changes a benchmark. While it is read-only, only `read_only` itself can be changed.
 * @throws Refusal not_found if it does not exist, conflict if another field would change while it is read-only
 */
export const update =
  (changes: BenchmarkChanges) =>
  (benchmark: Benchmark): BenchmarkEvent[] => {
    assertExists(benchmark);
    const fields = changedFields(benchmark, applyResets(changes, defaults)) as Partial<BenchmarkFields>;
    const changed = Object.keys(fields);
    if (changed.some((name) => name !== 'read_only')) assertWritable(benchmark);
    return changed.length > 0 ? [{ type: 'BenchmarkUpdated', data: fields }] : [];
  };

/**
 * Removes a benchmark from the catalogue. Its runs stay.
 * @throws Refusal not_found if it does not exist, conflict if it is read-only
 */
export const retire = (benchmark: Benchmark): BenchmarkEvent[] => {
  assertExists(benchmark);
  assertWritable(benchmark);
  return [{ type: 'BenchmarkRetired', data: {} }];
};
