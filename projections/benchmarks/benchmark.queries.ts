import { defineList, defineQuery } from '../query.ts';
import type { Doc, Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { BenchmarkRead, table } from './benchmark.ts';

export const BENCHMARK_SORTS = sortFields(table, BenchmarkRead);

const benchmarkList = defineList({ table }, (db) => db.selectFrom('benchmarks.benchmarks as benchmark'));

/** Returns a page of the benchmarks, as BenchmarkRead. */
export const benchmarkPage = (reads: Reads, window: PageWindow): Promise<Page> => reads.page(benchmarkList, {}, window);

const withSlug = defineQuery((db, { slug }: { slug: string }) =>
  db.selectFrom('benchmarks.benchmarks as benchmark').select(['benchmark.doc', 'benchmark.revision']).where('benchmark.slug', '=', slug),
);

/** Returns the benchmark with a slug, as BenchmarkRead; null if there is none. */
export const benchmarkBySlug = async (reads: Reads, slug: string): Promise<Doc | null> => {
  const [found] = await reads.rows(withSlug, { slug });
  return found ? { doc: found.doc, revision: found.revision } : null;
};
