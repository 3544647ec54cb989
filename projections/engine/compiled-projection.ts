import { z } from 'zod';
import type { Recorded } from '../../domain/event.ts';
import { assertDepth, assertIndexable, columnValue, escapeText } from '../column-values.ts';
import type { AnyProjection, Changes, Handler, Key, Row } from '../projection.ts';
import type { ColumnType, Table } from '../table.ts';

/** A row as it is held between batches: `touched` is `<stream>@<revision>` of the event that last moved it, `docs` stand in the table's order. */
export type StoredRow = { readonly row: Row; readonly revision: number | null; readonly touched: string; readonly docs: readonly string[] };

type Shape = Readonly<Record<string, z.ZodType>>;
type DocPlan = { readonly name: string; readonly render: (row: Row) => string; readonly shape: Shape | null };

/** A table made ready: what each of its fields takes, and how its keys and documents are written. */
export type CompiledTable = {
  readonly table: Table;
  readonly columns: readonly (readonly [string, ColumnType])[];
  readonly docs: readonly DocPlan[];
  readonly blank: Row;
  /** The text that names a row in memory, from its key columns. @throws Error where one is missing */
  readonly keyText: (row: Row) => string;
  /** The same for the row that bears the revision of an event's stream. */
  readonly streamText: (event: Recorded) => string;
  /** The key that such a text names. */
  readonly keyOf: (text: string) => Key;
  /** The field as it is kept. @throws Error where neither a column nor (with `strict`) a document takes it */
  readonly field: (name: string, value: unknown, strict: boolean) => unknown;
  readonly isCounter: (name: string) => boolean;
  readonly render: (row: Row) => readonly string[];
};

export type CompiledProjection = {
  readonly projection: AnyProjection;
  readonly tables: ReadonlyMap<string, CompiledTable>;
  readonly handles: (event: Recorded) => boolean;
  readonly changesOf: (event: Recorded) => Changes;
};

/** The columns that every table has beside its own. */
export const SYSTEM_COLUMNS = ['revision', 'touched'] as const;

const shapeOf = (schema: z.ZodType): Shape | null => {
  if (schema instanceof z.ZodObject) return schema.shape as Shape;
  return schema instanceof z.ZodPipe ? shapeOf(schema.in as z.ZodType) : null;
};

const isStrict = (schema: z.ZodType): boolean => schema instanceof z.ZodObject && schema._zod.def.catchall !== undefined;

const pick = (shape: Shape, row: Row): Row =>
  Object.fromEntries(Object.keys(shape).flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])));

const docPlan = ([name, schema]: [string, z.ZodType]): DocPlan => {
  const shape = shapeOf(schema);
  const input = shape && isStrict(schema) ? (row: Row) => pick(shape, row) : (row: Row) => row;
  const render = (row: Row): string => {
    const result = schema.safeParse(input(row));
    if (!result.success) {
      const [issue] = result.error.issues;
      throw new Error(`cannot render ${name}: ${issue?.path.join('.')}: ${issue?.message}`);
    }
    const text = JSON.stringify(result.data) as string | undefined;
    if (text === undefined) throw new Error(`cannot render ${name}: it has no JSON`);
    return text;
  };
  return { name, render, shape };
};

const typeOfKeyColumn = (name: string): 'tenant' | 'id' | null => (name === 'id' ? 'id' : name === 'tenant_id' ? 'tenant' : null);

const checked = (projection: string, table: Table): void => {
  const wrong = (why: string): never => {
    throw new Error(`table ${projection}.${table.name}: ${why}`);
  };
  const columns = [...Object.keys(table.columns), ...(table.counters ?? [])];
  for (const name of [projection, table.name, ...columns, ...Object.keys(table.docs)])
    if (!/^[a-z][a-z0-9_]{0,55}$/.test(name)) wrong(`${name} is not a name`);
  if (new Set([...columns, ...Object.keys(table.docs), ...SYSTEM_COLUMNS]).size !== columns.length + Object.keys(table.docs).length + 2)
    wrong('two columns of one name');
  for (const name of [
    ...table.key,
    ...(table.indexes ?? []).flatMap((index) => index.columns),
    ...(table.softDelete ? [table.softDelete] : []),
  ])
    if (!columns.includes(name)) wrong(`${name} is no column`);
  for (const name of table.key) if (table.columns[name] !== 'text') wrong(`key column ${name} is not a text`);
  if (table.stream && !table.key.every(typeOfKeyColumn)) wrong('the key of a stream’s row is made of id and tenant_id');
};

/** One column of a key as it is kept. @throws Error where it is missing */
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

const tablePlan = (projection: string, table: Table): CompiledTable => {
  checked(projection, table);
  const counters = new Set(table.counters ?? []);
  const types = new Map<string, ColumnType>([
    ...Object.entries(table.columns),
    ...[...counters].map((name): [string, ColumnType] => [name, 'bigint']),
  ]);
  const docs = Object.entries(table.docs).map(docPlan);
  const schemas = new Map<string, Set<z.ZodType>>();
  for (const { shape } of docs)
    for (const [name, schema] of Object.entries(shape ?? {})) schemas.set(name, (schemas.get(name) ?? new Set()).add(schema));
  const indexed = new Set([...table.key, ...(table.indexes ?? []).flatMap(({ columns }) => columns)]);
  const blank = Object.fromEntries([...types.keys()].map((name) => [name, counters.has(name) ? 0 : null]));

  const field: CompiledTable['field'] = (name, value, strict) => {
    const type = types.get(name);
    const taken = schemas.get(name);
    if (!type && !taken) throw new Error(`${table.name}: neither a column nor a document knows ${name}`);
    try {
      const kept = type ? columnValue(type, value) : value;
      if (indexed.has(name)) assertIndexable(kept);
      if (!type) assertDepth(kept);
      if (strict) for (const schema of taken ?? []) schema.parse(kept);
      return kept;
    } catch (error) {
      const { message } = error instanceof z.ZodError ? error.issues[0]! : (error as Error);
      throw new Error(`${table.name}: ${name} ${message}`);
    }
  };
  return {
    table,
    columns: [...types],
    docs,
    blank,
    keyText: keyTexts(table),
    keyOf: (text) => {
      const parts = text.split('\0');
      const key: Record<string, string> = {};
      for (const [at, name] of table.key.entries()) key[name] = parts[at]!;
      return key;
    },
    streamText: keyTexts(
      table,
      table.key.map((name) => typeOfKeyColumn(name) ?? name),
    ) as CompiledTable['streamText'],
    field,
    isCounter: (name) => counters.has(name),
    render: (row) => docs.map((doc) => doc.render(row)),
  };
};

const handled = ({ on, every, name, versions = {} }: AnyProjection): ((event: Recorded) => Changes) => {
  const handlers = new Map(Object.entries(on) as [string, Handler<Recorded>][]);
  return (event) => {
    const handler = handlers.get(event.type);
    if (handler === 'ignore') return [];
    if (!handler) return every ? every(event) : [];
    if (event.meta.v > (versions[event.type] ?? 1)) throw new Error(`${name} does not know version ${event.meta.v} of ${event.type}`);
    return handler(event);
  };
};

/** Makes a projection ready to be applied. @throws Error that names the table whose definition cannot work */
export const compileProjection = (projection: AnyProjection): CompiledProjection => {
  const categories = projection.categories === '*' ? null : new Set(projection.categories);
  return {
    projection,
    tables: new Map(projection.tables.map((table) => [table.name, tablePlan(projection.name, table)])),
    handles: (event) => !categories || categories.has(event.category),
    changesOf: handled(projection),
  };
};
