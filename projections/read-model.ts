import type { Key } from './projection.ts';
import type { Table } from './table.ts';

/** One condition on a row; all conditions of a query hold together. `contains` is a case-insensitive substring. */
export type Condition =
  | { readonly column: string; readonly op: '=' | '<' | '<=' | '>' | '>='; readonly value: string | number | boolean | null }
  | { readonly column: string; readonly op: 'in'; readonly value: readonly string[] }
  | { readonly column: string | readonly string[]; readonly op: 'contains'; readonly value: string }
  /** At least one row of another table of the same projection: `on` maps its columns to this table's. */
  | { readonly op: 'exists'; readonly table: string; readonly on: Readonly<Record<string, string>>; readonly where: readonly Condition[] };

export type Source = { readonly projection: string; readonly table: Table };

/** `cursor` is what the page before gave as `next`. The sort column is unique together with `tieBreak` (a key column, default `id`). */
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

/** The rendered document of one row, and the revision of its stream where the table bears one. */
export type Doc = { readonly doc: string; readonly revision: number | null };

/** Stands between the documents of a page: one a line. No document has a line break of its own, so that the last one can be cut off unread. */
export const DOC_SEPARATOR = ',\n';

/** A page ends before the item whose document would make its documents more than so many bytes together; it has one at least. */
export const PAGE_BYTES = 8 << 20;

/** The documents that such a page takes of those on offer, which are made one by one. */
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

/** `body` is the JSON array of the page's documents as text; `next` the cursor of the page behind it. */
export type Page = { readonly body: string; readonly next: string | null };

/**
 * How the read models are asked. Implemented over Postgres (infra/readmodel/postgres-read-model.ts: point reads of one turn are one prepared query) and
 * over the memory sink (projections/engine/memory-store.ts). @throws Refusal unavailable where Postgres is down, invalid for a malformed cursor
 */
export type Reads = {
  one: (from: Source, key: Key, doc?: string) => Promise<Doc | null>;
  page: (query: PageQuery) => Promise<Page>;
  /** A counter column's value; 0 where there is no row. */
  counter: (from: Source, key: Key, column: string) => Promise<number>;
  /** Waits until the projection has passed the position, at most `ms` (2,000). @throws Refusal not_caught_up */
  passed: (projection: string, token: string, ms?: number) => Promise<void>;
  /** The position up to which the projection is known to stand, as a token; null before its first event. */
  position: (projection: string) => string | null;
};

/** The parsed document of the row with this key; null if there is no such row. @throws Refusal unavailable if the database is down */
export const byKey = async <T>(reads: Reads, from: Source, key: Key): Promise<T | null> => {
  const found = await reads.one(from, key);
  return found && (JSON.parse(found.doc) as T);
};
