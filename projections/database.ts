import type { projections } from './registry.ts';
import type { ColumnType, Table } from './table.ts';

type ColumnValues = {
  text: string;
  boolean: boolean;
  integer: number;
  bigint: number;
  'double precision': number;
  timestamptz: string;
  jsonb: unknown;
};

type Columns<T extends Table> = {
  [C in keyof T['columns'] & string]: ColumnValues[T['columns'][C] & ColumnType] | (C extends T['key'][number] ? never : null);
};
type Counters<T extends Table> = T extends { counters: readonly (infer Name extends string)[] } ? { [C in Name]: number } : unknown;
type Docs<T extends Table> = { [D in keyof T['docs'] & string]: string };
type Search<T extends Table> = T extends { search: readonly string[] } ? { search: string } : unknown;

/** A row as Postgres returns it. Times are RFC 3339 texts; documents are JSON texts. */
export type RowOf<T extends Table> = Columns<T> & Counters<T> & Docs<T> & Search<T> & { revision: number | null; touched: string };

type AnyTables = { readonly name: string; readonly tables: readonly Table[] };
type Named<Schema extends string, T extends Table> = T extends Table ? { name: `${Schema}.${T['name']}`; table: T } : never;
type NamedTable<P extends AnyTables> = P extends AnyTables ? Named<P['name'], P['tables'][number]> : never;

/** The tables of these projections, by their schema-qualified names such as `agents.agents`. */
export type DatabaseOf<P extends AnyTables> = { [N in NamedTable<P> as N['name']]: RowOf<N['table']> };

/** The tables of all projections. A query that names an unknown table or column does not compile. */
export type Database = DatabaseOf<(typeof projections)[number]>;
