import type { Key } from './projection.ts';
import type { Table } from './table.ts';

/**
 * A condition on a row. A query returns the rows that meet all its conditions. `contains` looks for a substring and
 * ignores case.
 */
export type Condition =
  | { readonly column: string; readonly op: '=' | '<' | '<=' | '>' | '>='; readonly value: string | number | boolean | null }
  | { readonly column: string; readonly op: 'in'; readonly value: readonly string[] }
  | { readonly column: string | readonly string[]; readonly op: 'contains'; readonly value: string }
  /**
   * Another table of the same projection must have a row that meets `where`. `on` says which of its columns must equal
   * which columns of this table.
   */
  | { readonly op: 'exists'; readonly table: string; readonly on: Readonly<Record<string, string>>; readonly where: readonly Condition[] };

export type Source = { readonly projection: string; readonly table: Table };

/**
 * A query for one page. `cursor` is the `next` of the previous page. `tieBreak` (default `id`) is a key column. It must
 * be unique among the rows with the same value in the sort column.
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

/** The part of a page query that the caller of the API chooses. */
export type PageWindow = Pick<PageQuery, 'sort' | 'limit' | 'cursor'>;

/** The rendered document of a row. `revision` is the revision of its stream; null if the table stores none. */
export type Doc = { readonly doc: string; readonly revision: number | null };

/**
 * Separates the documents of a page. A document contains no line break, so the last document can be cut off without
 * parsing the page.
 */
export const DOC_SEPARATOR = ',\n';

/**
 * The maximum total size of the documents of a page, in bytes. A page always has at least one document, however large
 * it is.
 */
export const PAGE_BYTES = 8 << 20;

/** Returns as many of the first documents as fit into a page. Reads `docs` only as far as needed. */
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
 * One page of a list. `body` is a JSON text: the array of the documents. `next` is the cursor of the next page; null on
 * the last page.
 */
export type Page = { readonly body: string; readonly next: string | null };

/**
 * Reads from the read models. There are two implementations: for Postgres (infra/readmodel/postgres-read-model.ts) and
 * in memory (projections/engine/memory-store.ts).
 * @throws Refusal unavailable if Postgres is down, invalid if a cursor is malformed
 */
export type Reads = {
  one: (from: Source, key: Key, doc?: string) => Promise<Doc | null>;
  page: (query: PageQuery) => Promise<Page>;
  /** Returns the value of a counter column; 0 if the row does not exist. */
  counter: (from: Source, key: Key, column: string) => Promise<number>;
  /**
   * Waits until the projection has reached the position of a consistency token, for at most `ms` milliseconds (default
   * 2,000).
   * @throws Refusal not_caught_up
   */
  passed: (projection: string, token: string, ms?: number) => Promise<void>;
  /** Returns the last known position of a projection as a consistency token; null if it has applied no event yet. */
  position: (projection: string) => string | null;
};

/**
 * Returns the parsed document of the row with this key; null if there is no such row.
 * @throws Refusal unavailable if the database is down
 */
export const byKey = async <T>(reads: Reads, from: Source, key: Key): Promise<T | null> => {
  const found = await reads.one(from, key);
  return found && (JSON.parse(found.doc) as T);
};
