import type { z } from 'zod';

export type ColumnType = 'text' | 'boolean' | 'integer' | 'bigint' | 'double precision' | 'timestamptz' | 'jsonb';

/**
 * A table of a projection. `columns` are the values by which queries filter and sort. Each entry of `docs` is a
 * document: a text column with the JSON of the row, rendered with the schema of the document when the row is written.
 * So a field that is not in the schema cannot leak, and reads need not parse the JSON. When a row is loaded, a column
 * takes precedence over a field of a document, and an earlier document over a later one. If an insert omits a column,
 * it becomes null (a counter becomes 0). Times are in UTC with milliseconds. Every table also has the columns
 * `revision` and `touched` (the event that last changed the row).
 */
export type Table = {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly docs: Readonly<Record<string, z.ZodType>>;
  /** With `withoutNull`, the index leaves out rows in which this column is null. Writing these rows is then faster. */
  readonly indexes?: readonly { readonly columns: readonly string[]; readonly unique?: boolean; readonly withoutNull?: string }[];
  /**
   * The category of the streams whose revisions this table stores. A row stores the revision of the stream with its id,
   * and every event of that stream updates it.
   */
  readonly stream?: string;
  /** A boolean column that marks soft-deleted rows. Look-ups and lists do not return a row in which it is true. */
  readonly softDelete?: string;
  /**
   * Text columns that users search. Postgres derives the column `search` from them and has a trigram index on it, so
   * that a search for a part of a text reads few rows. Another index serves searches for the start of the first of
   * these columns.
   */
  readonly search?: readonly string[];
  /**
   * If true, each row is written once, by one event, and never changes. The projection writer then does not cache it.
   */
  readonly appendOnly?: boolean;
  /**
   * Whether changes of other rows read rows of this table. If so, the projection writer caches the rows that it loads,
   * and code that computes only selected rows includes all rows of this table.
   */
  readonly isReadByChanges?: boolean;
  /** Whether the rows of a tenant are kept when the tenant is erased. */
  readonly isKeptAfterErasure?: boolean;
  /** The columns to which an `add` change adds. They start at 0. */
  readonly counters?: readonly string[];
  /** The table has only a key and counters. An `add` change creates the row if it does not exist. */
  readonly countersOnly?: boolean;
};

/**
 * The names of a column with the id of the tenant. `of_tenant` is used in tables whose rows mostly belong to the
 * platform.
 */
const TENANT_COLUMNS = ['tenant_id', 'of_tenant'];

/**
 * Returns the column with the id of the tenant whose erasure removes the row; null if erasures do not remove rows of
 * this table.
 */
export const tenantColumnOf = ({ columns, isKeptAfterErasure }: Table): string | null =>
  isKeptAfterErasure ? null : (TENANT_COLUMNS.find((name) => name in columns) ?? null);

/**
 * Returns the fields by which a list can be sorted: the fields of an item that are also columns, except JSON columns.
 */
export const sortFields = ({ columns, counters = [] }: Table, item: z.ZodObject): readonly string[] =>
  [...Object.keys(columns), ...counters].filter((name) => name in item.shape && columns[name] !== 'jsonb');
