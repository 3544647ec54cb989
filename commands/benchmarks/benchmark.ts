import { z } from 'zod';
import * as Benchmark from '../../domain/benchmarks/benchmark.ts';
import { PLATFORM } from '../../domain/event.ts';
import { displayText, text } from '../../domain/fields.ts';
import type { Ctx, Input, Loaded, UsesSecrets } from '../context.ts';
import { createUnique } from '../create-unique.ts';
import { JsonObjectField } from '../json-schema-validator.ts';
import { type DatasetPorts, locateDataset } from './dataset-location.ts';

export const BenchmarkSlug = z.string().regex(/^[a-z0-9-]{1,64}$/, 'must be 1 to 64 characters of a-z, 0-9 and -');

const DatasetUri = displayText(1, 512);

export const BenchmarkCreate = z
  .strictObject({
    slug: BenchmarkSlug.meta({ description: 'The unique name in the URL; it never changes', examples: ['bug-fixes'] }),
    display_name: displayText(1, 128).meta({ description: 'The name for people', examples: ['Bug fixes'] }),
    dataset_uri: DatasetUri.meta({
      description:
        'Where the tasks are: an https URL of JSON Lines, or the `url` of an uploaded file that the caller may read. An uploaded file is copied',
      examples: ['https://example.com/bug-fixes.jsonl'],
    }),
    evaluator_strategy: displayText(1, 64).meta({
      description: 'How the runner scores an answer; its name for that',
      examples: ['exact_match'],
    }),
    default_harness: z
      .enum(Benchmark.HARNESSES)
      .default('claude_code')
      .meta({ description: 'The program that runs the agent, unless a run names another' }),
    description: text(0, 65_536).nullable().default(null).meta({ description: 'What the benchmark measures' }),
    evaluator_config: JsonObjectField.default({}).meta({ description: 'Settings of the evaluator, for the runner' }),
    is_active: z.boolean().default(true).meta({ description: 'Whether it can be run' }),
    read_only: z.boolean().default(false).meta({ description: 'Whether it is protected from changes and deletion' }),
    trajectory_builder: z
      .enum(Benchmark.TRAJECTORY_BUILDERS)
      .default('prefix_merging')
      .meta({ description: 'How the runner joins the requests to the language model into a trajectory' }),
  })
  .meta({ id: 'BenchmarkCreate' });

const created = BenchmarkCreate.shape;

export const BenchmarkUpdate = z
  .strictObject({
    display_name: displayText(1, 128).nullish().meta(created.display_name.meta()!),
    dataset_uri: DatasetUri.nullish().meta(created.dataset_uri.meta()!),
    evaluator_strategy: displayText(1, 64).nullish().meta(created.evaluator_strategy.meta()!),
    default_harness: z.enum(Benchmark.HARNESSES).nullish().meta(created.default_harness.meta()!),
    description: text(0, 65_536).nullish().meta(created.description.meta()!),
    evaluator_config: JsonObjectField.nullish().meta(created.evaluator_config.meta()!),
    is_active: z.boolean().nullish().meta(created.is_active.meta()!),
    read_only: z.boolean().nullish().meta(created.read_only.meta()!),
    trajectory_builder: z.enum(Benchmark.TRAJECTORY_BUILDERS).nullish().meta(created.trajectory_builder.meta()!),
  })
  .meta({ id: 'BenchmarkUpdate', examples: [{ read_only: true }] });

/** The function throws Refusal slug_taken, invalid, unavailable. */
export const createBenchmark =
  <C extends Ctx>(ports: DatasetPorts<C>) =>
  async (ctx: C, fields: Input<typeof BenchmarkCreate>): Promise<Loaded<Benchmark.Benchmark>> => {
    const dataset = await locateDataset(ctx, ports, fields.dataset_uri);
    return createUnique(ctx, Benchmark, {
      kind: 'benchmark',
      key: fields.slug,
      claim: (generation) => Benchmark.create({ ...fields, ...dataset }, generation),
      isClosed: Benchmark.isRetired,
    });
  };

/** Returns the benchmark with this slug. If there is none, one with the status `absent` and the id that the next one with this slug will get. */
export const benchmarkWithSlug = async (
  ctx: Pick<Ctx, 'load'> & UsesSecrets<'uniqueId'>,
  slug: string,
): Promise<Loaded<Benchmark.Benchmark>> => {
  for (let generation = 0; ; generation++) {
    const loaded = await ctx.load(Benchmark, ctx.secrets.uniqueId('benchmark', slug, generation, PLATFORM));
    if (!Benchmark.isRetired(loaded.state)) return loaded;
  }
};

const findId = (ctx: Ctx, slug: string): Promise<string> =>
  ctx.sideEffect(async () => {
    const { id, state } = await benchmarkWithSlug(ctx, slug);
    Benchmark.assertExists(state);
    return id;
  });

/** The function throws Refusal not_found, invalid, unavailable, conflict if the benchmark is read-only. */
export const updateBenchmark =
  <C extends Ctx>(ports: DatasetPorts<C>) =>
  async (ctx: C, { slug, dataset_uri, ...changes }: Input<typeof BenchmarkUpdate, 'slug'>): Promise<Loaded<Benchmark.Benchmark>> => {
    const id = await findId(ctx, slug);
    const isMoved = await ctx.sideEffect(
      async () => typeof dataset_uri === 'string' && dataset_uri !== (await ctx.load(Benchmark, id)).state.dataset_uri,
    );
    const dataset = isMoved ? await locateDataset(ctx, ports, dataset_uri!) : {};
    return ctx.transact(Benchmark, id, Benchmark.update({ ...changes, ...dataset }));
  };

/** @throws Refusal not_found, conflict if it is read-only */
export const retireBenchmark = async (ctx: Ctx, { slug }: { readonly slug: string }): Promise<Loaded<Benchmark.Benchmark>> =>
  ctx.transact(Benchmark, await findId(ctx, slug), Benchmark.retire);
