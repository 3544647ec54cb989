import type { ClientBase } from 'pg';
import type { CompiledProjection, CompiledTable, StoredRow } from '../../projections/engine/compiled-projection.ts';
import type { Key, Row } from '../../projections/projection.ts';
import { arrayText, preparedStatement, quoteIdentifier } from '../postgres/pool.ts';
import type { Statement } from '../postgres/transaction.ts';

type Querier = Pick<ClientBase, 'query'>;

/**
 * Reads and writes one projection table in one schema. `upsert`, `insert` and `remove` return SQL statements, which the
 * caller runs. If there are no rows, they return no statement.
 */
export type TableStore = {
  readonly load: (db: Querier, keys: readonly Key[]) => Promise<Map<string, StoredRow>>;
  readonly upsert: (rows: readonly StoredRow[]) => Statement[];
  /** Returns statements that fail if one of the rows already exists. */
  readonly insert: (rows: readonly StoredRow[]) => Statement[];
  readonly remove: (keys: readonly Key[]) => Statement[];
};

const mergeDocs = (docs: readonly string[]): Row => {
  const row: Row = {};
  for (let index = docs.length - 1; index >= 0; index--) {
    const fields: unknown = JSON.parse(docs[index]!);
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) Object.assign(row, fields);
  }
  return row;
};

/**
 * Builds a row by merging the fields of its documents with its columns. If names collide, columns take precedence over
 * documents, and earlier documents over later ones.
 */
export const storedRowOf = (table: CompiledTable, found: Row): StoredRow => {
  const stored = comparedRowOf(table, found);
  return { ...stored, row: withDocFields(stored) };
};

/** Builds a row without the fields of its documents: what a check compares, because it compares the documents as texts. */
export const comparedRowOf = ({ columns, docs }: CompiledTable, found: Row): StoredRow => {
  const row: Row = {};
  for (const [name] of columns) row[name] = found[name];
  const texts = docs.map(({ name }) => found[name] as string);
  return { row, revision: found.revision as number | null, touched: found.touched as string, docs: texts };
};

/** Returns the columns of a row with the fields of its documents. */
export const withDocFields = ({ row, docs }: StoredRow): Row => Object.assign(mergeDocs(docs), row);

const columnsOf = ({ columns, docs }: CompiledTable) => [
  ...columns.map(([name, type]) => ({
    name,
    type: type as string,
    read:
      type === 'jsonb'
        ? ({ row }: StoredRow) => (row[name] === null ? null : JSON.stringify(row[name]))
        : ({ row }: StoredRow) => row[name],
  })),
  ...docs.map(({ name }, index) => ({ name, type: 'text', read: (stored: StoredRow) => stored.docs[index] as unknown })),
  { name: 'revision', type: 'bigint', read: (stored: StoredRow) => stored.revision as unknown },
  { name: 'touched', type: 'text', read: (stored: StoredRow) => stored.touched as unknown },
];

const openTableStore = (schema: string, compiled: CompiledTable): TableStore => {
  const { table, keyText } = compiled;
  const name = `${quoteIdentifier(schema)}.${quoteIdentifier(table.name)}`;
  const keys = table.key.map(quoteIdentifier);
  const columns = columnsOf(compiled);
  const names = columns.map((column) => quoteIdentifier(column.name));
  const wanted = `unnest(${table.key.map((_, index) => `$${index + 1}::text[]`).join(', ')}) as wanted(${keys.join(', ')})`;
  const same = keys.map((key) => `stored.${key} = wanted.${key}`).join(' and ');
  const updates = names.filter((column) => !keys.includes(column)).map((column) => `${column} = excluded.${column}`);

  const loadStatement = preparedStatement(
    `select ${names.map((column) => `stored.${column}`).join(', ')} from ${wanted} join ${name} stored on ${same}`,
  );
  const insertStatement = preparedStatement(
    `insert into ${name} (${names.join(', ')}) select * from unnest(${columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ')})`,
  );
  const upsertStatement = preparedStatement(`${insertStatement.text} on conflict (${keys.join(', ')}) do update set ${updates.join(', ')}`);
  const removeStatement = preparedStatement(`delete from ${name} stored using ${wanted} where ${same}`);
  const byColumn = (rows: readonly StoredRow[]) => columns.map(({ read }) => arrayText(rows.map(read)));
  const byKey = (rows: readonly Key[]) => table.key.map((key) => arrayText(rows.map((row) => row[key])));

  return {
    load: async (db, wantedKeys) => {
      if (wantedKeys.length === 0) return new Map();
      const found = await db.query<Row>({ ...loadStatement, values: byKey(wantedKeys) });
      return new Map(found.rows.map((row) => [keyText(row), storedRowOf(compiled, row)]));
    },
    upsert: (rows) => (rows.length === 0 ? [] : [{ ...upsertStatement, values: byColumn(rows) }]),
    insert: (rows) => (rows.length === 0 ? [] : [{ ...insertStatement, values: byColumn(rows) }]),
    remove: (rows) => (rows.length === 0 ? [] : [{ ...removeStatement, values: byKey(rows) }]),
  };
};

/** The tables of a projection in one schema. `tables` maps their names to them. */
export type SchemaStore = { readonly schema: string; readonly tables: ReadonlyMap<string, TableStore> };

export const openSchemaStore = (schema: string, compiled: CompiledProjection): SchemaStore => ({
  schema,
  tables: new Map([...compiled.tables].map(([name, table]) => [name, openTableStore(schema, table)])),
});
