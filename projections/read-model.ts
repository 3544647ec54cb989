import type { Key } from './projection.ts';
import type { Table } from './table.ts';

/** A condition on a row. All conditions of a query must hold. `contains` looks for a substring and ignores case. */
export type Condition =
  | { readonly column: string; readonly op: '=' | '<' | '<=' | '>' | '>='; readonly value: string | number | boolean | null }
  | { readonly column: string; readonly op: 'in'; readonly value: readonly string[] }
  | { readonly column: string | readonly string[]; readonly op: 'contains'; readonly value: string }
  /** Another table of the same projection has at least one such row. `on` maps its columns to those of this table. */
  | { readonly op: 'exists'; readonly table: string; readonly on: Readonly<Record<string, string>>; readonly where: readonly Condition[] };

export type Source = { readonly projection: string; readonly table: Table };

/**
 * `cursor` is the `next` of the previous page. The sort column and `tieBreak` (a key column, default `id`) together are
 * unique.
 */
export type PageQuery = {
  readonly from: Source;
  readonly doc?: string;
  readonly where: readonly Condition[];
  readonly sort: { readonly column: string; readonly descending: boolean };
  readonly tieBreak?: string;
  readonly limit: number;
  readonly cursor?: string | undefined;
};

/** The part of a page query that the caller of a list chooses. */
export type PageWindow = Pick<PageQuery, 'sort' | 'limit' | 'cursor'>;

/** The rendered document of a row, and the revision of its stream if the table has one. */
export type Doc = { readonly doc: string; readonly revision: number | null };

/**
 * Separates the documents of a page. A document contains no line break, so the last one can be cut off without parsing.
 */
export const DOC_SEPARATOR = ',\n';

/** The maximum total size of a page's documents. A page has at least one item, however large. */
export const PAGE_BYTES = 8 << 20;

/** Takes documents until the page is full. `docs` is consumed lazily. */
export const takeUpToPageSize = (docs: Iterable<string>): string[] => {
  const taken: string[] = [];
  let bytes = 0;
  for (const doc of docs) {
    bytes += Buffer.byteLength(doc);
    if (bytes > PAGE_BYTES && taken.length > 0) break;
    taken.push(doc);
  }
  return taken;
};

/**
 * `body` is the JSON array of the page's documents as text; `next` is the cursor of the next page, null on the last
 * one.
 */
export type Page = { readonly body: string; readonly next: string | null };

/**
 * The interface to the read models. It is implemented over Postgres (infra/readmodel/postgres-read-model.ts) and in
 * memory (projections/engine/memory-store.ts).
 * @throws Refusal unavailable if Postgres is down, invalid for a malformed cursor
 */
export type Reads = {
  one: (from: Source, key: Key, doc?: string) => Promise<Doc | null>;
  page: (query: PageQuery) => Promise<Page>;
  /** The value of a counter column; 0 if there is no row. */
  counter: (from: Source, key: Key, column: string) => Promise<number>;
  /**
   * Waits until the projection has reached a position, for at most `ms` milliseconds (default 2,000).
   * @throws Refusal not_caught_up
   */
  passed: (projection: string, token: string, ms?: number) => Promise<void>;
  /** The last known position of a projection, as a token; null before its first event. */
  position: (projection: string) => string | null;
};

/**
 * The parsed document of the row with this key; null if there is no such row.
 * @throws Refusal unavailable if the database is down
 */
export const byKey = async <T>(reads: Reads, from: Source, key: Key): Promise<T | null> => {
  const found = await reads.one(from, key);
  return found && (JSON.parse(found.doc) as T);
};
