import type { z } from 'zod';

export type ColumnType = 'text' | 'boolean' | 'integer' | 'bigint' | 'double precision' | 'timestamptz' | 'jsonb';

/**
 * A table of a projection. A row is an object; what filters and sorting need stands in columns, the rest in its rendered documents:
 * each entry of `docs` is a text column that holds the row's JSON, rendered through that schema when the row is written, so that a field
 * the schema does not name cannot leak and a read parses nothing. A row is read back as its columns over the fields of its documents, the
 * first document's before the others'. Columns that an insert leaves out are null, counters 0; times are kept in UTC with milliseconds;
 * `revision` and `touched` (the event that last moved the row) are columns of every table.
 */
export type Table = {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, ColumnType>>;
  readonly docs: Readonly<Record<string, z.ZodType>>;
  readonly indexes?: readonly { readonly columns: readonly string[]; readonly unique?: boolean }[];
  /**
   * The category of the stream whose row this is: the row whose `id` is the stream's id bears the stream's revision (column `revision`),
   * moved by every event of that stream.
   */
  readonly stream?: string;
  /** A boolean column: a row in which it is true is kept but never read (something deleted that can come back). */
  readonly softDelete?: string;
  /** Each row is of one event and is never touched again: nobody who writes keeps it in memory. */
  readonly appendOnly?: boolean;
  /** Counters take part in `add` and start at 0; they are columns too. */
  readonly counters?: readonly string[];
  /** The first `add` makes a row that is not there, from zero: every row of such a table is its counters alone. */
  readonly countersOnly?: boolean;
};

/** The fields of a list's items that its rows can be sorted by: those that are columns too. */
export const sortFields = ({ columns, counters = [] }: Table, item: z.ZodObject): readonly string[] =>
  [...Object.keys(columns), ...counters].filter((name) => name in item.shape && columns[name] !== 'jsonb');
