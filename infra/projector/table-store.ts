import type { ClientBase } from 'pg';
import type { CompiledProjection, CompiledTable, StoredRow } from '../../projections/engine/compiled-projection.ts';
import type { Key, Row } from '../../projections/projection.ts';
import { arrayText, quoted, statement } from '../postgres/pool.ts';
import type { Statement } from '../postgres/transaction.ts';

type Querier = Pick<ClientBase, 'query'>;

/** One table of a projection in the schema that keeps it. */
export type TableSink = {
  readonly load: (db: Querier, keys: readonly Key[]) => Promise<Map<string, StoredRow>>;
  /** The statements that write rows, write those that must not be there yet, or take rows away: none where there are none. */
  readonly write: (rows: readonly StoredRow[]) => Statement[];
  readonly insert: (rows: readonly StoredRow[]) => Statement[];
  readonly remove: (keys: readonly Key[]) => Statement[];
};

const merged = (docs: readonly string[]): Row => {
  const row: Row = {};
  for (let index = docs.length - 1; index >= 0; index--) {
    const fields: unknown = JSON.parse(docs[index]!);
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields)) Object.assign(row, fields);
  }
  return row;
};

/** A row as its table gives it: the columns over the fields of its documents, the first document's before the others'. */
export const heldOf = ({ columns, docs }: CompiledTable, found: Row): StoredRow => {
  const texts = docs.map(({ name }) => found[name] as string);
  const row = merged(texts);
  for (const [name] of columns) row[name] = found[name];
  return { row, revision: found.revision as number | null, touched: found.touched as string, docs: texts };
};

const columnsOf = ({ columns, docs }: CompiledTable) => [
  ...columns.map(([name, type]) => ({
    name,
    type: type as string,
    read:
      type === 'jsonb'
        ? ({ row }: StoredRow) => (row[name] === null ? null : JSON.stringify(row[name]))
        : ({ row }: StoredRow) => row[name],
  })),
  ...docs.map(({ name }, index) => ({ name, type: 'text', read: (held: StoredRow) => held.docs[index] as unknown })),
  { name: 'revision', type: 'bigint', read: (held: StoredRow) => held.revision as unknown },
  { name: 'touched', type: 'text', read: (held: StoredRow) => held.touched as unknown },
];

export const tableSink = (schema: string, plan: CompiledTable): TableSink => {
  const { table, keyText } = plan;
  const name = `${quoted(schema)}.${quoted(table.name)}`;
  const keys = table.key.map(quoted);
  const columns = columnsOf(plan);
  const names = columns.map((column) => quoted(column.name));
  const wanted = `unnest(${table.key.map((_, index) => `$${index + 1}::text[]`).join(', ')}) as wanted(${keys.join(', ')})`;
  const same = keys.map((key) => `held.${key} = wanted.${key}`).join(' and ');
  const updates = names.filter((column) => !keys.includes(column)).map((column) => `${column} = excluded.${column}`);

  const loading = statement(`select ${names.map((column) => `held.${column}`).join(', ')} from ${wanted} join ${name} held on ${same}`);
  const inserting = statement(
    `insert into ${name} (${names.join(', ')}) select * from unnest(${columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ')})`,
  );
  const writing = statement(`${inserting.text} on conflict (${keys.join(', ')}) do update set ${updates.join(', ')}`);
  const removing = statement(`delete from ${name} held using ${wanted} where ${same}`);
  const byColumn = (rows: readonly StoredRow[]) => columns.map(({ read }) => arrayText(rows.map(read)));
  const byKey = (rows: readonly Key[]) => table.key.map((key) => arrayText(rows.map((row) => row[key])));

  return {
    load: async (db, rows) => {
      if (rows.length === 0) return new Map();
      const found = await db.query<Row>({ ...loading, values: byKey(rows) });
      return new Map(found.rows.map((row) => [keyText(row), heldOf(plan, row)]));
    },
    write: (rows) => (rows.length === 0 ? [] : [{ ...writing, values: byColumn(rows) }]),
    insert: (rows) => (rows.length === 0 ? [] : [{ ...inserting, values: byColumn(rows) }]),
    remove: (rows) => (rows.length === 0 ? [] : [{ ...removing, values: byKey(rows) }]),
  };
};

/** The tables of a projection in one schema, by name. */
export type SchemaSink = { readonly schema: string; readonly tables: ReadonlyMap<string, TableSink> };

export const schemaSink = (schema: string, plan: CompiledProjection): SchemaSink => ({
  schema,
  tables: new Map([...plan.tables].map(([name, table]) => [name, tableSink(schema, table)])),
});
