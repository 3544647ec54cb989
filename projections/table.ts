import type { z } from 'zod';

export type ColumnType = 'text' | 'boolean' | 'integer' | 'bigint' | 'double precision' | 'timestamptz' | 'jsonb';

/**
 * A table of a projection. Columns hold what filters and sorting need; documents hold the rest. Each entry of `docs` is
 * a text column with the row's JSON. It is rendered through its schema when the row is written, so that a field which
 * the schema does not name cannot leak, and a read need not parse it. When a row is loaded, a column takes precedence
 * over a document's field, and an earlier document over a later one. Columns that an insert omits are null, counters 0.
 * Times are in UTC with milliseconds. Every table has the columns `revision` and `touched` (the event that last changed
 * the row).
 */
export type Table = {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly docs: Readonly<Record<string, z.ZodType>>;
  readonly indexes?: readonly { readonly columns: readonly string[]; readonly unique?: boolean }[];
  /**
   * A category of streams. The row whose `id` is the stream's id has the stream's revision in the column `revision`;
   * every event of the stream updates it.
   */
  readonly stream?: string;
  /**
   * A boolean column. Queries do not see a row in which it is true (a soft-deleted resource, which can be restored).
   */
  readonly softDelete?: string;
  /** Each row is written by one event and never changes again, so the writer does not cache it. */
  readonly appendOnly?: boolean;
  /** Columns that `add` changes. They start at 0. */
  readonly counters?: readonly string[];
  /** The table has only a key and counters. `add` creates a row that does not exist, starting at 0. */
  readonly countersOnly?: boolean;
};

/** The fields by which a list can be sorted: those of its items that are columns. */
export const sortFields = ({ columns, counters = [] }: Table, item: z.ZodObject): readonly string[] =>
  [...Object.keys(columns), ...counters].filter((name) => name in item.shape && columns[name] !== 'jsonb');
