import { z } from 'zod';
import type { Recorded } from '../../domain/event.ts';
import { assertDepth, assertIndexable, columnValue, escapeText } from '../column-values.ts';
import type { AnyProjection, Changes, Handler, Key, Row } from '../projection.ts';
import type { ColumnType, Table } from '../table.ts';

/**
 * A row in memory. `touched` names the event that last changed the row, as `<stream>@<revision>`. `docs` are the
 * rendered documents of the row, in the order in which the table defines them.
 */
export type StoredRow = { readonly row: Row; readonly revision: number | null; readonly touched: string; readonly docs: readonly string[] };

type Shape = Readonly<Record<string, z.ZodType>>;
type CompiledDoc = { readonly name: string; readonly render: (row: Row) => string; readonly shape: Shape | null };

/** A compiled table: it has the functions that check values, build keys and render documents. */
export type CompiledTable = {
  readonly table: Table;
  readonly columns: readonly (readonly [string, ColumnType])[];
  readonly docs: readonly CompiledDoc[];
  /** A row in which each column has its default: 0 for a counter, and null for any other column. */
  readonly emptyRow: Row;
  /**
   * Returns the key text of a row: a text made from the key columns, which identifies the row in memory.
   * @throws Error if a key column is missing
   */
  readonly keyText: (row: Row) => string;
  /** Returns the key text of the row that stores the revision of the event's stream. */
  readonly streamKeyText: (event: Recorded) => string;
  readonly keyOf: (text: string) => Key;
  /**
   * Returns the value of a field as it is stored.
   * @throws Error if the column does not accept the value or, with `strict`, if a document does not
   */
  readonly toStored: (name: string, value: unknown, strict: boolean) => unknown;
  readonly isCounter: (name: string) => boolean;
  readonly render: (row: Row) => readonly string[];
};

export type CompiledProjection = {
  readonly projection: AnyProjection;
  readonly tables: ReadonlyMap<string, CompiledTable>;
  readonly handles: (event: Recorded) => boolean;
  readonly changesOf: (event: Recorded) => Changes;
};

/** The columns that the engine adds to every table. */
export const SYSTEM_COLUMNS = ['revision', 'touched'] as const;
/** The column that Postgres derives from the columns that users search. */
const SEARCH_COLUMN = 'search';

const shapeOf = (schema: z.ZodType): Shape | null => {
  if (schema instanceof z.ZodObject) return schema.shape as Shape;
  return schema instanceof z.ZodPipe ? shapeOf(schema.in as z.ZodType) : null;
};

const isStrict = (schema: z.ZodType): boolean => schema instanceof z.ZodObject && schema._zod.def.catchall !== undefined;

const pick = (shape: Shape, row: Row): Row =>
  Object.fromEntries(Object.keys(shape).flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])));

const compileDoc = ([name, schema]: [string, z.ZodType]): CompiledDoc => {
  const shape = shapeOf(schema);
  const input = shape && isStrict(schema) ? (row: Row) => pick(shape, row) : (row: Row) => row;
  const render = (row: Row): string => {
    const result = schema.safeParse(input(row));
    if (!result.success) {
      const [issue] = result.error.issues;
      throw new Error(`cannot render ${name}: ${issue?.path.join('.')}: ${issue?.message}`);
    }
    const text = JSON.stringify(result.data) as string | undefined;
    if (text === undefined) throw new Error(`cannot render ${name}: the result is undefined`);
    return text;
  };
  return { name, render, shape };
};

const typeOfKeyColumn = (name: string): 'tenant' | 'id' | null => (name === 'id' ? 'id' : name === 'tenant_id' ? 'tenant' : null);

const assertValid = (projection: string, table: Table): void => {
  const wrong = (why: string): never => {
    throw new Error(`table ${projection}.${table.name}: ${why}`);
  };
  const columns = [...Object.keys(table.columns), ...(table.counters ?? [])];
  const docs = Object.keys(table.docs);
  for (const name of [projection, table.name, ...columns, ...docs])
    if (!/^[a-z][a-z0-9_]{0,55}$/.test(name)) wrong(`${name} is not a valid name`);
  const all = [...columns, ...docs, ...SYSTEM_COLUMNS, SEARCH_COLUMN];
  if (new Set(all).size !== all.length) wrong('two columns have the same name');
  for (const name of [
    ...table.key,
    ...(table.indexes ?? []).flatMap((index) => index.columns),
    ...(table.search ?? []),
    ...(table.softDelete ? [table.softDelete] : []),
  ])
    if (!columns.includes(name)) wrong(`${name} is not a column`);
  for (const name of table.key) if (table.columns[name] !== 'text') wrong(`key column ${name} is not of type text`);
  if (table.stream && !table.key.every(typeOfKeyColumn)) wrong('the key of a table with a stream may only consist of id and tenant_id');
};

