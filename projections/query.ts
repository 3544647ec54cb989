import { type Compilable, type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import type { Database } from './database.ts';
import type { Table } from './table.ts';

/**
 * The arguments of a query. An undefined value means that the argument is absent; the query is then built without it.
 */
export type QueryArgs = Readonly<Record<string, string | number | boolean | null | readonly string[] | undefined>>;

/**
 * A query that is prepared once for each combination of undefined and null arguments. `build` gets these arguments as
 * they are, and a placeholder instead of any other argument. So it may pass an argument to Kysely and compare it with
 * undefined and null, but must not use its value.
 */
export type Query<Args extends QueryArgs, Row> = {
  readonly build: (db: Kysely<never>, args: Args) => Compilable<Row>;
};

/**
 * A list that is read in pages. `build` returns the rows of the list without order, limit and columns, which `page`
 * adds. For the arguments, see `Query`.
 */
export type ListQuery<Args extends QueryArgs, Doc extends string = string> = {
  readonly table: Table;
  readonly doc: Doc;
  readonly tieBreak: string;
  readonly includesDeleted: boolean;
  readonly build: (db: Kysely<never>, args: Args) => AnyRows;
};

/** The rows of any list: the part of the query builder that does not depend on the tables. */
export type AnyRows = { readonly toOperationNode: SelectQueryBuilder<never, never, object>['toOperationNode'] };

type ListOptions<T extends Table> = {
  /** The table whose documents the list contains. It comes first in the `from` clause of `build`. */
  readonly table: T;
  /** The document that the list contains. If absent, the first document of the table. */
  readonly doc?: keyof T['docs'] & string;
  /** A key column that orders rows with equal sort values. If absent, `id`. */
  readonly tieBreak?: keyof T['columns'] & string;
  /** Whether the list contains soft-deleted rows. If absent, it does not. */
  readonly includesDeleted?: boolean;
};

export const defineQueryOn =
  <DB>() =>
  <Args extends QueryArgs, Row>(build: (db: Kysely<DB>, args: Args) => Compilable<Row>): Query<Args, Row> => ({
    build: build as unknown as Query<Args, Row>['build'],
  });

export const defineListOn =
  <DB>() =>
  <const T extends Table, Args extends QueryArgs>(
    { table, doc = Object.keys(table.docs)[0]!, tieBreak = 'id', includesDeleted = false }: ListOptions<T>,
    build: (db: Kysely<DB>, args: Args) => AnyRows,
  ): ListQuery<Args> => ({ table, doc, tieBreak, includesDeleted, build: build as unknown as ListQuery<Args>['build'] });

/** Defines a query of the read models. Run it with `Reads.rows`. */
export const defineQuery = defineQueryOn<Database>();

/** Defines a list of the read models. Read its pages with `Reads.page`. */
export const defineList = defineListOn<Database>();

const escapePattern = (text: string): string => text.replace(/[\\%_]/g, '\\$&');

/** Returns the pattern for `ilike` that finds this text anywhere in a column. */
export const containsPattern = (text: string): string => `%${escapePattern(text)}%`;

/** Returns the pattern for `like` that finds the values that start with this text. */
export const prefixPattern = (text: string): string => `${escapePattern(text)}%`;

/** The number of characters of a search key. Longer searched texts are cut to this length in the index. */
export const SEARCH_KEY_LENGTH = 64;

/**
 * Returns the search key of a row: the start of its searched text in lower case, as an index of the table contains it.
 * It is a template, because Kysely has no collations.
 */
export const searchKey = (alias: string) =>
  sql<string>`lower(left(${sql.ref(`${alias}.search`)}, ${sql.lit(SEARCH_KEY_LENGTH)})) collate "C"`;

/**
 * Returns the range of the search keys that start with this text, from `from` (inclusive) to `to` (exclusive). Returns
 * null if the text is longer than a search key.
 */
export const searchKeyRange = (text: string): { readonly from: string; readonly to: string } | null => {
  const from = text.toLowerCase();
  return from.length > SEARCH_KEY_LENGTH ? null : { from, to: `${from}\u{10ffff}` };
};
