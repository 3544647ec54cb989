import { containsPattern, defineList, defineQuery } from '../query.ts';
import type { Doc, Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { BenchmarkRead, table } from './benchmark.ts';

export const BENCHMARK_SORTS = sortFields(table, BenchmarkRead);

/** `q` is a part of the name or the slug. */
type BenchmarkFilter = { readonly q?: string | undefined; readonly is_active?: boolean | undefined };
type BenchmarkListArgs = { readonly pattern: string | undefined; readonly is_active: boolean | undefined };

const benchmarkList = defineList({ table }, (db, { pattern, is_active }: BenchmarkListArgs) =>
  db
    .selectFrom('benchmarks.benchmarks as benchmark')
    .$if(pattern !== undefined, (query) => query.where('benchmark.search', 'ilike', pattern!))
    .$if(is_active !== undefined, (query) => query.where('benchmark.is_active', '=', is_active!)),
);

export const benchmarkPage = (reads: Reads, { q, is_active }: BenchmarkFilter, window: PageWindow): Promise<Page> =>
  reads.page(benchmarkList, { pattern: q === undefined ? undefined : containsPattern(q), is_active }, window);

const withSlug = defineQuery((db, { slug }: { slug: string }) =>
  db.selectFrom('benchmarks.benchmarks as benchmark').select(['benchmark.doc', 'benchmark.revision']).where('benchmark.slug', '=', slug),
);

export const benchmarkBySlug = async (reads: Reads, slug: string): Promise<Doc | null> => {
  const [found] = await reads.rows(withSlug, { slug });
  return found ? { doc: found.doc, revision: found.revision } : null;
};