/** Returns the value of one key column in the form in which it is stored. @throws Error if it is missing */
const keyPart = ({ name: table }: Table, row: Row, name: string): string => {
  const value = row[name];
  if (typeof value !== 'string') throw new Error(`${table}: key column ${name} is missing`);
  return escapeText(value);
};

const keyTexts =
  (table: Table, [first, ...others] = table.key) =>
  (row: Row): string => {
    let text = keyPart(table, row, first!);
    for (const name of others) text += `\0${keyPart(table, row, name)}`;
    return text;
  };

const compileTable = (projection: string, table: Table): CompiledTable => {
  assertValid(projection, table);
  const counters = new Set(table.counters ?? []);
  const types = new Map<string, ColumnType>([
    ...Object.entries(table.columns),
    ...[...counters].map((name): [string, ColumnType] => [name, 'bigint']),
  ]);
  const docs = Object.entries(table.docs).map(compileDoc);
  const schemas = new Map<string, Set<z.ZodType>>();
  for (const { shape } of docs)
    for (const [name, schema] of Object.entries(shape ?? {})) schemas.set(name, (schemas.get(name) ?? new Set()).add(schema));
  const indexed = new Set([...table.key, ...(table.indexes ?? []).flatMap(({ columns }) => columns)]);
  const emptyRow = Object.fromEntries([...types.keys()].map((name) => [name, counters.has(name) ? 0 : null]));

  const toStored: CompiledTable['toStored'] = (name, value, strict) => {
    const type = types.get(name);
    const docSchemas = schemas.get(name);
    if (!type && !docSchemas) throw new Error(`${table.name}: neither a column nor a document has the field ${name}`);
    try {
      const stored = type ? columnValue(type, value) : value;
      if (indexed.has(name)) assertIndexable(stored);
      if (!type) assertDepth(stored);
      if (strict) for (const schema of docSchemas ?? []) schema.parse(stored);
      return stored;
    } catch (error) {
      const { message } = error instanceof z.ZodError ? error.issues[0]! : (error as Error);
      throw new Error(`${table.name}: ${name} ${message}`);
    }
  };
  return {
    table,
    columns: [...types],
    docs,
    emptyRow,
    keyText: keyTexts(table),
    keyOf: (text) => {
      const parts = text.split('\0');
      const key: Record<string, string> = {};
      for (const [at, name] of table.key.entries()) key[name] = parts[at]!;
      return key;
    },
    streamKeyText: keyTexts(
      table,
      table.key.map((name) => typeOfKeyColumn(name) ?? name),
    ) as CompiledTable['streamKeyText'],
    toStored,
    isCounter: (name) => counters.has(name),
    render: (row) => docs.map((doc) => doc.render(row)),
  };
};

const changesOf = ({ on, every, name, versions = {} }: AnyProjection): ((event: Recorded) => Changes) => {
  const handlers = new Map(Object.entries(on) as [string, Handler<Recorded>][]);
  return (event) => {
    const handler = handlers.get(event.type);
    if (handler === 'ignore') return [];
    if (!handler) return every ? every(event) : [];
    if (event.meta.v > (versions[event.type] ?? 1)) throw new Error(`${name} does not know version ${event.meta.v} of ${event.type}`);
    return handler(event);
  };
};

/** Compiles a projection. @throws Error if its definition is invalid; the message names the table */
export const compileProjection = (projection: AnyProjection): CompiledProjection => {
  const categories = projection.categories === '*' ? null : new Set(projection.categories);
  return {
    projection,
    tables: new Map(projection.tables.map((table) => [table.name, compileTable(projection.name, table)])),
    handles: (event) => !categories || categories.has(event.category),
    changesOf: changesOf(projection),
  };
};
