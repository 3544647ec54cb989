import type { ListOrder } from './cursor.ts';
import type { ListQuery, Query, QueryArgs } from './query.ts';
import type { Table } from './table.ts';

export type Source<T extends Table = Table> = { readonly projection: string; readonly table: T };

/** The key of a row: a text for each key column. */
export type KeyOf<T extends Table> = Readonly<Record<T['key'][number], string>>;

/**
 * What the caller of the API chooses about a page. `limit` is the maximum number of rows, and `cursor` the `next` of
 * the previous page.
 */
export type PageWindow = {
  readonly sort: ListOrder;
  readonly limit: number;
  readonly cursor?: string | null | undefined;
};

/** The rendered document of a row. `revision` is the revision of its stream; null if the table stores none. */
export type Doc = { readonly doc: string; readonly revision: number | null };

/**
 * The text between two documents of a page. No document contains a line break, so the last document can be cut off
 * without parsing the page.
 */
export const DOC_SEPARATOR = ',\n';

/**
 * The maximum total size of the documents of a page, in bytes. A page always has at least one document, however large
 * it is.
 */
export const PAGE_BYTES = 8 << 20;

/** Returns the first documents, as many as fit into a page. No further documents are read from `docs`. */
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
 * Reads from the read models in Postgres (infra/readmodel/postgres-read-model.ts).
 * @throws Refusal unavailable if Postgres is down, invalid if a cursor is malformed
 */
export type Reads = {
  /**
   * Returns one document of the row with this key; null if there is no such row. If `doc` is absent, this is the first
   * document of the table. Look-ups in the same turn of the event loop share a query.
   */
  one: <T extends Table>(from: Source<T>, key: KeyOf<T>, doc?: keyof T['docs'] & string) => Promise<Doc | null>;
  page: <Args extends QueryArgs>(list: ListQuery<Args>, args: Args, window: PageWindow) => Promise<Page>;
  rows: <Args extends QueryArgs, Row>(query: Query<Args, Row>, args: Args) => Promise<Row[]>;
  /** Returns the value of a counter column; 0 if the row does not exist. */
  counter: <T extends Table>(from: Source<T>, key: KeyOf<T>, column: string) => Promise<number>;
  /**
   * Waits until the projection has reached the position of a consistency token.
   * @throws Refusal not_caught_up if this takes more than `ms` milliseconds (2,000 if absent)
   */
  passed: (projection: string, token: string, ms?: number) => Promise<void>;
  /** Returns the last known position of a projection as a consistency token; null if it has applied no event yet. */
  position: (projection: string) => string | null;
  /**
   * Returns for how many milliseconds the log has had events that the projection has not applied; 0 if none are known.
   */
  behindMs: (projection: string) => number;
};

/**
 * Returns the parsed document of the row with this key; null if there is no such row.
 * @throws Refusal unavailable if the database is down
 */
export const byKey = async <Result, T extends Table = Table>(reads: Reads, from: Source<T>, key: KeyOf<T>): Promise<Result | null> => {
  const found = await reads.one(from, key);
  return found && (JSON.parse(found.doc) as Result);
};

/**
 * Returns the number that is counted for a tenant. `table` is the table of a counter that `tenantCounter` has created.
 */
export const tenantCount = (
  reads: Reads,
  projection: string,
  table: Table & { readonly counters: readonly [string] },
  tenant_id: string,
): Promise<number> => reads.counter({ projection, table }, { tenant_id }, table.counters[0]);

/** Yields the pages of a list one after another. Each page is read when the consumer requests it. */
export async function* pagesOf<Args extends QueryArgs>(
  reads: Reads,
  list: ListQuery<Args>,
  args: Args,
  window: Omit<PageWindow, 'cursor'>,
): AsyncGenerator<Page, void> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page = await reads.page(list, args, { ...window, cursor });
    yield page;
    cursor = page.next;
  }
}
